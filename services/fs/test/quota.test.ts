import { setTimeout as pause } from 'node:timers/promises';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { type Models, modelsOf, QUOTAS, raiseCounter } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { batchRename } from '../src/domain/changing/operations/batch-rename.ts';
import { claimRoom, holdRoom } from '../src/domain/changing/operations/claim-room.ts';
import type { Operation } from '../src/domain/changing/operations/operation.ts';
import { placeEntries } from '../src/domain/changing/operations/place-entries.ts';
import { recursiveMove } from '../src/domain/changing/operations/recursive-move.ts';
import { regexRename } from '../src/domain/changing/operations/regex-rename.ts';
import { removeEntries } from '../src/domain/changing/operations/remove-entries.ts';
import { renameEntry } from '../src/domain/changing/operations/rename-entry.ts';
import { beginUpload } from '../src/domain/changing/upload.ts';
import { CLAIM_LEASE_MS, createQuotas, relocatedAt } from '../src/domain/quota/quota.ts';
import { actor, bytesOf, type MemoryTree, openTree, vpath } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { MemoryDriver } from '../src/drivers/memory/driver.ts';
import { createKeptQuotas } from '../src/store/kept-quotas.ts';
import { createQuotaLedger } from '../src/store/quota-ledger.ts';
import { copyEntries, runPlacement } from '../src/tasks/testing/place-now.ts';
import { createTestRun } from '../src/tasks/testing/test-run.ts';

let dir: TempDir;
let store: EmbeddedMongo;
let connection: StoreConnection;
let models: Models;
let homes = 0;

beforeAll(async () => {
  dir = await makeTempDir('quota');
  store = await startEmbeddedMongo({ dataDir: dir.path });
  connection = await connectStore(store.url);
  models = modelsOf(connection);
});
afterAll(async () => {
  await connection?.close();
  await store?.stop();
  await dir?.remove();
});

/** Somebody with a quota, with files in a storage of memory. Each call has a base path of its own. */
async function openHome(limitBytes: number, options: Parameters<typeof openTree>[0] = {}) {
  homes += 1;
  const home = `/home-${homes}`;
  let now = Date.now();
  const clock = () => now;
  const quotas = createQuotas(createQuotaLedger(models, clock), clock)(new Map([[7, { bytes: limitBytes, basePath: vpath(home) }]]));
  const memory = await openTree({ ...options, quotas });
  const owner = actor({ id: 7, basePath: vpath(home) });
  const upload = async (name: string, text: string, sizeBytes: number | undefined = text.length) => {
    const begun = await beginUpload(memory.operation(owner), {
      ...{ path: `/${name}`, overwrite: true, password: '', sizeBytes, modifiedAt: undefined, expectedHashes: {} },
    });
    await begun.store(bytesOf(text));
  };
  return { home, memory, owner, upload, pass: (ms: number) => (now += ms) };
}

type Home = Awaited<ReturnType<typeof openHome>>;

const NONE = async () => {};
const RENAMED = { src_name: 'a', new_name: 'zz' };
const PATTERN = { src_name_regex: '^a$', new_name_regex: 'zz' };
const FLATTENED = { conflict_policy: 'cancel' };
const moveEntries = (operation: Operation, src_dir: string, dst_dir: string, name: string) =>
  placeEntries(operation, { src_dir, dst_dir, names: [name], overwrite: false, skip_existing: false }, 'move', NONE);

async function bytesIn(memory: MemoryTree, home: string): Promise<number> {
  let bytes = 0;
  for (const path of await memory.everything(home)) bytes += path.endsWith('/') ? 0 : (await memory.textOf(path)).length;
  return bytes;
}

const FULL = (limit: number) => ['QUOTA_EXCEEDED', `quota exceeded: your files may have ${limit} bytes in all`];

