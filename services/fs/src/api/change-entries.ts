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
  RemoveIfEmptyRequest,
  RemoveIfEmptyResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { WireTask } from '@wharf/task-engine';
import { beginOperation, creatorOf, type FsContext } from '../context.ts';
import { makeDirectory } from '../domain/changing/operations/make-directory.ts';
import { placeEntries } from '../domain/changing/operations/place-entries.ts';
import type { Placement } from '../domain/changing/operations/plan-placement.ts';
import { recursiveMove } from '../domain/changing/operations/recursive-move.ts';
import { removeEmptyDirectories } from '../domain/changing/operations/remove-empty-directories.ts';
import { removeEntries } from '../domain/changing/operations/remove-entries.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';

/** fs/mkdir. */
export const makeDirectoryHandler =
  (context: FsContext) =>
  async (request: MakeDirectoryRequest, call: Call): Promise<MakeDirectoryResponse> => {
    await makeDirectory(await beginOperation(context, call), request.path);
    return {};
  };

/** fs/move. What a storage moves in one step is moved when this answers. The rest is moved by the tasks that this answers. */
export const moveEntriesHandler =
  (context: FsContext) =>
  async (request: MoveEntriesRequest, call: Call): Promise<MoveEntriesResponse> => {
    return { tasks: await place(context, request, 'move', call) };
  };

/** fs/copy, likewise. */
export const copyEntriesHandler =
  (context: FsContext) =>
  async (request: CopyEntriesRequest, call: Call): Promise<CopyEntriesResponse> => {
    return { tasks: await place(context, request, 'copy', call) };
  };

async function place(context: FsContext, request: Placement, verb: 'move' | 'copy', call: Call): Promise<WireTask[]> {
  const tasks: WireTask[] = [];
  await placeEntries(await beginOperation(context, call), request, verb, async (items) => {
    tasks.push(...(await context.tasks.queuePlacements(verb, items, creatorOf(call))));
  });
  return tasks;
}

/** fs/remove. What takes long where a storage removes entry by entry is removed by tasks; the answer says nothing of it. */
export const removeEntriesHandler =
  (context: FsContext) =>
  async (request: RemoveEntriesRequest, call: Call): Promise<RemoveEntriesResponse> => {
    await removeEntries(await beginOperation(context, call), request, (begun) => context.tasks.queueRemovals(begun, creatorOf(call)));
    return {};
  };

/** fs/remove_if_empty. */
export const removeIfEmptyHandler =
  (context: FsContext) =>
  async (request: RemoveIfEmptyRequest, call: Call): Promise<RemoveIfEmptyResponse> => {
    await removeEntries(await beginOperation(context, call), { ...request, onlyEmpty: true });
    return {};
  };

/** fs/recursive_move. Files that go to another storage are moved by tasks. */
export const recursiveMoveHandler =
  (context: FsContext) =>
  async (request: RecursiveMoveRequest, call: Call): Promise<RecursiveMoveResponse> => {
    const operation = await beginOperation(context, call);
    const source = resolvePath(operation.actor, request.src_dir);
    const moved = await recursiveMove(operation, request, (items) => context.tasks.queueFlattening(source, items, creatorOf(call)));
    return { moved };
  };

/** fs/remove_empty_directory, likewise. */
export const removeEmptyDirectoriesHandler =
  (context: FsContext) =>
  async (request: RemoveEmptyDirectoriesRequest, call: Call): Promise<RemoveEmptyDirectoriesResponse> => {
    await removeEmptyDirectories(await beginOperation(context, call), request, (folder) =>
      context.tasks.queueTidying(folder, creatorOf(call)),
    );
    return {};
  };
