import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { giveWay } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import { afterEach, describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/domain/changing/operations/make-directory.ts';
import { removeEntries } from '../../src/domain/changing/operations/remove-entries.ts';
import { renameEntry } from '../../src/domain/changing/operations/rename-entry.ts';
import { beginUpload } from '../../src/domain/changing/upload.ts';
import { applyChanges } from '../../src/domain/search/index-changes.ts';
import type { SearchIndex } from '../../src/domain/search/search-index.ts';
import { bytesOf, mpath, vpath } from '../../src/domain/testing/memory-tree.ts';
import { copyEntries, moveEntries } from '../../src/domain/testing/place-at-once.ts';
import { createTestDriver } from '../../src/domain/testing/test-drivers.ts';
import { decorated, operationsOf } from '../../src/driver-contract/complete-driver.ts';
import { walkTree } from '../../src/driver-contract/walk-tree.ts';
import { openFileSearchIndex } from '../../src/search-engines/file/file-search-index.ts';
import { type KeeperWorld, type KeeperWorldOptions, openKeeperWorld, treeWith } from './keeper-world.ts';

const worlds: KeeperWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function open(options: KeeperWorldOptions = {}) {
  const world = await openKeeperWorld(options);
  worlds.push(world);
  return world;
}

async function upload({ operation }: KeeperWorld, path: string): Promise<void> {
  const request = { path, password: '', overwrite: true, sizeBytes: undefined, modifiedAt: undefined, expectedHashes: {} };
  await (await beginUpload(operation(), request)).store(bytesOf('text'));
}

const order = { overwrite: false, skip_existing: false };

describe('a build', () => {
  it('indexes the whole tree, mounts and the folders above them, and says when it is done', async () => {
    const world = await open({ tree: { storages: [{ mount_path: '/a' }, { mount_path: '/deep/b' }] } });
    await world.memory.put('/a/x/y/file.txt');
    await world.memory.put('/deep/b/other.txt');
    await world.build();
    expect(await world.found()).toEqual(['/a', '/a/x', '/a/x/y', '/a/x/y/file.txt', '/deep', '/deep/b', '/deep/b/other.txt']);
    const progress = await world.done();
    expect(progress).toMatchObject({ obj_count: 7, is_done: true, error: '' });
    expect(new Date(progress.last_done_time ?? '').toISOString()).toBe(progress.last_done_time);
    expect(world.reports.at(-1)).toEqual(progress);
    expect(world.reports[0]).toMatchObject({ is_done: false });
  });

  it('leaves out ignored paths, storages that say so, made-up storages, and what lies too deep', async () => {
    const world = await open({
      tree: {
        storages: [{ mount_path: '/a' }, { mount_path: '/off', disable_index: true }, { mount_path: '/made', driver: 'Virtual' }],
        drivers: [createTestDriver('Virtual').definition],
        settings: { ignore_paths: '/a/tmp\n\n /a/only/ \n', max_index_depth: '3' },
      },
    });
    for (const path of ['/a/tmp/x', '/a/tmpfiles/x', '/a/only/x', '/a/one/two/three', '/off/x', '/made/x']) await world.memory.put(path);
    await world.build();
    expect(await world.found()).toEqual(['/a', '/a/one', '/a/one/two', '/a/only']);
  });

  it('forgets what is gone, also outside of us', async () => {
    const world = await open();
    await world.memory.put('/old');
    await world.build();
    world.memory = await treeWith();
    await world.memory.put('/new');
    await world.build();
    expect(await world.found()).toEqual(['/new']);
  });

  it('goes on where a storage fails, and says why it is not complete', async () => {
    const driver = createTestDriver('Failing', ['listNames', 'statMany'], { no_cache: true });
    const world = await open({
      tree: { storages: [{ mount_path: '/bad', driver: 'Failing' }, { mount_path: '/good' }], drivers: [driver.definition] },
    });
    await driver.storeOf().write(mpath('/kept'), bytesOf(''), { overwrite: true });
    await world.memory.put('/good/file');
    await world.build();
    expect(await world.found()).toEqual(['/bad', '/bad/kept', '/good', '/good/file']);
    driver.beforeCalls(async () => {
      throw new AppError('PERMISSION_DENIED', 'not today');
    });
    await world.keeper.build(world.memory.snapshot);
    expect(await world.done()).toMatchObject({ is_done: true, error: '/bad: not today' });
    expect(await world.found()).toEqual(['/bad', '/good', '/good/file']);
    expect(world.errors).not.toEqual([]);
  });

  it('is not interrupted by a change that there is no room for', async () => {
    let claims = 0;
    let claimsAtPut = 0;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      claim(owner) {
        claims += 1;
        return index.claim(owner);
      },
      async put(directory, entries, generation) {
        claimsAtPut = claims;
        if (directory === '/a/20') world.keeper.noteChanges([vpath('/full/one')]);
        if (directory === '/full') throw new AppError('QUOTA_EXCEEDED', 'no room');
        await index.put(directory, entries, generation);
      },
    });
    const world = await open({ around });
    await world.memory.put('/full/one');
    for (let folder = 0; folder < 100; folder += 1) await world.memory.put(`/a/${folder}/file`);
    await world.build();
    expect(claimsAtPut).toBe(1);
    expect(await world.found('file')).toHaveLength(100);
    expect(world.errors.map((error) => AppError.is(error, 'QUOTA_EXCEEDED'))).toContain(true);
    expect((await world.done()).error).toContain('no room');
  });

  it('leaves a storage that does not end, and says so', async () => {
    const world = await open({ tree: { storages: [{ mount_path: '/endless' }, { mount_path: '/good' }] }, maxEntries: 20 });
    for (let index = 1; index <= 100; index += 1) await world.memory.makeFolder(`/endless/${index}/again`);
    await world.memory.put('/good/file');
    await world.keeper.build(world.memory.snapshot);
    expect(await world.done()).toMatchObject({ is_done: true, error: expect.stringContaining('the tree has over 20 entries') });
    const found = await world.found();
    expect(found.slice(-2)).toEqual(['/good', '/good/file']);
    expect(found.length).toBeLessThan(2 + 1 + 200);
  });

  it('holds up no other storage where one takes long for its folders, and begins while they are read', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/slow', driver: 'Slow' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] }, standsAfterMs: 1 });
    for (let folder = 0; folder < 40; folder += 1) {
      await driver.storeOf().write(mpath(`/${folder}/slowly`), bytesOf(''), { overwrite: true });
    }
    await world.memory.put('/good/a/b/c/first');
    const held = Promise.withResolvers<void>();
    driver.afterListing(async (path) => (path === '/' ? undefined : held.promise));
    await world.keeper.build(world.memory.snapshot);
    await world.finds('first', ['/good/a/b/c/first']);
    await upload(world, '/good/d/e/second');
    await world.finds('second', ['/good/d/e/second']);
    expect(await world.found('slowly')).toEqual([]);
    held.resolve();
    expect(await world.done()).toMatchObject({ is_done: true, error: '' });
    expect(await world.found('slowly')).toHaveLength(40);

    const before = driver.listings();
    const again = Promise.withResolvers<void>();
    driver.afterListing(async (path) => (path === '/' ? undefined : again.promise));
    for (let folder = 0; folder < 5; folder += 1) await upload(world, `/slow/new${folder}/file`);
    await waitFor('the folders that are read', () => driver.listings() >= before + 4);
    await world.memory.put('/good/third');
    await world.keeper.build(world.memory.snapshot);
    await world.finds('third', ['/good/third']);
    again.resolve();
    expect(await world.done()).toMatchObject({ is_done: true, error: '' });
    expect(await world.found('slowly')).toHaveLength(40);
  });

  it.each([1, 40])('holds up no other storage where %i take long for their folders', async (count) => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany'], { no_cache: true });
    const slow = Array.from({ length: count }, (_, index) => ({
      mount_path: `/a${index}`,
      driver: 'Slow',
      addition: `{"store":"${index}"}`,
    }));
    const world = await open({ tree: { storages: [...slow, { mount_path: '/good' }], drivers: [driver.definition] }, standsAfterMs: 1 });
    for (let store = 0; store < count; store += 1) {
      for (let folder = 0; folder < 6; folder += 1) {
        await driver.storeOf(`${store}`).write(mpath(`/${folder}/slowly`), bytesOf(''), { overwrite: true });
      }
    }
    await world.memory.put('/good/a/b/c/first');
    const held = Promise.withResolvers<void>();
    let most = 0;
    const underWay = new Map<string, number>();
    driver.beforeCalls(async (store) => void underWay.set(store, (underWay.get(store) ?? 0) + 1));
    driver.afterListing(async (path) => (path === '/' ? undefined : held.promise));
    await world.keeper.build(world.memory.snapshot);
    await world.finds('first', ['/good/a/b/c/first']);
    most = Math.max(...underWay.values());
    // One is the listing of its root.
    expect(most).toBeLessThanOrEqual(1 + 4);
    held.resolve();
    expect(await world.done()).toMatchObject({ is_done: true, error: '' });
    expect(await world.found('slowly')).toHaveLength(6 * count);
  });

  it('goes on in storages that are mounted below one that fails', async () => {
    const driver = createTestDriver('Failing', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/', driver: 'Failing' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] } });
    for (let folder = 0; folder < 50; folder += 1) await driver.storeOf().makeDirectory(mpath(`/${folder}`));
    await world.memory.put('/good/a/b/c/file');
    driver.afterListing(async (path) => {
      if (path !== '/') throw new AppError('PERMISSION_DENIED', 'not today');
    });
    await world.keeper.build(world.memory.snapshot);
    expect(await world.done()).toMatchObject({ is_done: true, error: expect.stringContaining('not today') });
    expect(await world.found('file')).toEqual(['/good/a/b/c/file']);
  });

  it.each([
    [
      'cannot be read',
      async () => {
        throw new AppError('STORAGE_UNAVAILABLE', 'not today');
      },
    ],
    ['does not answer', () => new Promise<void>(() => undefined)],
  ])('goes on in storages that are mounted below one that %s at all, and below its folders', async (_, answer) => {
    const driver = createTestDriver('Away', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/', driver: 'Away' }, { mount_path: '/good' }, { mount_path: '/deep/other' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] }, standsAfterMs: 1 });
    await world.memory.put('/good/file');
    await world.memory.put('/deep/other/file');
    driver.beforeCalls(answer);
    await world.keeper.build(world.memory.snapshot);
    await world.finds('', ['/deep', '/deep/other', '/deep/other/file', '/good', '/good/file']);
  });

  it('reads nothing of a storage that is gone, and ends without it', async () => {
    const driver = createTestDriver('Hanging', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/hanging', driver: 'Hanging' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] }, standsAfterMs: 1 });
    await world.memory.put('/good/file');
    driver.beforeCalls(() => new Promise(() => undefined));
    await world.keeper.build(world.memory.snapshot);
    await world.finds('file', ['/good/file']);
    world.memory = await treeWith({ storages: [{ mount_path: '/good' }] });
    await world.memory.put('/good/file');
    expect(await world.done()).toMatchObject({ is_done: true });
    await world.finds('', ['/good', '/good/file']);
  });

  it('shows what is changed meanwhile in a storage that tells whole trees', async () => {
    const driver = createTestDriver('Tree', ['listNames', 'statMany'], { no_cache: true });
    const store = driver.storeOf();
    const definition = {
      ...driver.definition,
      open: async (...given: Parameters<typeof driver.definition.open>) => {
        const opened = await driver.definition.open(...given);
        return decorated({ ...operationsOf(opened), listAll: (directory, options) => walkTree(store, directory, options) });
      },
    };
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async put(directory, entries, generation) {
        if (directory === '/10') await upload(world, '/90/new');
        await index.put(directory, entries, generation);
      },
    });
    const world = await open({ around, tree: { storages: [{ mount_path: '/', driver: 'Tree' }], drivers: [definition] } });
    for (let folder = 0; folder < 100; folder += 1) await store.write(mpath(`/${folder}/file`), bytesOf(''), { overwrite: true });
    await world.build();
    await world.finds('new', ['/90/new']);
    expect(await world.found('file')).toHaveLength(100);
  });

  it.each([
    ['through another replica', {}],
    ['by other programs, and listed', { auto_update_index: 'true' }],
  ] as const)('shows what is changed %s while its folder is read', async (_, settings) => {
    const driver = createTestDriver('Plain', ['listNames', 'statMany'], { no_cache: true });
    let isChanged = false;
    let isQueued = false;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async requeue(...asked) {
        await index.requeue(...asked);
        isQueued = true;
      },
      // It is asked when the folder was listed.
      async children(path, after) {
        if (path === '/d' && !isChanged) {
          isChanged = true;
          await driver.storeOf().write(mpath('/d/new'), bytesOf(''), { overwrite: true });
          const { generation } = await index.readState();
          if ('auto_update_index' in settings) {
            await world.list('/d');
            for (let turns = 0; turns < 5_000 && !isQueued; turns += 1) await giveWay();
          } else {
            await index.put(path, [{ name: 'new' as EntryName, isDirectory: false, sizeBytes: 0 }], generation);
            world.keeper.noteElsewhere([vpath('/d/new')]);
          }
        }
        return index.children(path, after);
      },
    });
    const storages = [{ mount_path: '/', driver: 'Plain' }];
    const world = await open({ around, tree: { storages, drivers: [driver.definition], settings } });
    await driver.storeOf().write(mpath('/d/old'), bytesOf(''), { overwrite: true });
    world.keeper.wake();
    await world.build();
    world.keeper.wake();
    await world.finds('', ['/d', '/d/new', '/d/old']);
  });

  it('loses nothing of a folder that gets another name while folders below it are read', async () => {
    const driver = createTestDriver('Plain', ['listNames', 'statMany'], { no_cache: true });
    let renamed = false;
    let told = false;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async settle(paths) {
        await index.settle(paths);
        // What is in it is queued.
        if (paths.includes(vpath('/old/inner')) && !renamed) {
          renamed = true;
          await driver.storeOf().rename(mpath('/old'), mpath('/new'), { overwrite: false });
        }
      },
      async remove(...asked) {
        await index.remove(...asked);
        if (renamed && !told) {
          told = true;
          world.keeper.noteMove(vpath('/old'), vpath('/new'));
        }
      },
    });
    const world = await open({ around, tree: { storages: [{ mount_path: '/', driver: 'Plain' }], drivers: [driver.definition] } });
    for (const path of ['/old/inner/a/one', '/old/inner/b/two'])
      await driver.storeOf().write(mpath(path), bytesOf(''), { overwrite: true });
    await world.build();
    world.keeper.wake();
    await world.finds('', ['/new', '/new/inner', '/new/inner/a', '/new/inner/a/one', '/new/inner/b', '/new/inner/b/two']);
  });

  it('leaves out what no path leads to: a name too deep to be asked for', async () => {
    const deep = createTestDriver('Deep', ['listNames', 'statMany']);
    const storages = [{ mount_path: '/deep/inside', driver: 'Deep' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [deep.definition] } });
    await deep.storeOf().write(mpath(`/${'0123456/'.repeat(511)}end`), bytesOf(''), { overwrite: true });
    await world.memory.put('/good/file');
    await world.build();
    expect(await world.found('good')).toEqual(['/good']);
    expect(await world.found('end')).toEqual([]);
  });

  it('of an index whose file is damaged behind its first pages makes a new one', async () => {
    const world = await open();
    for (let number = 0; number < 3_000; number += 1) await world.memory.put(`/one of many ${number}`);
    await world.build();
    await world.keeper.close();
    const place = `${world.dir.path}/index.sqlite`;
    await writeFile(place, (await readFile(place)).fill(0xa5, 30 * 4_096));
    const later = await open({ dir: world.dir, memory: world.memory });
    await later.keeper.build(later.memory.snapshot);
    expect(await later.done()).toMatchObject({ is_done: true, obj_count: 3_000, error: '' });
    await later.keeper.close();
  });

  it('that a process did not live to end is ended by the next one', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany']);
    const tree = { storages: [{ mount_path: '/', driver: 'Slow' }], drivers: [driver.definition] };
    for (const path of ['/a/1', '/b/2', '/c/3']) await driver.storeOf().write(mpath(path), bytesOf(''), { overwrite: true });
    const first = await openKeeperWorld({ tree });
    let release = () => {};
    driver.holdListings(new Promise((resolve) => (release = resolve)));
    await first.keeper.build(first.memory.snapshot);
    await waitFor('the first listing', () => driver.listings() > 0);
    const closing = first.keeper.close();
    release();
    await closing;
    driver.holdListings(Promise.resolve());
    const second = await open({ tree, dir: first.dir });
    second.keeper.wake();
    await second.finds('', ['/a', '/a/1', '/b', '/b/2', '/c', '/c/3']);
    expect(await second.done()).toMatchObject({ is_done: true, error: '' });
    worlds.pop();
    await second.close();
    await first.dir.remove();
  });
});

