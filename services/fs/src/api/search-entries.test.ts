import { AppError } from '@wharf/errors';
import type { EntryName } from '@wharf/paths';
import { ALL_PERMISSIONS, PERMISSION } from '@wharf/rights';
import type { Call, UserIdentity } from '@wharf/service-kit';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FsContext } from '../context.ts';
import { createEntryRoom, type EnterRoom } from '../domain/reading/entry-room.ts';
import { createKeptLinks } from '../domain/reading/kept-links.ts';
import type { IndexKeeper } from '../domain/search/index-keeper.ts';
import type { SearchAnswer } from '../domain/search/search-index.ts';
import { type MemoryTree, openTree, vpath } from '../domain/testing/memory-tree.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { getEntryHandler } from './get-entry.ts';
import { listDirectoriesHandler } from './list-directories.ts';
import { listEntriesHandler } from './list-entries.ts';
import { searchEntriesHandler } from './search-entries.ts';

const NOTHING: SearchAnswer = { hits: [], total: 0 };

let tree: MemoryTree;
let context: FsContext;
let enter: EnterRoom;
beforeEach(async () => {
  tree = await openTree({});
  // Reading needs no more of it.
  context = { configuration: { knownSnapshot: async () => tree.snapshot }, folderCache: tree.folderCache } as unknown as FsContext;
  // Half a million entries, beside their names.
  enter = createEntryRoom(100_000_000);
});

/** Rights to everything, but to what needs a password. */
const ALL_BUT_PASSWORDS = ALL_PERMISSIONS & ~PERMISSION.access_without_password;

const callOf = (id: number): Call =>
  ({
    identity: {
      kind: 'user',
      id,
      username: `${id}`,
      role: 0,
      permission: ALL_BUT_PASSWORDS,
      basePath: '/',
      sessionId: 's',
    } satisfies UserIdentity,
    revisions: { auth: 0, admin: 0 },
    signal: new AbortController().signal,
  }) as Call;

const request = { parent: '/', keywords: 'x', scope: 0, page: 1, per_page: 100, password: '', in_folder: false };

/** Searches in an index that answers when it is told to. @param answer what each of them finds */
function searchesIn(answer: SearchAnswer = NOTHING) {
  const waiting: (() => void)[] = [];
  const index = { search: () => new Promise<SearchAnswer>((resolve) => waiting.push(() => resolve(answer))) };
  const handler = searchEntriesHandler(context, { index: async () => index } as unknown as IndexKeeper, enter);
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  };
  return {
    search: (user: number, rest: Partial<typeof request> = {}) => Array.fromAsync(handler({ ...request, ...rest }, callOf(user))),
    async running() {
      await settle();
      return waiting.length;
    },
    async answerAll() {
      for (await settle(); waiting.length > 0; await settle()) for (const go of waiting.splice(0)) go();
    },
  };
}

it.each([10, 20, 40])('of %d searches of one caller two go on at a time, and nobody else waits for them', async (count) => {
  const { search, running, answerAll } = searchesIn();
  const own = Array.from({ length: count }, () => search(7));
  expect(await running()).toBe(2);
  const other = search(8);
  expect(await running()).toBe(3);
  await answerAll();
  await Promise.all([...own, other]);
});

