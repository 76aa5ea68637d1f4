import type {
  CopyEntriesRequest,
  CopyEntriesResponse,
  MakeDirectoryRequest,
  MakeDirectoryResponse,
  MoveEntriesRequest,
  MoveEntriesResponse,
  RecursiveMoveRequest,
  RecursiveMoveResponse,
  RemoveEmptyDirectoriesRequest,
  RemoveEmptyDirectoriesResponse,
  RemoveEntriesRequest,
  RemoveEntriesResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { makeDirectory } from '../domain/operations/make-directory.ts';
import { copyEntries, moveEntries } from '../domain/operations/place-entries.ts';
import { recursiveMove } from '../domain/operations/recursive-move.ts';
import { removeEmptyDirectories } from '../domain/operations/remove-empty-directories.ts';
import { removeEntries } from '../domain/operations/remove-entries.ts';
import { beginOperation, type FsContext } from './fs-context.ts';

/** fs/mkdir. */
export const makeDirectoryHandler =
  (context: FsContext) =>
  async (request: MakeDirectoryRequest, call: Call): Promise<MakeDirectoryResponse> => {
    await makeDirectory(await beginOperation(context, call), request.path);
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

/** fs/recursive_move. Everything is done when it answers. */
export const recursiveMoveHandler =
  (context: FsContext) =>
  async (request: RecursiveMoveRequest, call: Call): Promise<RecursiveMoveResponse> => ({
    moved: await recursiveMove(await beginOperation(context, call), request),
  });

/** fs/remove_empty_directory. */
export const removeEmptyDirectoriesHandler =
  (context: FsContext) =>
  async (request: RemoveEmptyDirectoriesRequest, call: Call): Promise<RemoveEmptyDirectoriesResponse> => {
    await removeEmptyDirectories(await beginOperation(context, call), request);
    return {};
  };