describe('C17: a quota', () => {
  it.each([
    ['whose sizes are known', (text: string) => text.length],
    ['whose sizes are not known', () => undefined],
  ])('holds against 200 uploads at once %s', async (_what, sizeOf) => {
    const { home, memory, upload } = await openHome(1_000);
    const text = 'x'.repeat(30);
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => upload(`f${index}`, text, sizeOf(text))));
    const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
    const bytes = await bytesIn(memory, home);
    expect(bytes).toBe(stored * 30);
    expect(bytes).toBeLessThanOrEqual(1_000);
    expect(stored).toBe(33);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect([outcome.reason.code, outcome.reason.message]).toEqual(FULL(1_000));
  });

  it('counts what was there before, whoever wrote it, below the base path and nowhere else', async () => {
    const { home, memory, upload } = await openHome(100, { storages: [{}, { mount_path: `/home-${homes + 1}/mounted` }] });
    await memory.put(`${home}/old`, 'x'.repeat(40));
    await memory.put(`${home}/mounted/deep/old`, 'x'.repeat(40));
    await memory.put(`${home}-other`, 'x'.repeat(40));
    await upload('fits', 'x'.repeat(20));
    expect(await refusalOf(upload('one', 'x'))).toEqual(FULL(100));
    await upload('empty', '');
  });

  it.each(['UNSUPPORTED_OPERATION', 'FAILED_PRECONDITION'] as const)(
    'counts what is stored in a folder too long to be listed: %s',
    async (code) => {
      const { home, memory, upload, pass } = await openHome(100);
      await memory.put(`${home}/long/one`, '');
      const list = MemoryDriver.prototype.list;
      const spy = vi.spyOn(MemoryDriver.prototype, 'list').mockImplementation(function (this: MemoryDriver, path, options) {
        if (path === `${home}/long`) throw storageError(code);
        return list.call(this, path, options);
      });
      onTestFinished(() => spy.mockRestore());
      await upload('long/two', 'x'.repeat(90));
      pass(61_000);
      expect((await refusalOf(upload('long/three', 'x'.repeat(90))))[0]).toBe('UNSUPPORTED_OPERATION');
      await upload('four', 'x'.repeat(10));
    },
  );

  it('keeps nobody out while a storage is away: what is known is enough, until all is counted', async () => {
    const { home, memory, owner, upload } = await openHome(100, { storages: [{}, { mount_path: `/home-${homes + 1}/away` }] });
    await memory.put(`${home}/away/deep/old`, 'x'.repeat(40));
    let isAway = true;
    const list = MemoryDriver.prototype.list;
    const spy = vi.spyOn(MemoryDriver.prototype, 'list').mockImplementation(function (this: MemoryDriver, path, options) {
      if (isAway && path === '/deep') throw storageError('STORAGE_UNAVAILABLE');
      return list.call(this, path, options);
    });
    onTestFinished(() => spy.mockRestore());
    await upload('one', 'x'.repeat(30));
    await upload('two', 'x'.repeat(30));
    // What it wrote itself is known, and so is that no count tells of more room.
    expect((await refusalOf(upload('three', 'x'.repeat(50))))[0]).toBe('STORAGE_UNAVAILABLE');
    isAway = false;
    // Another replica does not wait before it counts again.
    const quotas = createQuotas(createQuotaLedger(models, Date.now), Date.now)(new Map([[7, { bytes: 100, basePath: vpath(home) }]]));
    const operation = memory.operation(owner);
    expect(await refusalOf(claimRoom({ ...operation, snapshot: { ...operation.snapshot, quotas } }, 1))).toEqual(FULL(100));
  });

  it('holds against copies of files whose storage tells no sizes, byte by byte', async () => {
    const addition = '{"profile":"unknown sizes"}';
    const { home, memory, owner } = await openHome(100, { storages: [{}, { mount_path: `/home-${homes + 1}/unsized`, addition }] });
    await memory.put(`${home}/unsized/f`, 'x'.repeat(60));
    await memory.put(`${home}/unsized/g`, 'x'.repeat(60));
    const copy = (name: string) =>
      copyEntries(memory.operation(owner), { src_dir: '/unsized', dst_dir: '/', names: [name], overwrite: false, skip_existing: false });
    await copy('f');
    expect(await memory.textOf(`${home}/f`)).toBe('x'.repeat(60));
    expect(await refusalOf(copy('g'))).toEqual(['QUOTA_EXCEEDED', expect.stringContaining('100 bytes in all')]);
    expect(await memory.everything(home)).not.toContain(`${home}/g`);
  });

  it('has room again when files were removed, replaced by smaller ones, or could not be stored', async () => {
    const failing = createTestDriver('Failing');
    const { home, memory, owner, upload, pass } = await openHome(100, { drivers: [failing.definition], storages: [{ driver: 'Failing' }] });
    failing.failWrites((path) => path.endsWith('/broken'));
    expect((await refusalOf(upload('broken', 'x'.repeat(100))))[0]).toBe('QUOTA_EXCEEDED');
    await upload('a', 'x'.repeat(60));
    await upload('b', 'x'.repeat(40));
    expect(await refusalOf(upload('c', 'x'))).toEqual(FULL(100));
    await removeEntries(memory.operation(owner), { dir: '/', names: ['a'] });
    await upload('c', 'x'.repeat(60));
    expect(await refusalOf(upload('d', 'x'))).toEqual(FULL(100));
    // What others removed is found a minute later.
    await removeEntries(memory.operation(), { dir: home, names: ['b', 'c'] });
    expect(await refusalOf(upload('d', 'x'))).toEqual(FULL(100));
    pass(61_000);
    await upload('d', 'x'.repeat(100));
  });

  it('holds for copies, of folders too, before anything is copied', async () => {
    const { home, memory, owner, upload } = await openHome(100);
    await memory.makeFolder(`${home}/to`);
    await upload('d/a', 'x'.repeat(30));
    await upload('d/e/b', 'x'.repeat(30));
    const copy = (name: string, src_dir = '/') =>
      placeEntries(
        memory.operation(owner),
        { src_dir, dst_dir: '/to', names: [name], overwrite: false, skip_existing: false },
        'copy',
        async () => {},
      );
    expect(await refusalOf(copy('d'))).toEqual(FULL(100));
    expect(await memory.everything(`${home}/to`)).toEqual([`${home}/to/`]);
    await copy('a', '/d');
    expect(await refusalOf(copy('b', '/d/e'))).toEqual(FULL(100));
    expect(await bytesIn(memory, home)).toBe(90);
  });

  it('of a process that died with a claim is free when its lease has run out, and what it wrote is counted', async () => {
    const { home, memory, upload, pass } = await openHome(100);
    await upload('a', 'x'.repeat(10));
    const ledger = createQuotaLedger(models, Date.now);
    expect(await ledger.claim(vpath(home), 'dead', 80, 100, 'counted')).toBe('claimed');
    await memory.put(`${home}/written`, 'x'.repeat(30));
    expect(await refusalOf(upload('b', 'x'.repeat(60)))).toEqual(FULL(100));
    pass(CLAIM_LEASE_MS + 1_000);
    await upload('b', 'x'.repeat(60));
    expect(await refusalOf(upload('c', 'x'))).toEqual(FULL(100));
  });

  it('is held by no thousands of claims that ran out, whose ledger would cost the store more with each', async () => {
    const { home, memory, owner, upload, pass } = await openHome(100);
    await upload('a', 'x'.repeat(10));
    const expires_at = new Date(Date.now());
    const claims = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`dead-${index}`, { bytes: 0, expires_at }]));
    await models.quotaLedgers.updateOne({ _id: home }, { $set: { claims } });
    pass(1_000);
    await holdRoom(memory.operation(owner), { name: 'next', bytes: 80 });
    expect(Object.keys((await models.quotaLedgers.findById(home).lean())?.claims ?? {})).toEqual(['next']);
    expect(await refusalOf(upload('b', 'x'.repeat(20)))).toEqual(FULL(100));
  });

  it('is not held by what was claimed, moved and counted before the clock was set back', async () => {
    const { home, memory, upload } = await openHome(100);
    await upload('a', 'x'.repeat(90));
    const ahead = createQuotaLedger(models, () => Date.now() + 366 * 86_400_000);
    await ahead.count(vpath(home), async () => 90);
    expect(await ahead.claim(vpath(home), 'dead', 10, 100, 'counted')).toBe('claimed');
    await ahead.relocate([vpath(home)], 'moving-dead');
    await memory.put(`${home}/a`, 'x');
    await upload('b', 'x'.repeat(95));
  });

  it('is not lost when a count runs while files are written', async () => {
    const owner = vpath('/home-counted');
    const ledger = createQuotaLedger(models, Date.now);
    await ledger.count(owner, async () => 10);
    expect(await ledger.claim(owner, 'a', 20, 100, 'counted')).toBe('claimed');
    await ledger.count(owner, async () => {
      await ledger.settle(owner, 'a', 20, 25);
      expect(await ledger.claim(owner, 'b', 30, 100, 'counted')).toBe('claimed');
      await pause(0);
      return 10;
    });
    // 10 counted, 25 written while it ran, 30 claimed.
    expect(await ledger.claim(owner, 'c', 36, 100, 'counted')).toBe('full');
    expect(await ledger.claim(owner, 'c', 35, 100, 'counted')).toBe('claimed');
  });

  it('is counted for all who wait: one who goes away fails nobody else, and the count ends with the last one', async () => {
    const driver = createTestDriver('Slow');
    const { home, memory, owner, upload } = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Slow' }] });
    await memory.makeFolder(`${home}/d`);
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    driver.beforeCalls(async (_store, signal) => {
      begun.resolve();
      const aborted = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('ended'))));
      await Promise.race([held.promise, aborted]);
    });
    const caller = new AbortController();
    const hold = (name: string, signal: AbortSignal) => holdRoom(memory.operation(owner, signal), { name, bytes: 60 }, signal);
    const first = hold('first', caller.signal);
    await begun.promise;
    const second = hold('second', new AbortController().signal);
    caller.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    held.resolve();
    const claim = await second;
    expect(await refusalOf(upload('a', 'x'.repeat(41)))).toEqual(FULL(100));
    await claim.release();
    await upload('a', 'x'.repeat(41));

    const nobody = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Slow' }] });
    await nobody.memory.makeFolder(nobody.home);
    const counting = Promise.withResolvers<AbortSignal | undefined>();
    driver.beforeCalls(async (_store, signal) => {
      counting.resolve(signal);
      await new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('nobody waits'))));
    });
    const only = new AbortController();
    const waiting = holdRoom(nobody.memory.operation(nobody.owner, only.signal), { name: 'only', bytes: 1 });
    const signal = await counting.promise;
    only.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(signal?.aborted).toBe(true);
  });

  it('of work that many processes share is claimed once, grows, and is claimed anew where it ran out', async () => {
    const { home, memory, owner, upload, pass } = await openHome(100);
    const hold = (name: string, bytes: number) => holdRoom(memory.operation(owner), { name, bytes });
    const [one, two] = await Promise.all([hold('shared', 60), hold('shared', 60)]);
    await Promise.all([one.extend(30), two.extend(30)]);
    expect(await refusalOf(hold('other', 11))).toEqual(FULL(100));
    one.letGo();
    two.letGo();
    pass(CLAIM_LEASE_MS + 1_000);
    await upload('a', 'x'.repeat(20));
    expect(await refusalOf(hold('shared', 81))).toEqual(FULL(100));
    const again = await hold('shared', 80);
    expect(await refusalOf(upload('b', 'x'))).toEqual(FULL(100));
    await again.settle(30);
    // A claim that is gone has nothing more to give back.
    await again.release();
    await memory.put(`${home}/written`, 'x'.repeat(30));
    await upload('b', 'x'.repeat(50));
    expect(await refusalOf(upload('c', 'x'))).toEqual(FULL(100));
  });

  const moves: [string, (home: Home) => Promise<unknown>][] = [
    ['a move', ({ memory, owner }) => moveEntries(memory.operation(owner), '/a', '/z', 'big')],
    ['a rename', ({ memory, owner }) => renameEntry(memory.operation(owner), { path: '/a', name: 'zz', overwrite: false })],
    ['a rename of many', ({ memory, owner }) => batchRename(memory.operation(owner), { src_dir: '/', rename_objects: [RENAMED] })],
    ['a rename by pattern', ({ memory, owner }) => regexRename(memory.operation(owner), { src_dir: '/', ...PATTERN })],
    [
      'a recursive move',
      ({ memory, owner }) => recursiveMove(memory.operation(owner), { ...FLATTENED, src_dir: '/a', dst_dir: '/z' }, NONE),
    ],
    ['a move by somebody above', ({ memory, home }) => moveEntries(memory.operation(), `${home}/a`, `${home}/z`, 'big')],
  ];
  it.each(moves)('is not passed by %s while files are counted', async (_what, move) => {
    const driver = createTestDriver('Held');
    const at = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Held' }] });
    const { home, memory, owner, upload, pass } = at;
    for (const folder of ['a', 'z']) await memory.makeFolder(`${home}/${folder}`);
    await upload('a/big/f', 'x'.repeat(90));
    await upload('tiny', 'x');
    await removeEntries(memory.operation(owner), { dir: '/', names: ['tiny'] });
    pass(61_000);
    // Once `z` has been seen, and `a` not yet, what `a` has goes to `z`: the walk sees it nowhere.
    let isMoved = false;
    driver.afterListing(async (path) => {
      if (path !== `${home}/z` || isMoved) return;
      isMoved = true;
      await move(at);
    });
    expect((await refusalOf(upload('more', 'x'.repeat(50))))[0]).toBe('QUOTA_EXCEEDED');
    expect(isMoved).toBe(true);
    expect(await bytesIn(memory, home)).toBe(90);
  });

  it('believes no count that begins or ends within a long move', async () => {
    const { home, memory, owner, upload, pass } = await openHome(100);
    const { quotas } = memory.snapshot;
    await upload('f', 'x'.repeat(90));
    await removeEntries(memory.operation(owner), { dir: '/', names: ['f'] });
    pass(61_000);
    const refused = await quotas.relocating(relocatedAt(vpath(`${home}/any`)), () => refusalOf(upload('g', 'x'.repeat(50))));
    expect(refused).toEqual(['STALE_VERSION', 'your files change too fast to be counted, try again']);
    await quotas.relocating(relocatedAt(vpath('/elsewhere')), () => upload('g', 'x'.repeat(50)));
  });

  it.each([
    ['for the first time', false],
    ['again, as nobody knows what an upload left', true],
  ])('lets its user write while others rename without end and nothing can be counted %s', async (_what, isKnown) => {
    const driver = createTestDriver('Restless');
    const { home, memory, owner, upload } = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Restless' }] });
    await memory.put(`${home}/d0/old`, 'x'.repeat(40));
    if (isKnown) {
      await upload('known', 'x');
      await memory.snapshot.quotas.uncounted([vpath(home)], 0);
    }
    let renames = 0;
    driver.afterListing(async () => {
      const path = `${home}/d${renames}`;
      renames += 1;
      await renameEntry(memory.operation(), { path, name: `d${renames}`, overwrite: false });
    });
    await upload('mine', 'x'.repeat(50));
    expect(renames).toBeGreaterThan(0);
    // What is known is not passed meanwhile.
    if (isKnown) expect((await refusalOf(upload('more', 'x'.repeat(20))))[0]).toBe('STALE_VERSION');
    driver.afterListing(NONE);
    await removeEntries(memory.operation(owner), { dir: '/', names: ['mine'] });
    await upload('more', 'x'.repeat(55));
    expect(await refusalOf(upload('last', 'x'.repeat(6)))).toEqual(FULL(100));
  });

  it('is not passed by work that fails while nothing can be counted', async () => {
    const driver = createTestDriver('Lossy', ['rename', 'copy']);
    const { home, memory, owner, upload } = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Lossy' }] });
    const { quotas } = memory.snapshot;
    await upload('d/a', 'x'.repeat(30));
    await upload('d/full', 'x');
    driver.failWrites((path) => path.endsWith('/full'));
    await quotas.relocating(relocatedAt(vpath(home)), async () => {
      // The copy of `a` stays in both places.
      await refusalOf(renameEntry(memory.operation(owner), { path: '/d', name: 'e', overwrite: false }));
      const claim = await holdRoom(memory.operation(owner), { name: 'left', bytes: 30 });
      await claim.abandon();
      expect((await refusalOf(upload('more', 'x'.repeat(10))))[0]).toBe('STALE_VERSION');
    });
    await upload('more', 'x'.repeat(39));
    expect(await bytesIn(memory, home)).toBe(100);
    expect(await refusalOf(upload('last', 'x'))).toEqual(FULL(100));
  });

  it('counts what a copy of a folder found, however that changed while it was added up', async () => {
    const driver = createTestDriver('Grown');
    const { home, memory, owner, upload } = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Grown' }] });
    await memory.makeFolder(`${home}/from`);
    await memory.makeFolder(`${home}/to`);
    await upload('big', 'x'.repeat(40));
    let isMoved = false;
    driver.afterListing(async (path) => {
      if (path !== `${home}/from` || isMoved) return;
      isMoved = true;
      await moveEntries(memory.operation(owner), '/', '/from', 'big');
    });
    const copy = { src_dir: '/', dst_dir: '/to', names: ['from'], overwrite: false, skip_existing: false };
    await placeEntries(memory.operation(owner), copy, 'copy', NONE);
    expect(await bytesIn(memory, home)).toBe(80);
    expect(await refusalOf(upload('more', 'x'.repeat(21)))).toEqual(FULL(100));
    await upload('more', 'x'.repeat(20));
  });

  /** A home of 100 bytes with two storages, and the task that copies the folder `d` from one to the other. */
  async function openCopy() {
    const home = await openHome(100, { storages: [{ mount_path: '/' }, { mount_path: `/home-${homes + 1}/t` }] });
    await home.memory.makeFolder(`${home.home}/t`);
    const run = createTestRun({ signal: new AbortController().signal });
    const ends = { source: `${home.home}/d`, target: `${home.home}/t/d`, sourceStorage: 1, targetStorage: 2 };
    const copy = () => runPlacement(home.memory.operation(home.owner), 'copy', { ...ends, conflict: 'refuse' }, run);
    return { ...home, run, copy };
  }

  it('holds for what the task of a copy finds when it opens a file, and counts what it wrote', async () => {
    const { home, memory, upload, run, copy } = await openCopy();
    await upload('d/f', 'x'.repeat(10));
    run.onCheckpoint(async () => {
      if (run.checkpoints() === 1) await upload('d/f', 'x'.repeat(60));
    });
    expect(await refusalOf(copy())).toEqual(FULL(100));
    expect(await bytesIn(memory, home)).toBe(60);
    await memory.put(`${home}/d/f`, 'x'.repeat(20));
    await copy();
    expect(await bytesIn(memory, home)).toBe(40);
  });

  it('holds for a file that a task could not copy, and tries again', async () => {
    const { home, memory, owner, upload, run, copy } = await openCopy();
    await upload('d/a', 'x'.repeat(30));
    await upload('d/b', 'x'.repeat(10));
    await memory.put(`${home}/t/d/a`, '');
    expect((await refusalOf(copy()))[0]).toBe('ENTRY_EXISTS');
    await upload('other', 'x'.repeat(45));
    await removeEntries(memory.operation(owner), { dir: '/t/d', names: ['a'] });
    expect((await refusalOf(copy()))[0]).toBe('QUOTA_EXCEEDED');
    expect(await bytesIn(memory, home)).toBe(95);
    expect(run.checkpoints()).toBeGreaterThan(0);
  });

  it('counts what a move by copying left in both places', async () => {
    const driver = createTestDriver('Copying', ['rename', 'copy']);
    const { home, memory, owner, upload } = await openHome(100, { drivers: [driver.definition], storages: [{ driver: 'Copying' }] });
    await upload('d/f', 'x'.repeat(40));
    await upload('d/full', 'x'.repeat(10));
    driver.failWrites((path) => path.endsWith('/e/full'));
    expect((await refusalOf(renameEntry(memory.operation(owner), { path: '/d', name: 'e', overwrite: false })))[0]).toBe('QUOTA_EXCEEDED');
    expect(await bytesIn(memory, home)).toBe(90);
    expect(await refusalOf(upload('more', 'x'.repeat(11)))).toEqual(FULL(100));
  });

  it('is nobody’s who has none', async () => {
    const { memory, home } = await openHome(10);
    const begun = await beginUpload(memory.operation(actor({ id: 8, basePath: vpath(home) })), {
      ...{ path: '/f', overwrite: true, password: '', sizeBytes: 100, modifiedAt: undefined, expectedHashes: {} },
    });
    await begun.store(bytesOf('x'.repeat(100)));
  });
});

it('all quotas are read again when one was changed, and after ten minutes', async () => {
  let nowMs = 0;
  const quotas = createKeptQuotas(models, () => nowMs);
  const write = (bytes: number) =>
    models.users.replaceOne(
      { _id: 77 },
      { _id: 77, username: 'kept', username_key: 'kept', base_path: '/', role: 0, quota_bytes: bytes },
      { upsert: true },
    );
  await write(100);
  expect((await quotas.read()).get(77)?.bytes).toBe(100);
  await write(200);
  expect((await quotas.read()).get(77)?.bytes).toBe(100);
  await raiseCounter(models.authCounters, QUOTAS);
  expect((await quotas.read()).get(77)?.bytes).toBe(200);
  await write(300);
  nowMs += 600_000;
  expect((await quotas.read()).get(77)?.bytes).toBe(300);
});