it('a place is left by who goes away, and by who is refused', async () => {
  const { search, running, answerAll } = searchesIn();
  for (let round = 0; round < 5; round += 1) await expect(search(7, { page: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const searches = [search(7), search(7)];
  expect(await running()).toBe(2);
  await answerAll();
  await Promise.all(searches);
});

it('hits come in parts, in order, the total with the first', async () => {
  const hits = Array.from({ length: 1_201 }, (_, number) => ({
    parent: vpath('/'),
    name: `${number}` as EntryName,
    isDirectory: false,
    sizeBytes: 1,
  }));
  const { search, answerAll } = searchesIn({ hits, total: 5_000 });
  const [parts] = await Promise.all([search(7), answerAll()]);
  expect(parts.map(({ content }) => content?.length)).toEqual([500, 500, 201]);
  expect(parts.map(({ total }) => total)).toEqual([5_000, undefined, undefined]);
  expect(parts.flatMap(({ content }) => content?.map((hit) => hit?.name))).toEqual(hits.map(({ name }) => name));
});

it('far pages, and lists of folders, have the room of long listings together', async () => {
  const { search, running, answerAll } = searchesIn();
  const far = { page: 20, per_page: 10_000 };
  const searches = [search(7, far), search(8, far)];
  expect(await running()).toBe(2);
  await expect(search(9, far)).rejects.toMatchObject({ code: 'OVERLOADED' });
  for (let number = 0; number < 1_401; number += 1) await tree.makeFolder(`/many/${number}`);
  const list = listDirectoriesHandler(context, enter);
  const folders = () => Array.fromAsync(list({ path: '/many', password: '', force_root: false }, callOf(9)));
  expect((await folders()).map(({ directories }) => directories?.length)).toEqual([1_000, 401]);
  const other = enter('another');
  other.take(99_500);
  await expect(folders()).rejects.toMatchObject({ code: 'OVERLOADED' });
  other.leave();
  await answerAll();
  await Promise.all(searches);
  expect((await folders()).length).toBe(2);
});

describe('what took long', () => {
  const listed = { path: '/d', password: '', page: 1, per_page: 0, refresh: true, as_json: false, site_url: '' };

  /** A storage of which each answer takes longer than rules are believed. @param next says whether the folder `d` has a password after it */
  async function slowTree(next: () => boolean) {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = createTestDriver('Slow');
    const open = async (password: string) => {
      const opened = await openTree({ drivers: [store.definition], storages: [{ driver: 'Slow' }], rules: [{ path: '/d', password }] });
      await opened.put('/d/f');
      await opened.put('/x');
      return opened;
    };
    const [free, guarded] = [await open(''), await open('pw')];
    const own: FsContext = { ...context, folderCache: free.folderCache };
    Object.assign(own, { links: createKeptLinks(Date.now), configuration: { knownSnapshot: async () => tree.snapshot } });
    const slow = async () => {
      tree = next() ? guarded : free;
      vi.advanceTimersByTime(3_000);
    };
    const search = () => slow().then(() => NOTHING);
    const keeper = { index: async () => ({ search }) } as unknown as IndexKeeper;
    tree = free;
    store.beforeCalls(slow);
    return { own, keeper, free };
  }

  it.each([
    ['are others then', 'PERMISSION_DENIED'],
    ['are the same', undefined],
  ])('is answered by the rules of its end: they %s', async (_what, code) => {
    const { own, keeper, free } = await slowTree(() => code !== undefined);
    const asked: [() => Promise<unknown>, (string | undefined)?][] = [
      [() => Array.fromAsync(listEntriesHandler(own, enter)(listed, callOf(7))), code],
      [() => getEntryHandler(own, enter)({ path: '/d', password: '', site_url: '', refresh: false }, callOf(7)), code],
      [() => Array.fromAsync(listDirectoriesHandler(own, enter)({ path: '/', password: '', force_root: false }, callOf(7)))],
      [() => Array.fromAsync(searchEntriesHandler(own, keeper, enter)({ ...request, in_folder: true }, callOf(7)))],
      [() => Array.fromAsync(searchEntriesHandler(own, keeper, enter)(request, callOf(7)))],
    ];
    for (const [ask, refusal] of asked) {
      tree = free;
      free.folderCache.forget([vpath('/')]);
      const outcome = await ask().then(
        () => undefined,
        (error: unknown) => AppError.from(error).code,
      );
      expect([outcome, tree !== free]).toEqual([refusal, code !== undefined]);
    }
  });

  it('is refused as busy where there are other rules each time', async () => {
    let isGuarded = false;
    const { own, keeper } = await slowTree(() => (isGuarded = !isGuarded));
    await expect(Array.fromAsync(searchEntriesHandler(own, keeper, enter)(request, callOf(7)))).rejects.toMatchObject({
      code: 'OVERLOADED',
    });
  });
});