describe('a folder that ends the process that reads it', () => {
  it.each(['a build', 'a queue'])('ends %s after five, which says so, and the next order begins anew', async (kind) => {
    const driver = createTestDriver('Deadly', ['listNames', 'statMany'], { no_cache: true });
    const tree = { storages: [{ mount_path: '/', driver: 'Deadly' }], drivers: [driver.definition] };
    for (const path of ['/a/1', '/b/2']) await driver.storeOf().write(mpath(path), bytesOf(''), { overwrite: true });
    const world = await open({ tree });
    await world.build();
    await world.keeper.close();
    if (kind === 'a queue') {
      const index = await openFileSearchIndex(world.dir.path);
      await index.requeue(vpath('/'), (await index.readState()).generation, true);
      await index.close();
    }
    let deaths = 0;
    /** One process, from its start until it is ended by what it reads: then it writes no more. */
    const dieOnce = async () => {
      let isDead = false;
      driver.beforeCalls(async () => {
        if (!isDead) deaths += 1;
        isDead = true;
        throw new Error('killed');
      });
      const alive = async () => {
        if (isDead) throw new AppError('STORAGE_UNAVAILABLE', 'dead');
      };
      const around = (index: SearchIndex): SearchIndex => ({
        ...index,
        replaceState: (next) => alive().then(() => index.replaceState(next)),
        settle: (paths) => alive().then(() => index.settle(paths)),
        settleAll: (territory) => alive().then(() => index.settleAll(territory)),
      });
      const process = await openKeeperWorld({ memory: world.memory, dir: world.dir, around });
      if (kind === 'a build' && deaths === 0) await process.keeper.build(world.memory.snapshot);
      else process.keeper.wake();
      await waitFor('its end', () => isDead);
      await process.keeper.close();
    };
    for (let round = 1; round <= 5; round += 1) await dieOnce();
    expect(deaths).toBe(5);
    let isAsked = false;
    driver.beforeCalls(async () => {
      isAsked = true;
    });
    const last = await openKeeperWorld({ memory: world.memory, dir: world.dir });
    last.keeper.wake();
    await waitFor('the end', async () => (await last.keeper.progress(world.memory.snapshot)).error !== '');
    expect(await last.done()).toMatchObject({ is_done: true, error: 'given up: indexing was interrupted 5 times' });
    expect(isAsked).toBe(false);
    await last.build();
    expect(await last.done()).toMatchObject({ is_done: true, error: '' });
    expect(await last.found()).toEqual(['/a', '/a/1', '/b', '/b/2']);
    await last.close();
  });

  it('does not count where a process ends in an orderly way', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany']);
    const tree = { storages: [{ mount_path: '/', driver: 'Slow' }], drivers: [driver.definition] };
    await driver.storeOf().write(mpath('/a/1'), bytesOf(''), { overwrite: true });
    const world = await open({ tree });
    let release = () => {};
    driver.holdListings(new Promise((resolve) => (release = resolve)));
    await world.keeper.build(world.memory.snapshot);
    await waitFor('the first listing', () => driver.listings() > 0);
    const index = await world.keeper.index(world.memory.snapshot);
    expect(await index.readState()).toMatchObject({ walks: 1 });
    const closing = world.keeper.close();
    release();
    await closing;
    const next = await openKeeperWorld({ memory: world.memory, dir: world.dir });
    expect(await (await next.keeper.index(world.memory.snapshot)).readState()).toMatchObject({ walks: 0 });
    await next.close();
  });
});

