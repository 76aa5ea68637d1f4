import type {
  CopyEntriesRequest,
  CopyEntriesResponse,
  MakeDirectoryRequest,
  MakeDirectoryResponse,
  MoveEntriesRequest,
  MoveEntriesResponse,
  RemoveEntriesRequest,
  RemoveEntriesResponse,
  RenameEntryRequest,
  RenameEntryResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { makeDirectory } from '../domain/operations/make-directory.ts';
import { copyEntries, moveEntries } from '../domain/operations/place-entries.ts';
import { removeEntries } from '../domain/operations/remove-entries.ts';
import { renameEntry } from '../domain/operations/rename-entry.ts';
import { beginOperation, type FsContext } from './fs-context.ts';

/** fs/mkdir. */
export const makeDirectoryHandler =
  (context: FsContext) =>
  async (request: MakeDirectoryRequest, call: Call): Promise<MakeDirectoryResponse> => {
    await makeDirectory(await beginOperation(context, call), request.path);
    return {};
  };

/** fs/rename. */
export const renameEntryHandler =
  (context: FsContext) =>
  async (request: RenameEntryRequest, call: Call): Promise<RenameEntryResponse> => {
    await renameEntry(await beginOperation(context, call), request);
    return {};
  };

/** fs/move. Everything is done when it answers. */
export const moveEntriesHandler =
  (context: FsContext) =>
  async (request: MoveEntriesRequest, call: Call): Promise<MoveEntriesResponse> => {
    await moveEntries(await beginOperation(context, call), request);
    return { tasks: [] };
  };

/** fs/copy. Everything is done when it answers. */
export const copyEntriesHandler =
  (context: FsContext) =>
  async (request: CopyEntriesRequest, call: Call): Promise<CopyEntriesResponse> => {
    await copyEntries(await beginOperation(context, call), request);
    return { tasks: [] };
  };

/** fs/remove. */
export const removeEntriesHandler =
  (context: FsContext) =>
  async (request: RemoveEntriesRequest, call: Call): Promise<RemoveEntriesResponse> => {
    await removeEntries(await beginOperation(context, call), request);
    return {};
  };
