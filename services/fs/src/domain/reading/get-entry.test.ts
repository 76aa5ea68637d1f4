import { AppError } from '@wharf/errors';
import { WHOLE } from '@wharf/pace';
import { ROLE } from '@wharf/rights';
import { describe, expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { batchRename } from '../changing/operations/batch-rename.ts';
import { openLimited } from '../testing/limited-storage.ts';
import { longFolder } from '../testing/long-folder.ts';
import { actor, openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { createEntryRoom } from './entry-room.ts';
import { getEntry, getWithRelated } from './get-entry.ts';
import { listEntries } from './list-entries.ts';

const modified = new Date('2024-05-01T00:00:00Z');

describe('an entry', () => {
  it('is what its storage says', async () => {
    const memory = await openTree({});
    await memory.put('/d/f', 'text');
    expect(await getEntry(memory.snapshot, vpath('/d/f'))).toMatchObject({ entry: { name: 'f', sizeBytes: 4, isDirectory: false } });
    expect(await getEntry(memory.snapshot, vpath('/d'))).toMatchObject({ entry: { name: 'd', isDirectory: true } });
  });

  it('that is not there, also below a file, is not found', async () => {
    const memory = await openTree({});
    await memory.put('/f');
    for (const path of ['/none', '/f/x', '/none/x'])
      expect(await refusalOf(getEntry(memory.snapshot, vpath(path)))).toEqual(['ENTRY_NOT_FOUND', 'object not found']);
  });

  it('at the root is called root, with the time of its storage or the family’s zero time', async () => {
    const mounted = await getEntry((await openTree({})).snapshot, vpath('/'));
    const bare = await getEntry((await openTree({ storages: [] })).snapshot, vpath('/'));
    expect(mounted.entry).toEqual({ name: 'root', isDirectory: true, sizeBytes: 0, modifiedAt: modified });
    expect(bare).toEqual({
      entry: { name: 'root', isDirectory: true, sizeBytes: 0, modifiedAt: new Date('0001-01-01T00:00:00Z') },
      located: undefined,
    });
  });

  it('that mounts make comes before what the storage has there', async () => {
    const memory = await openTree({ storages: [{}, { mount_path: '/m/n' }] });
    await memory.put('/m');
    expect((await getEntry(memory.snapshot, vpath('/m'))).entry).toEqual({
      name: 'm',
      isDirectory: true,
      sizeBytes: 0,
      modifiedAt: modified,
    });
    expect((await getEntry(memory.snapshot, vpath('/m/n'))).located?.mountedAt).toBe('/m/n');
  });
});

it.each(['look at', 'list', 'rename'])('looks of one caller leave turns of their storage to others: to %s it', async (why) => {
  const store = new MemoryDriver();
  const over = Promise.withResolvers<never>();
  // The last of the looks comes to it later.
  over.promise.catch(() => undefined);
  const stat: StorageDriver['stat'] = (path, options) => (path.startsWith('/slow') ? over.promise : store.stat(path, options));
  const list: StorageDriver['list'] = (path, options) =>
    path.startsWith('/slow')
      ? (async function* () {
          yield await over.promise;
        })()
      : store.list(path, options);
  const memory = await openLimited(decorated({ ...operationsOf(store), stat, list, listNames: undefined }), { names: 2 });
  const enter = createEntryRoom();
  const guest = actor({ id: 2, role: ROLE.guest });
  await memory.put('/quick');
  const look = (caller: string, path: string) =>
    getWithRelated(memory.snapshot, memory.folderCache, guest, vpath(path), '', undefined, enter(caller));
  const show = (path: string) =>
    listEntries(memory.snapshot, memory.folderCache, guest, vpath(path), { slice: WHOLE, refresh: false, room: enter('address 1') });
  const rename = (path: string) =>
    batchRename(memory.operation(guest), { src_dir: '/', rename_objects: [{ src_name: path.slice(1), new_name: 'new' }] });
  const ask = { 'look at': (path: string) => look('address 1', path), list: show, rename }[why] ?? rename;
  const slow = ['/slow-1', '/slow-2', '/slow-3'].map((path) => refusalOf(ask(path)));
  expect((await look('address 2', '/quick')).entry.name).toBe('quick');
  over.reject(new AppError('QUOTA_EXCEEDED', 'over'));
  expect((await Promise.all(slow)).map(([code]) => code)).toEqual(Array.from({ length: 3 }, () => 'QUOTA_EXCEEDED'));
});

describe('related files', () => {
  const related = async (names: string[], of: string, who = actor()) => {
    const memory = await openTree({ rules: [{ path: '/d', hide: '^film\\.hidden' }] });
    for (const name of names) await memory.put(`/d/${name}`);
    const look = async () => (await getWithRelated(memory.snapshot, memory.folderCache, who, vpath(`/d/${of}`), '', undefined)).related;
    const first = await look();
    // The names beside it are kept now.
    expect(await look()).toEqual(first);
    return first.map(({ name }) => name);
  };

  it('begin with the name up to its last dot', async () => {
    expect(await related(['film.mkv', 'film.srt', 'film.de.srt', 'film2.mkv', 'other', 'fil'], 'film.mkv')).toEqual([
      'film.de.srt',
      'film.srt',
      'film2.mkv',
    ]);
  });

  it('folders have some too, and are some', async () => {
    expect(await related(['season.1/x', 'season.2/x', 'season.txt'], 'season.1')).toEqual(['season.2', 'season.txt']);
    expect(await related(['season.1/x', 'season.txt'], 'season.txt')).toEqual(['season.1']);
  });

  it('of a name without a stem are all others', async () => {
    expect(await related(['.x', 'a', 'b'], '.x')).toEqual(['a', 'b']);
  });

  it('are the first 200, however many there are', async () => {
    for (const count of [300, 600, 1_200]) {
      const names = Array.from({ length: count }, (_, index) => `film${String(index).padStart(4, '0')}`);
      expect(await related(['film', ...names], 'film')).toEqual(names.slice(0, 200));
    }
  });

  it('are looked for among hundreds of thousands of names with room for others in between', async () => {
    const memory = await openTree({});
    const folder = longFolder(100_000);
    const gone = new AbortController();
    setImmediate(() => gone.abort());
    const folderCache = { ...memory.folderCache, findKept: async () => folder };
    const looking = getWithRelated(memory.snapshot, folderCache, actor(), vpath(`/d/${folder.names.at(-1)}`), '', gone.signal);
    expect((await refusalOf(looking))[0]).toBe('CANCELLED');
  });

  it('are none that the caller may not see', async () => {
    const names = ['film.mkv', 'film.hidden.srt'];
    expect(await related(names, 'film.mkv', actor({ permission: 0 }))).toEqual([]);
    expect(await related(names, 'film.mkv')).toEqual(['film.hidden.srt']);
  });

  it('C16: are none where the folder is closed to the caller, though a nearer rule opens the file', async () => {
    const memory = await openTree({
      rules: [
        { path: '/box', password: 'pw', p_sub: true },
        { path: '/box/film.mkv', readme: 'open to everybody' },
        { path: '/staff', read_users: [99], read_users_sub: true },
        { path: '/staff/film.mkv' },
      ],
    });
    for (const name of ['box/film.mkv', 'box/film.srt', 'staff/film.mkv', 'staff/film.srt']) await memory.put(`/${name}`);
    const plain = actor({ permission: 0 });
    const related = async (path: string, password: string, who = plain) => {
      const look = async () => (await getWithRelated(memory.snapshot, memory.folderCache, who, vpath(path), password, undefined)).related;
      const first = await look();
      // The names beside it may be kept now.
      expect(await look()).toEqual(first);
      return first.map(({ name }) => name);
    };
    expect(await related('/box/film.mkv', 'pw')).toEqual(['film.srt']);
    for (const password of ['', 'wrong']) expect(await related('/box/film.mkv', password)).toEqual([]);
    expect(await related('/staff/film.mkv', '')).toEqual([]);
    expect(await related('/staff/film.mkv', '', actor({ id: 99 }))).toEqual(['film.srt']);
    // What is beside the caller's root is not in the caller's tree.
    expect(await related('/box/film.mkv', 'pw', actor({ basePath: vpath('/box/film.mkv') }))).toEqual([]);
  });

  it('and the entry itself are looked at each time, also when the names are kept', async () => {
    const memory = await openTree({});
    const look = (name: string) => getWithRelated(memory.snapshot, memory.folderCache, actor(), vpath(`/d/${name}`), '', undefined);
    await memory.put('/d/film.mkv', 'a');
    await memory.makeFolder('/d/folder');
    expect(await look('film.mkv')).toMatchObject({ entry: { sizeBytes: 1 }, related: [] });
    await memory.put('/d/film.mkv', 'abc');
    expect(await look('film.mkv')).toMatchObject({ entry: { sizeBytes: 3 }, related: [] });
    await memory.put('/d/film.srt', 'ab');
    expect(await look('film.mkv')).toMatchObject({ entry: { sizeBytes: 3 }, related: [{ name: 'film.srt', sizeBytes: 2 }] });
    expect(await look('folder')).toMatchObject({ entry: { isDirectory: true }, related: [] });
    expect(await refusalOf(look('none'))).toEqual(['ENTRY_NOT_FOUND', 'object not found']);
    expect(await refusalOf(look('film.mkv/x'))).toEqual(['ENTRY_NOT_FOUND', 'object not found']);
  });

  it('are none where the folder cannot be listed: the entry is there', async () => {
    const { definition, ...driver } = createTestDriver('Unlisted', ['listNames', 'statMany']);
    const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Unlisted' }] });
    await memory.put('/d/film.mkv', 'abc');
    const refusal = Promise.reject(new AppError('FAILED_PRECONDITION', 'the folder has too many entries to be listed'));
    // It is waited for some turns later.
    refusal.catch(() => undefined);
    driver.holdListings(refusal);
    const found = await getWithRelated(memory.snapshot, memory.folderCache, actor(), vpath('/d/film.mkv'), '', undefined);
    expect(found).toMatchObject({ entry: { sizeBytes: 3 }, related: [] });
  });
});