describe('the end of a job', () => {
  it('comes when searches are fast, which whoever closes before leaves to the next', async () => {
    let called = 0;
    const makeFast = () => {
      called += 1;
      return new Promise<void>(() => {});
    };
    const first = await openKeeperWorld({ around: (index) => ({ ...index, makeFast }) });
    await first.memory.put('/file');
    await first.keeper.build(first.memory.snapshot);
    await waitFor('the last step', () => called > 0);
    expect(await first.found()).toEqual(['/file']);
    expect(await first.keeper.progress(first.memory.snapshot)).toMatchObject({ is_done: false, isRunning: true });
    await first.keeper.close();
    const second = await openKeeperWorld({ memory: first.memory, dir: first.dir });
    second.keeper.wake();
    expect(await second.done()).toMatchObject({ is_done: true, error: '', obj_count: 1 });
    await second.close();
    await first.dir.remove();
  });

  it('has its own count of entries; else one that took long is told again for a while', async () => {
    let now = 1_000_000;
    let counts = 0;
    const world = await open({
      clock: () => now,
      around: (index) => ({
        ...index,
        count() {
          counts += 1;
          now += 100;
          return index.count();
        },
      }),
    });
    await world.memory.put('/file');
    await world.build();
    const { snapshot } = world.memory;
    expect(await world.keeper.progress(snapshot)).toMatchObject({ obj_count: 1 });
    const before = counts;
    await upload(world, '/other');
    await world.finds('other', ['/other']);
    expect(await world.keeper.progress(snapshot)).toMatchObject({ obj_count: 1 });
    expect(counts).toBe(before);
    now += 2_000;
    expect(await world.keeper.progress(snapshot)).toMatchObject({ obj_count: 2 });
    await world.memory.put('/third');
    await world.build();
    expect(await world.keeper.progress(snapshot)).toMatchObject({ obj_count: 3 });
  });
});

