import { FsServiceDefinition } from '@wharf/proto/fs';
import { type Call, defineRpcService, forAdmins, forServices, forUsers } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { Mounts } from '../domain/mounts/mounts.ts';
import { createEntryRoom } from '../domain/reading/entry-room.ts';
import type { IndexKeeper } from '../domain/search/index-keeper.ts';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import { callDriverMethodHandler } from './call-driver-method.ts';
import {
  copyEntriesHandler,
  makeDirectoryHandler,
  moveEntriesHandler,
  recursiveMoveHandler,
  removeEmptyDirectoriesHandler,
  removeEntriesHandler,
  removeIfEmptyHandler,
} from './change-entries.ts';
import { explainAccessHandler } from './explain-access.ts';
import { getEntryHandler } from './get-entry.ts';
import { getLinkHandler } from './get-link.ts';
import { listDirectoriesHandler } from './list-directories.ts';
import { listDriverOptionsHandler } from './list-driver-options.ts';
import { listDriversHandler } from './list-drivers.ts';
import { listEntriesHandler } from './list-entries.ts';
import { listStorageHealthHandler } from './list-storage-health.ts';
import { listStorageSpaceHandler } from './list-storage-space.ts';
import { buildIndexHandler, clearIndexHandler, getIndexProgressHandler, stopIndexHandler, updateIndexHandler } from './maintain-index.ts';
import { reloadStorageHandler } from './reload-storage.ts';
import { batchRenameHandler, regexRenameHandler, renameEntryHandler } from './rename-entries.ts';
import { searchEntriesHandler } from './search-entries.ts';
import { type StorageTests, testStorageHandler } from './test-storage.ts';

export interface FsRpcOptions {
  readonly context: FsContext;
  readonly keeper: IndexKeeper;
  readonly mounts: Mounts;
  readonly registry: DriverRegistry;
  readonly tests: StorageTests;
  /** The name of this process. No other process has it. */
  readonly replica: string;
}

/** Every method of FsService, and who may call it. */
export function createFsRpc({ context, keeper, mounts, registry, tests, replica }: FsRpcOptions) {
  const enter = createEntryRoom();
  const once =
    <Request extends object, Result extends object>(name: string, handler: (request: Request, call: Call) => Promise<Result>) =>
    (request: Request, call: Call) =>
      context.once(call, piecesOf(name, request), (waited) => handler(request, waited));
  return defineRpcService(FsServiceDefinition, {
    listEntries: forUsers(listEntriesHandler(context, enter)),
    getEntry: forUsers(getEntryHandler(context, enter)),
    listDirectories: forUsers(listDirectoriesHandler(context, enter)),
    searchEntries: forUsers(searchEntriesHandler(context, keeper, enter)),
    callDriverMethod: forUsers(callDriverMethodHandler(context)),
    getLink: forAdmins(getLinkHandler(context)),
    makeDirectory: forUsers(once('makeDirectory', makeDirectoryHandler(context))),
    renameEntry: forUsers(once('renameEntry', renameEntryHandler(context))),
    batchRename: forUsers(once('batchRename', batchRenameHandler(context))),
    regexRename: forUsers(once('regexRename', regexRenameHandler(context))),
    moveEntries: forUsers(once('moveEntries', moveEntriesHandler(context))),
    recursiveMove: forUsers(once('recursiveMove', recursiveMoveHandler(context))),
    copyEntries: forUsers(once('copyEntries', copyEntriesHandler(context))),
    removeEntries: forUsers(once('removeEntries', removeEntriesHandler(context))),
    removeIfEmpty: forUsers(once('removeIfEmpty', removeIfEmptyHandler(context))),
    removeEmptyDirectories: forUsers(once('removeEmptyDirectories', removeEmptyDirectoriesHandler(context))),
    listDrivers: forAdmins(listDriversHandler(registry)),
    listDriverOptions: forAdmins(listDriverOptionsHandler(registry, tests)),
    buildIndex: forAdmins(buildIndexHandler(context, keeper)),
    updateIndex: forAdmins(updateIndexHandler(context, keeper)),
    stopIndex: forAdmins(stopIndexHandler(context, keeper)),
    clearIndex: forAdmins(clearIndexHandler(context, keeper)),
    getIndexProgress: forAdmins(getIndexProgressHandler(context, keeper)),
    reloadStorage: forServices(reloadStorageHandler(context, mounts)),
    listStorageHealth: forAdmins(listStorageHealthHandler(context, mounts, replica)),
    testStorage: forAdmins(testStorageHandler(registry, tests)),
    explainAccess: forAdmins(explainAccessHandler(context)),
    listStorageSpace: forAdmins(listStorageSpaceHandler(context, mounts)),
  });
}

/** What is asked of a method, in pieces: a list of names may be long. */
function* piecesOf(method: string, request: object): Generator<unknown> {
  yield method;
  for (const [field, value] of Object.entries(request)) {
    yield field;
    if (!Array.isArray(value)) yield value;
    else {
      yield value.length;
      yield* value;
    }
  }
}
