import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { roomOfUsers } from '../../domain/mounts/disk-reserve.ts';
import type { IndexedEntry, SearchAnswer, SearchIndex } from '../../domain/search/search-index.ts';
import type { IndexOperations } from './index-operations.ts';
import type { Steps } from './index-tables.ts';
import { type IndexThread, startIndexThread } from './index-thread.ts';
import type { OperationName } from './protocol.ts';

const FILE = 'index.sqlite';
/** What the file takes of an entry beside its name, of each byte of that, and of each byte of a folder's path, about. */
const ENTRY_BYTES = 150;
const BYTES_OF_NAME = 8;
const BYTES_OF_PATH = 2;

type Values<Name extends OperationName> = Parameters<IndexOperations[Name]>;
type Returned<Name extends OperationName> = ReturnType<IndexOperations[Name]>;
type Result<Name extends OperationName> = Returned<Name> extends Steps<infer Value> ? Value : Returned<Name>;

/**
 * The index of one process, in a file of its own in `directory`, served by a thread: neither searching nor writing holds up this one.
 *
 * @param heapMib of that thread; a share of the memory unless told
 * @throws AppError STORAGE_UNAVAILABLE when the file cannot be opened
 */
export async function openFileSearchIndex(directory: string, heapMib?: number): Promise<SearchIndex> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const room = roomOfUsers(directory, noRoom);
  const start = () => startIndexThread(join(directory, FILE), heapMib);
  let thread = await start();
  let starting: Promise<void> | undefined;
  let isClosed = false;
  let sent: { rules: readonly RuleRecord[]; number: number } | undefined;
  const startAnew = async () => {
    await thread.stop();
    thread = await start();
    sent = undefined;
  };
  /** The thread; another one where it has failed, such as for want of memory: what was asked of that one is lost, the file is not. */
  const usable = async (): Promise<IndexThread> => {
    if (thread.hasFailed() && !isClosed) {
      starting ??= startAnew().finally(() => {
        starting = undefined;
      });
      await starting;
    }
    return thread;
  };
  // The worker answers what the operation of this name answers.
  const run = async <Name extends OperationName>(name: Name, ...values: Values<Name>): Promise<Result<Name>> =>
    (await usable()).ask((id) => ({ type: 'operation', id, name, values })) as Promise<Result<Name>>;
  /** For what an empty file can do that is there by now in the place of a damaged one. */
  const runAgain = async <Name extends OperationName>(name: Name, ...values: Values<Name>): Promise<Result<Name>> => {
    try {
      return await run(name, ...values);
    } catch (error) {
      if (!thread.hasFailed() || isClosed) throw error;
      return run(name, ...values);
    }
  };
  const numberOf = (rules: readonly RuleRecord[]): number => {
    if (sent?.rules !== rules) {
      sent = { rules, number: (sent?.number ?? 0) + 1 };
      thread.send({ type: 'rules', ...sent });
    }
    return sent.number;
  };

  return {
    async search({ viewer: { rules, ...viewer }, ...query }, signal) {
      const { ask } = await usable();
      const wire = { ...query, viewer, rules: numberOf(rules) };
      return ask((id) => ({ type: 'search', id, query: wire }), signal) as Promise<SearchAnswer>;
    },
    count: () => runAgain('count'),
    findFolder: (path) => run('findFolder', path),
    children: (directory, after) => run('children', directory, after),
    async put(directory, entries, generation) {
      await room.take(bytesOf(directory, entries));
      await run('put', directory, entries, generation);
    },
    remove: (directory, names) => run('remove', directory, names),
    move: (from, to) => run('move', from, to),
    clear: () => runAgain('clear'),
    makeFast: async () => {},
    openFolder: (path, depth, generation) => run('openFolder', path, depth, generation),
    requeue: (path, generation, isDeep) => run('requeue', path, generation, isDeep),
    queued: (generation, limit, except = []) => run('queued', generation, limit, except),
    settle: (paths) => run('settle', paths),
    settleAll: (territory) => run('settleAll', territory),
    readState: () => runAgain('readState'),
    replaceState: (next) => run('replaceState', next),
    // The file belongs to one process.
    claim: async () => true,
    release: async () => {},
    async close() {
      isClosed = true;
      await starting?.catch(() => undefined);
      await thread.stop();
    },
  };
}

function bytesOf(directory: string, entries: readonly IndexedEntry[]): number {
  const pathBytes = Buffer.byteLength(directory);
  let sum = 0;
  for (const { name, isDirectory } of entries) {
    const nameBytes = Buffer.byteLength(name);
    sum += ENTRY_BYTES + BYTES_OF_NAME * nameBytes + (isDirectory ? BYTES_OF_PATH * (pathBytes + nameBytes) : 0);
  }
  return sum;
}

function noRoom(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'the disk of the search index has no room beside what Wharf itself needs on it');
}
