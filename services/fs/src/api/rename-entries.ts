import type {
  BatchRenameRequest,
  BatchRenameResponse,
  RegexRenameRequest,
  RegexRenameResponse,
  RenameEntryRequest,
  RenameEntryResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { batchRename } from '../domain/changing/operations/batch-rename.ts';
import { regexRename } from '../domain/changing/operations/regex-rename.ts';
import { renameEntry } from '../domain/changing/operations/rename-entry.ts';

/** fs/rename. */
export const renameEntryHandler =
  (context: FsContext) =>
  async (request: RenameEntryRequest, call: Call): Promise<RenameEntryResponse> => {
    await renameEntry(await beginOperation(context, call), request);
    return {};
  };

/** fs/batch_rename. */
export const batchRenameHandler =
  (context: FsContext) =>
  async (request: BatchRenameRequest, call: Call): Promise<BatchRenameResponse> => {
    await batchRename(await beginOperation(context, call), request);
    return {};
  };

/** fs/regex_rename. */
export const regexRenameHandler =
  (context: FsContext) =>
  async (request: RegexRenameRequest, call: Call): Promise<RegexRenameResponse> => {
    await regexRename(await beginOperation(context, call), request);
    return {};
  };