describe('orders', () => {
  it('are refused while no index mode is chosen', async () => {
    const world = await open({ tree: { settings: { search_index: 'none' } } });
    const { snapshot } = world.memory;
    const refusal = { code: 'UNSUPPORTED_OPERATION', message: 'search not available' };
    for (const call of [
      world.keeper.build(snapshot),
      world.keeper.update(snapshot, ['/'], 1),
      world.keeper.stopJob(snapshot),
      world.keeper.clear(snapshot),
      world.keeper.progress(snapshot),
    ])
      await expect(call).rejects.toMatchObject(refusal);
  });

  it('one job at a time; stopping ends it, clearing empties and forgets', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany']);
    const world = await open({ tree: { storages: [{ mount_path: '/', driver: 'Slow' }], drivers: [driver.definition] } });
    const { snapshot } = world.memory;
    await driver.storeOf().write(mpath('/a/1'), bytesOf(''), { overwrite: true });
    await expect(world.keeper.stopJob(snapshot)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', message: 'index is not running' });
    let release = () => {};
    driver.holdListings(new Promise((resolve) => (release = resolve)));
    await world.keeper.build(snapshot);
    expect(await world.keeper.progress(snapshot)).toMatchObject({ is_done: false, isRunning: true });
    const busy = { code: 'FAILED_PRECONDITION', message: 'index is running' };
    await expect(world.keeper.build(snapshot)).rejects.toMatchObject(busy);
    await expect(world.keeper.update(snapshot, ['/'], 1)).rejects.toMatchObject(busy);
    await expect(world.keeper.clear(snapshot)).rejects.toMatchObject(busy);
    await world.keeper.stopJob(snapshot);
    release();
    expect(await world.done()).toMatchObject({ is_done: true, error: 'stopped before the end' });
    await world.build();
    expect(await world.found()).toEqual(['/a', '/a/1']);
    await world.keeper.clear(snapshot);
    expect(await world.keeper.progress(snapshot)).toMatchObject({ obj_count: 0, is_done: false, last_done_time: null, error: '' });
    expect(await world.found()).toEqual([]);
  });

  it('no job goes on once the index is switched off, and one that was under way does when it is on again', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany']);
    const storages = { storages: [{ mount_path: '/', driver: 'Slow' }], drivers: [driver.definition] };
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const around = (index: SearchIndex): SearchIndex => ({ ...index, release: (owner) => index.release(owner).then(end) });
    const world = await open({ tree: storages, around });
    await driver.storeOf().write(mpath('/a/b/c'), bytesOf(''), { overwrite: true });
    let release = () => {};
    driver.holdListings(new Promise((resolve) => (release = resolve)));
    await world.keeper.build(world.memory.snapshot);
    await waitFor('the walk', async () => driver.listings() > 0);
    world.memory = await treeWith({ ...storages, settings: { search_index: 'none' } });
    release();
    await ended;
    expect(driver.listings()).toBe(1);
    await world.keeper.close();
    const later = await open({ dir: world.dir, tree: storages });
    later.keeper.wake();
    expect(await later.done()).toMatchObject({ is_done: true, error: '' });
    expect(await later.found()).toEqual(['/a', '/a/b', '/a/b/c']);
    await later.keeper.close();
  });

  it('an update builds its subtrees anew to the wanted depth, and needs a mode that has parts', async () => {
    const world = await open();
    for (const path of ['/a/b/c/d', '/a/x', '/other']) await world.memory.put(path);
    await world.keeper.update(world.memory.snapshot, ['/a/b', '/nothing'], 1);
    await world.done();
    expect(await world.found()).toEqual(['/a/b', '/a/b/c']);
    await world.keeper.update(world.memory.snapshot, ['/a/b/', '/other'], -1);
    await world.done();
    expect(await world.found()).toEqual(['/a/b', '/a/b/c', '/a/b/c/d', '/other']);
    await world.keeper.update(world.memory.snapshot, ['/'], 1);
    await world.done();
    expect(await world.found()).toEqual(['/a', '/other']);
    world.memory = await treeWith({ settings: { search_index: 'bleve' } });
    await expect(world.keeper.update(world.memory.snapshot, ['/'], 1)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  });
});

