import type {
  BatchRenameRequest,
  BatchRenameResponse,
  RegexRenameRequest,
  RegexRenameResponse,
  RenameEntryRequest,
  RenameEntryResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { beginOperation, creatorOf, type FsContext } from '../context.ts';
import { batchRename } from '../domain/changing/operations/batch-rename.ts';
import { regexRename } from '../domain/changing/operations/regex-rename.ts';
import { renameEntry } from '../domain/changing/operations/rename-entry.ts';

/** fs/rename. A large folder that its storage cannot rename in one step is renamed by a task; the answer says nothing of it. */
export const renameEntryHandler =
  (context: FsContext) =>
  async (request: RenameEntryRequest, call: Call): Promise<RenameEntryResponse> => {
    await renameEntry(await beginOperation(context, call), request, async (items) => {
      await context.tasks.queuePlacements('move', items, creatorOf(call));
    });
    return {};
  };

/** fs/batch_rename. What its storage has to copy and remove is renamed by tasks where it is much; the answer says nothing of it. */
export const batchRenameHandler =
  (context: FsContext) =>
  async (request: BatchRenameRequest, call: Call): Promise<BatchRenameResponse> => {
    await batchRename(await beginOperation(context, call), request, (items) => context.tasks.queueRenamings(items, creatorOf(call)));
    return {};
  };

/** fs/regex_rename, likewise. */
export const regexRenameHandler =
  (context: FsContext) =>
  async (request: RegexRenameRequest, call: Call): Promise<RegexRenameResponse> => {
    await regexRename(await beginOperation(context, call), request, (items) => context.tasks.queueRenamings(items, creatorOf(call)));
    return {};
  };
