import { AppError } from '@wharf/errors';
import type { CallDriverMethodRequest } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { resolvePath } from '../domain/tree.ts';
import { beginOperation, type FsContext } from './fs-context.ts';

/** fs/other. No driver has methods of its own; who may not see the entry does not learn that either. */
export const callDriverMethodHandler =
  (context: FsContext) =>
  async (request: CallDriverMethodRequest, call: Call): Promise<never> => {
    const { tree, actor } = await beginOperation(context, call);
    tree.rules.requireAccess(actor, resolvePath(actor, request.path), request.password);
    throw new AppError('UNSUPPORTED_OPERATION', 'not implement');
  };