describe('an update of what is in a storage that is away', () => {
  const openAway = async (options: KeeperWorldOptions = {}) => {
    const driver = createTestDriver('Away', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/away', driver: 'Away' }, { mount_path: '/good' }];
    const world = await open({ ...options, tree: { storages, drivers: [driver.definition] } });
    for (const path of ['/deep/one', '/deep/sub/two', '/top']) await driver.storeOf().write(mpath(path), bytesOf(''), { overwrite: true });
    await world.memory.put('/good/before');
    await world.build();
    return { driver, world, all: await world.found() };
  };

  it.each([['/away/deep'], ['/away'], ['/away/deep/sub/two']])('keeps what the index has of %s, and says why', async (path) => {
    const { driver, world, all } = await openAway();
    driver.beforeCalls(async () => {
      throw new AppError('STORAGE_UNAVAILABLE', 'not today');
    });
    await world.keeper.update(world.memory.snapshot, [path], -1);
    expect(await world.done()).toMatchObject({ is_done: true, error: `${path}: not today` });
    expect(await world.found()).toEqual(all);
    driver.beforeCalls(async () => undefined);
    await driver.storeOf().remove(mpath('/deep/one'), { recursive: false });
    await world.keeper.update(world.memory.snapshot, ['/away/deep', '/away/deep/gone'], -1);
    expect(await world.done()).toMatchObject({ is_done: true, error: '' });
    expect(await world.found()).toEqual(all.filter((each) => each !== '/away/deep/one'));
  });

  it('is stopped while nothing is answered, and the next begins', async () => {
    const { driver, world, all } = await openAway({ lateMs: 600_000 });
    let asked = 0;
    driver.beforeCalls(() => {
      asked += 1;
      return new Promise(() => undefined);
    });
    await world.keeper.update(world.memory.snapshot, ['/away/deep'], -1);
    await waitFor('the look', () => asked > 0);
    await world.keeper.stopJob(world.memory.snapshot);
    await world.memory.put('/good/after');
    await world.keeper.update(world.memory.snapshot, ['/good'], -1);
    expect(await world.done()).toMatchObject({ is_done: true, error: '' });
    expect(await world.found()).toEqual([...all, '/good/after'].sort());
  });

  it('keeps others waiting for one look that is late, however many paths it has', async () => {
    const { driver, world, all } = await openAway({ lateMs: 50, standsAfterMs: 1 });
    driver.beforeCalls(() => new Promise(() => undefined));
    const paths = Array.from({ length: 30 }, (_, number) => `/away/deep/${number}`);
    await world.keeper.update(world.memory.snapshot, ['/away/deep', ...paths, '/good'], -1);
    await upload(world, '/good/after');
    await world.finds('after', ['/good/after']);
    expect(driver.calls().stat).toBe(1);
    expect(await world.found()).toEqual([...all, '/good/after'].sort());
  });
});

describe('the index follows', () => {
  it('uploads, folders, renames, moves, copies and removals', async () => {
    const world = await open();
    for (const path of ['/docs/one.txt', '/docs/sub/two.txt', '/music/song.mp3']) await world.memory.put(path);
    await world.build();
    await upload(world, '/made/on the way/three.txt');
    await world.finds('three', ['/made/on the way/three.txt']);
    await world.finds('way', ['/made/on the way']);
    await makeDirectory(world.operation(), '/empty');
    await world.finds('empty', ['/empty']);
    await renameEntry(world.operation(), { path: '/docs', name: 'papers', overwrite: false });
    await world.finds('', [
      ...['/papers', '/papers/one.txt', '/papers/sub', '/papers/sub/two.txt'],
      ...['/empty', '/made', '/made/on the way', '/made/on the way/three.txt', '/music', '/music/song.mp3'],
    ]);
    await moveEntries(world.operation(), { src_dir: '/papers', dst_dir: '/empty', names: ['sub'], ...order });
    await world.finds('two', ['/empty/sub/two.txt']);
    await copyEntries(world.operation(), { src_dir: '/empty', dst_dir: '/music', names: ['sub'], ...order });
    await world.finds('two', ['/empty/sub/two.txt', '/music/sub/two.txt']);
    await removeEntries(world.operation(), { dir: '/', names: ['empty', 'made'] });
    await world.finds('', ['/papers', '/papers/one.txt', '/music', '/music/song.mp3', '/music/sub', '/music/sub/two.txt']);
    expect(world.errors).toEqual([]);
  });

  it('a folder that was as deep as any is indexed, and is moved up', async () => {
    const world = await open({ tree: { settings: { max_index_depth: '3' } } });
    await world.memory.put('/top/a/b/deep');
    await world.build();
    expect(await world.found()).toEqual(['/top', '/top/a', '/top/a/b']);
    await moveEntries(world.operation(), { src_dir: '/top/a', dst_dir: '/top', names: ['b'], ...order });
    await world.finds('deep', ['/top/b/deep']);
    await upload(world, '/top/b/new');
    await world.finds('new', ['/top/b/new']);
  });

  it.each<[string, ...(readonly [from: string, to: string])[]]>([
    ['change places', ['/a', '/t'], ['/b', '/a'], ['/t', '/b']],
    ['take the place of one that got another name', ['/a', '/old'], ['/b', '/a']],
    ['take the place of one that took another one\u2019s', ['/b', '/c'], ['/a', '/b'], ['/d', '/a']],
    ['take the place of one that moved on', ['/a', '/e'], ['/e', '/c'], ['/b', '/e']],
  ])('folders that %s before it has heard of it', async (_, ...renames) => {
    const driver = createTestDriver('Moving', ['listNames', 'statMany'], { no_cache: true });
    const world = await open({ tree: { storages: [{ mount_path: '/', driver: 'Moving' }], drivers: [driver.definition] } });
    const store = driver.storeOf();
    for (const folder of ['a', 'b', 'd']) await store.write(mpath(`/${folder}/sub/deep/of ${folder}`), bytesOf(''), { overwrite: true });
    await world.build();
    for (const [from, to] of renames) await store.rename(mpath(from), mpath(to), { overwrite: false });
    const { snapshot } = world.memory;
    const index = await world.keeper.index(snapshot);
    await applyChanges(
      index,
      snapshot,
      renames.map((paths) => paths.map(vpath)),
    );
    world.keeper.wake();
    const placeOf = (folder: string) => renames.reduce((place, [from, to]) => (place === from ? to : place), `/${folder}`);
    const places = ['a', 'b', 'd'].map((folder) => [placeOf(folder), folder] as const);
    await world.finds(
      '',
      places.flatMap(([place, folder]) => [place, `${place}/sub`, `${place}/sub/deep`, `${place}/sub/deep/of ${folder}`]),
    );
  });

  it('a folder that takes the place of one that was removed, before it has heard of that', async () => {
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async readState() {
        if (isHeld) await gate.promise;
        return index.readState();
      },
    });
    const world = await open({ around });
    await world.memory.put('/a/sub/deep/old');
    await world.build();
    isHeld = true;
    await removeEntries(world.operation(), { dir: '/', names: ['a'] });
    await upload(world, '/a/sub/deep/new');
    isHeld = false;
    gate.resolve();
    await world.finds('', ['/a', '/a/sub', '/a/sub/deep', '/a/sub/deep/new']);
  });

  it('changes in other storages where one does not answer, whose folder is listed when it does', async () => {
    const driver = createTestDriver('Hanging', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/hanging', driver: 'Hanging' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] } });
    await world.build();
    const { snapshot } = world.memory;
    const index = await world.keeper.index(snapshot);
    const { generation } = await index.readState();
    await driver.storeOf().write(mpath('/one'), bytesOf(''), { overwrite: true });
    await world.memory.put('/good/other');
    driver.beforeCalls(() => new Promise(() => undefined));
    await applyChanges(index, snapshot, [[vpath('/hanging/one')], [vpath('/hanging/two')], [vpath('/good/other')]], { lateMs: 1 });
    expect(await world.found()).toEqual(['/good', '/good/other', '/hanging']);
    expect(await index.queued(generation, 10)).toMatchObject([{ path: '/hanging' }]);
    driver.beforeCalls(async () => undefined);
    world.keeper.wake();
    await world.finds('one', ['/hanging/one']);
  });

  it('changes at the root, and in a known folder of a storage that did not answer or could not be asked', async () => {
    const driver = createTestDriver('Hanging', ['listNames', 'statMany'], { no_cache: true });
    const world = await open({ tree: { storages: [{ mount_path: '/', driver: 'Hanging' }], drivers: [driver.definition] } });
    const store = driver.storeOf();
    await store.write(mpath('/known/old'), bytesOf(''), { overwrite: true });
    await world.build();
    const { snapshot } = world.memory;
    const index = await world.keeper.index(snapshot);
    const answers = [
      () => new Promise<void>(() => undefined),
      async () => {
        throw new AppError('STORAGE_UNAVAILABLE', 'not now');
      },
    ];
    for (const [round, answer] of answers.entries()) {
      await store.write(mpath(`/known/inner${round}`), bytesOf(''), { overwrite: true });
      driver.beforeCalls(answer);
      await applyChanges(index, snapshot, [[vpath('/known')]], { lateMs: 1 });
      driver.beforeCalls(async () => undefined);
      world.keeper.wake();
      await world.finds(`inner${round}`, [`/known/inner${round}`]);
    }
    await store.write(mpath('/top'), bytesOf(''), { overwrite: true });
    await applyChanges(index, snapshot, [[vpath('/')]], { lateMs: 1 });
    world.keeper.wake();
    await world.finds('top', ['/top']);
  });

  it('changes that were made while the index could not be reached', async () => {
    let isAway = false;
    let refusals = 0;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async put(directory, entries, generation) {
        if (isAway) {
          refusals += 1;
          throw new AppError('STORAGE_UNAVAILABLE', 'the store is away');
        }
        await index.put(directory, entries, generation);
      },
    });
    const world = await open({ around });
    await world.memory.put('/before');
    await world.build();
    isAway = true;
    for (const path of ['/one', '/two']) await upload(world, path);
    await waitFor('a change that cannot be followed', () => refusals > 0);
    isAway = false;
    world.keeper.wake();
    await world.finds('', ['/before', '/one', '/two']);
  });

  it('a storage for as long as another one takes long, though all its folders together have more than one walk looks at', async () => {
    const driver = createTestDriver('Slow', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/slow', driver: 'Slow' }, { mount_path: '/good' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] }, standsAfterMs: 1, maxEntries: 20 });
    await driver.storeOf().write(mpath('/a/b'), bytesOf(''), { overwrite: true });
    await world.build();
    const held = Promise.withResolvers<void>();
    const before = driver.listings();
    driver.afterListing(async () => held.promise);
    await upload(world, '/slow/c/d');
    await waitFor('the folder that is read', () => driver.listings() > before);
    for (let round = 0; round < 30; round += 1) {
      await upload(world, `/good/${round}/file${round}x`);
      await world.finds(`file${round}x`, [`/good/${round}/file${round}x`]);
    }
    expect(world.errors).toEqual([]);
    held.resolve();
  });

  it('others beside a storage that takes its time for each of many folders, without one that stands', async () => {
    const [slow, good] = ['Slow', 'Good'].map((name) => createTestDriver(name, ['listNames', 'statMany'], { no_cache: true }));
    if (!slow || !good) throw new Error('there are no drivers');
    const storages = [
      { mount_path: '/slow', driver: 'Slow' },
      { mount_path: '/good', driver: 'Good' },
    ];
    const world = await open({ tree: { storages, drivers: [slow.definition, good.definition] }, standsAfterMs: 40 });
    for (let number = 0; number < 300; number += 1) await slow.storeOf().write(mpath(`/${number}/file`), bytesOf(''), { overwrite: true });
    await good.storeOf().write(mpath('/x/y/z/file'), bytesOf(''), { overwrite: true });
    slow.beforeCalls(async () => wait(10));
    let seen = 0;
    good.afterListing(async () => {
      seen = slow.listings();
    });
    await world.build();
    expect([good.listings(), slow.listings()]).toEqual([4, 301]);
    expect(seen).toBeLessThan(200);
  });

  it.each([
    ['as if it were away', new AppError('STORAGE_UNAVAILABLE', 'the search index is not available')],
    ['for a reason that nobody knows', new Error('odd')],
  ])('others where the index never takes one of them, %s', async (_, failure) => {
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async put(directory, entries, generation) {
        if (entries.some(({ name }) => name === 'odd')) throw failure;
        await index.put(directory, entries, generation);
      },
    });
    const world = await open({ around });
    await world.memory.put('/before');
    await world.build();
    for (const path of ['/odd', '/one', '/two']) await world.memory.put(path);
    world.keeper.noteChanges(['/odd', '/one', '/two'].map(vpath));
    world.keeper.wake();
    await world.finds('', ['/before', '/one', '/two']);
    expect(world.errors.length).toBeGreaterThan(0);
  });

  it('the last of many that the index never takes, some more of them with each look', async () => {
    let isFull = false;
    const around = (index: SearchIndex): SearchIndex => ({
      ...index,
      async put(directory, entries, generation) {
        if (isFull) throw new AppError('STORAGE_UNAVAILABLE', 'the store has no room');
        await index.put(directory, entries, generation);
      },
    });
    const world = await open({ around });
    await world.memory.put('/gone');
    await world.build();
    isFull = true;
    const names = Array.from({ length: 12 }, (_, index) => `/new${index}`);
    for (const path of names) await world.memory.put(path);
    await (await world.memory.snapshot.table.mounts[0]?.mount.driver())?.remove?.(mpath('/gone'), { recursive: false });
    world.keeper.noteChanges([...names, '/gone'].map(vpath));
    await waitFor('what is gone to be gone', async () => {
      world.keeper.wake();
      return (await world.found()).length === 0;
    });
    isFull = false;
    world.keeper.wake();
    await world.finds('', [...names].sort());
  });

  it('nothing that it does not cover', async () => {
    const world = await open({ tree: { settings: { ignore_paths: '/skip' } } });
    await upload(world, '/before.txt');
    expect(await world.found()).toEqual([]);
    await world.build();
    await upload(world, '/skip/one.txt');
    await upload(world, '/seen.txt');
    await world.finds('', ['/before.txt', '/seen.txt']);
    await world.keeper.clear(world.memory.snapshot);
    await upload(world, '/after.txt');
    await world.keeper.progress(world.memory.snapshot);
    expect(await world.found()).toEqual([]);
  });

  it('what a listing shows, with auto_update_index, and only then', async () => {
    const driver = createTestDriver('Plain', ['listNames', 'statMany'], { no_cache: true });
    const storages = [{ mount_path: '/', driver: 'Plain' }];
    const world = await open({ tree: { storages, drivers: [driver.definition] } });
    const store = driver.storeOf();
    await store.write(mpath('/d/old'), bytesOf(''), { overwrite: true });
    await world.build();
    await store.write(mpath('/d/new/inner'), bytesOf(''), { overwrite: true });
    await store.remove(mpath('/d/old'), { recursive: false });
    await world.list('/d');
    expect(await world.found()).toEqual(['/d', '/d/old']);
    world.memory = await treeWith({ storages, drivers: [driver.definition], settings: { auto_update_index: 'true' } });
    world.keeper.wake();
    await waitFor('the listing', async () => {
      await world.list('/d');
      return (await world.found()).join() === '/d,/d/new,/d/new/inner';
    });
  });

  it('storages that come and go', async () => {
    const [first, second] = [
      { _id: 1, mount_path: '/a', addition: '{"store":"1"}' },
      { _id: 2, mount_path: '/a/inner', addition: '{"store":"2"}' },
    ];
    const driver = createTestDriver('Kept');
    const treeOf = (storages: readonly object[]) =>
      treeWith({ storages: storages.map((each) => ({ ...each, driver: 'Kept' })), drivers: [driver.definition] });
    await driver.storeOf('1').write(mpath('/one'), bytesOf(''), { overwrite: true });
    await driver.storeOf('2').write(mpath('/two'), bytesOf(''), { overwrite: true });
    const world = await open({ memory: await treeOf([first]) });
    await world.build();
    expect(await world.found()).toEqual(['/a', '/a/one']);
    world.memory = await treeOf([first, second]);
    world.keeper.wake();
    await world.finds('', ['/a', '/a/inner', '/a/inner/two', '/a/one']);
    world.memory = await treeOf([second]);
    world.keeper.wake();
    await world.finds('', ['/a', '/a/inner', '/a/inner/two']);
    world.memory = await treeOf([]);
    world.keeper.wake();
    await world.finds('', []);
  });

  it('storages that came and went right before an update of something else', async () => {
    const [gone, stays, come] = ['gone', 'stays', 'come'].map((name, number) => ({
      ...{ _id: number + 1, mount_path: `/${name}`, driver: 'Kept', addition: `{"store":"${name}"}` },
    }));
    const driver = createTestDriver('Kept');
    for (const name of ['gone', 'stays', 'come'])
      await driver.storeOf(name).write(mpath(`/file ${name}`), bytesOf(''), { overwrite: true });
    const treeOf = (...storages: Array<typeof gone>) =>
      treeWith({ storages: storages.map((each) => ({ ...each })), drivers: [driver.definition] });
    let walks = 0;
    const release = async () => {
      walks += 1;
    };
    const world = await open({ memory: await treeOf(gone, stays), around: (index) => ({ ...index, release }) });
    await world.build();
    await waitFor('the end of the walk', async () => walks > 0);
    world.memory = await treeOf(stays, come);
    await world.keeper.update(world.memory.snapshot, ['/stays'], -1);
    await world.done();
    await world.finds('', ['/come', '/come/file come', '/stays', '/stays/file stays']);
  });
});
