import { AppError } from '@wharf/errors';
import type { CallDriverMethodRequest } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { locate, resolvePath } from '../domain/snapshot/snapshot.ts';

/** fs/other. No driver has methods of its own; who may not see the entry does not learn that either. */
export const callDriverMethodHandler =
  (context: FsContext) =>
  async (request: CallDriverMethodRequest, call: Call): Promise<never> => {
    const { snapshot, actor } = await beginOperation(context, call);
    const path = resolvePath(actor, request.path);
    snapshot.rules.requireAccess(actor, path, request.password);
    locate(snapshot, path);
    throw new AppError('UNSUPPORTED_OPERATION', 'not implement');
  };
