import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { seal } from '@wharf/service-kit';
import { postponedMs } from '@wharf/task-engine';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NO_QUOTAS } from '../src/domain/quota/quota.ts';
import { getEntry } from '../src/domain/reading/get-entry.ts';
import { bytesOf, mpath, openTree, vpath } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { without } from '../src/domain/testing/three-storages.ts';
import { aliasDriver } from '../src/drivers/alias/index.ts';
import { createTestRun } from '../src/tasks/testing/test-run.ts';
import { openUploadArea } from '../src/tasks/upload-area.ts';
import { uploadKind } from '../src/tasks/upload-kind.ts';

const KEY = randomBytes(32);

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('upload-kind');
});
afterEach(() => dir.remove());

const kept = async () => (await readdir(join(dir.path, 'uploads'))).filter((name) => name !== 'id');

/** A body that waits for a storage that is full. */
async function openWaiting(overwrite = false) {
  const full = createTestDriver('Full');
  const { operation } = await openTree({ drivers: [full.definition], storages: [{ driver: 'Full' }] });
  let onWrite = () => {};
  full.failWrites(() => {
    onWrite();
    return true;
  });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const opened: Readable[] = [];
  const watched: typeof area = {
    ...area,
    async read(name) {
      const content = await area.read(name);
      if (content) opened.push(content);
      return content;
    },
  };
  const kind = uploadKind(watched, async () => operation(), KEY);
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite, hashes: {} });
  const attempts = createTestRun({ signal });
  const storage = full.storeOf();
  return {
    opened,
    storage,
    run: () => kind.run(attempts.begin(input)),
    loseInBetween() {
      onWrite = attempts.lose;
    },
  };
}

it('C17: an upload that failed because there is no room does not keep its body', async () => {
  const { run } = await openWaiting();
  expect((await refusalOf(run()))[0]).toBe('QUOTA_EXCEEDED');
  expect(await kept()).toEqual([]);
});

it('a body that its storage refuses before the first byte is closed', async () => {
  const { run, opened } = await openWaiting();
  expect((await refusalOf(run()))[0]).toBe('QUOTA_EXCEEDED');
  expect(opened).toHaveLength(1);
  await expect.poll(() => opened.map(({ closed }) => closed)).toEqual([true]);
});

it('an upload that is refused before it is stored gives back the room that was claimed for it', async () => {
  const ended: string[] = [];
  const { operation, put } = await openTree({ quotas: { ...NO_QUOTAS, end: async (_actor, name) => void ended.push(name) } });
  await put('/f', 'old');
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => operation(), KEY);
  const claim = 'the claim';
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {}, claim });
  expect((await refusalOf(kind.run(createTestRun({ signal }).begin(input))))[0]).toBe('ENTRY_EXISTS');
  expect(ended).toEqual([claim]);
});

it('an upload whose file is there keeps what is claimed for it, where the store is away when that is to be settled: a count will tell', async () => {
  const ended: string[] = [];
  const away = () => Promise.reject(new Error('the store does not answer'));
  const hold = async () => ({ bytes: 4, extend: async () => {}, settle: away, release: away, abandon: away, letGo: () => {} });
  const quotas = { ...NO_QUOTAS, hold, end: async (_actor: unknown, name: string) => void ended.push(name) };
  const { operation, textOf } = await openTree({ quotas });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => operation(), KEY);
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {}, claim: 'claim' });
  await expect(kind.run(createTestRun({ signal }).begin(input))).rejects.toThrow('the store does not answer');
  expect([await textOf('/f'), ended]).toEqual(['text', []]);
});

it.each([
  ['is away', 'STORAGE_UNAVAILABLE', 'STORAGE_UNAVAILABLE'],
  // Where it is silent so often nobody asks it any more.
  ['does not answer in time', 'DEADLINE_EXCEEDED', 'STORAGE_UNAVAILABLE'],
  ['has much to do for others', 'OVERLOADED', 'OVERLOADED'],
] as const)('an upload whose storage %s waits for it, half an hour at most', async (_what, code, last) => {
  const away = createTestDriver('Away');
  const open = () => openTree({ drivers: [away.definition], storages: [{ driver: 'Away' }] });
  let tree = await open();
  let isAway = true;
  away.beforeCalls(async () => {
    if (isAway) throw new AppError(code, 'not at this moment');
  });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => tree.operation(), KEY);
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {} });
  const attempts = createTestRun({ signal });
  const attempt = () => kind.run(attempts.begin(input)).then(() => undefined, postponedMs);
  const pausesMs: number[] = [];
  for (let pauseMs = await attempt(); pauseMs !== undefined; pauseMs = await attempt()) pausesMs.push(pauseMs);
  expect(pausesMs.slice(0, 3)).toEqual([1_000, 2_000, 4_000]);
  expect(Math.round(pausesMs.reduce((sum, ms) => sum + ms, 0) / 60_000)).toBe(30);
  expect((await refusalOf(kind.run(attempts.begin(input))))[0]).toBe(last);
  expect(await kept()).toHaveLength(1);
  isAway = false;
  // Where it failed so often it is left alone for a while.
  tree = await open();
  await kind.run(attempts.begin(input));
  expect([await tree.textOf('/f'), await kept()]).toEqual(['text', []]);
});

it('a body that went because there was no room was not stored, also where a file of its size and time has the name', async () => {
  const { run, storage } = await openWaiting(true);
  expect((await refusalOf(run()))[0]).toBe('QUOTA_EXCEEDED');
  await storage.write(mpath('/f'), bytesOf('old!'), { overwrite: true, modifiedAt: new Date(0) });
  expect((await refusalOf(run()))[0]).toBe('FAILED_PRECONDITION');
});

it('a body that was stored is known to be, when whoever stored it died before it said so', async () => {
  const { operation, textOf } = await openTree({});
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const kind = uploadKind(area, async () => operation(), KEY);
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {} });
  const attempts = createTestRun({ signal });
  await kind.run(attempts.begin(input));
  await kind.run(attempts.begin(input));
  expect([await textOf('/f'), await kept()]).toEqual(['text', []]);
});

it.each([
  ['a file was', 'old'],
  ['none was', undefined],
])(
  'what somebody saved after a body was stored stays, however often whoever stored it dies before it said so: where %s',
  async (_what, before) => {
    const dying = createTestDriver('Dying');
    const { operation, put, textOf } = await openTree({ drivers: [dying.definition], storages: [{ driver: 'Dying' }] });
    if (before !== undefined) await put('/f', before);
    const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
    const { signal } = new AbortController();
    const kind = uploadKind(area, async () => operation(), KEY);
    const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
    const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: true, hashes: {} });
    const attempts = createTestRun({ signal });
    let isStored = false;
    dying.delayAnswers(async () => {
      const { sizeBytes: size } = await dying
        .storeOf()
        .stat(mpath('/f'))
        .catch(() => ({ sizeBytes: 0 }));
      if (size === 4 && !isStored) attempts.lose();
      isStored ||= size === 4;
    });
    expect((await refusalOf(kind.run(attempts.begin(input))))[0]).toBe('CANCELLED');
    expect(await textOf('/f')).toBe('text');
    await put('/f', 'edited');
    for (let attempt = 0; attempt < 2; attempt++) {
      expect((await refusalOf(kind.run(attempts.begin(input))))[0]).toBe('ENTRY_EXISTS');
      expect([await textOf('/f'), await kept()]).toEqual(['edited', [file]]);
    }
  },
);

it.each([true, false])(
  'a body that was stored is found by its bytes, whatever date they have, where overwrite is %s',
  async (overwrite) => {
    const dying = createTestDriver('Dying');
    const { operation, put, textOf } = await openTree({ drivers: [dying.definition], storages: [{ driver: 'Dying' }] });
    const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
    const { signal } = new AbortController();
    const kind = uploadKind(area, async () => operation(), KEY);
    const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
    const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 1_000, overwrite, hashes: {} });
    const attempts = createTestRun({ signal });
    dying.delayAnswers(async () => {
      const { sizeBytes: size } = await dying
        .storeOf()
        .stat(mpath('/f'))
        .catch(() => ({ sizeBytes: 0 }));
      if (size === 4) attempts.lose();
    });
    expect((await refusalOf(kind.run(attempts.begin(input))))[0]).toBe('CANCELLED');
    dying.delayAnswers(async () => {});
    await put('/f', 'text');
    await kind.run(attempts.begin(input));
    expect([await textOf('/f'), await kept()]).toEqual(['text', []]);
  },
);

it('of several places of one file all have the new one, where the first attempt failed at the second', async () => {
  const [one, two] = [createTestDriver('One'), createTestDriver('Two')];
  const addition = JSON.stringify({ paths: 'x:/one\nx:/two', put_conflict_policy: 'all', write_conflict_policy: 'all' });
  const { operation, put, textOf } = await openTree({
    drivers: [aliasDriver, one.definition, two.definition],
    storages: [
      { mount_path: '/one', driver: 'One' },
      { mount_path: '/two', driver: 'Two' },
      { mount_path: '/both', driver: 'Alias', addition },
    ],
  });
  await put('/both/f', 'older');
  await put('/two/f', 'older');
  let isAway = true;
  two.failWrites(() => isAway);
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const kind = uploadKind({ ...area, remove: async () => {} }, async () => operation(), KEY);
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const input = kind.encodeInput({ path: '/both/f', storage: 3, file, sizeBytes, modified: 0, overwrite: true, hashes: {} });
  const attempts = createTestRun({ signal });
  expect((await refusalOf(kind.run(attempts.begin(input))))[0]).toBe('QUOTA_EXCEEDED');
  isAway = false;
  await kind.run(attempts.begin(input));
  expect([await textOf('/one/f'), await textOf('/two/f')]).toEqual(['text', 'text']);
});

it('of several places of one file one that was away at the first attempt makes no other file of it', async () => {
  const [one, two] = [createTestDriver('One'), createTestDriver('Two')];
  const addition = JSON.stringify({ paths: 'x:/one\nx:/two', put_conflict_policy: 'all', write_conflict_policy: 'all' });
  const { operation, textOf } = await openTree({
    drivers: [aliasDriver, one.definition, two.definition],
    storages: [
      { mount_path: '/one', driver: 'One' },
      { mount_path: '/two', driver: 'Two' },
      { mount_path: '/both', driver: 'Alias', addition },
    ],
  });
  for (const [at, place] of [one, two].entries())
    await place.storeOf().write(mpath('/f'), bytesOf('older'), { overwrite: true, modifiedAt: new Date(at * 60_000) });
  let isAway = true;
  one.beforeCalls(async () => {
    if (isAway) throw new AppError('STORAGE_UNAVAILABLE', 'the server is away');
  });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const kind = uploadKind(area, async () => operation(), KEY);
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const input = kind.encodeInput({ path: '/both/f', storage: 3, file, sizeBytes, modified: 0, overwrite: true, hashes: {} });
  const attempts = createTestRun({ signal });
  expect(await kind.run(attempts.begin(input)).catch(postponedMs)).toBe(1_000);
  isAway = false;
  await kind.run(attempts.begin(input));
  expect([await textOf('/one/f'), await textOf('/two/f')]).toEqual(['text', 'text']);
});

it('an upload that was handed over often is waited for as long as another', async () => {
  const away = createTestDriver('Away');
  const { operation } = await openTree({ drivers: [away.definition], storages: [{ driver: 'Away' }] });
  away.beforeCalls(async () => {
    throw new AppError('STORAGE_UNAVAILABLE', 'the server is away');
  });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => operation(), KEY);
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {} });
  const attempts = createTestRun({ signal });
  for (let handed = 0; handed < 100; handed++) attempts.begin(input);
  expect(await kind.run(attempts.begin(input)).catch(postponedMs)).toBe(1_000);
});

it('whoever has lost the task leaves the body to the one who has it', async () => {
  const { run, loseInBetween } = await openWaiting();
  loseInBetween();
  expect((await refusalOf(run()))[0]).toBe('CANCELLED');
  expect(await kept()).toHaveLength(1);
});

it('whoever takes over stores the body where the file that it replaces has the same size and time', async () => {
  const { operation, put, textOf, snapshot } = await openTree({});
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const kind = uploadKind(area, async () => operation(), KEY);
  const uploadAgain = async (text: string) => {
    const { file, sizeBytes } = await area.receive(bytesOf(text), { userId: 1, sizeBytes: text.length, expectedHashes: {}, signal });
    const { modifiedAt } = await getEntry(snapshot, vpath('/f'), { signal }).then(({ entry }) => entry);
    const input = { path: '/f', storage: 1, file, sizeBytes, modified: modifiedAt.getTime(), overwrite: true, hashes: {} };
    const attempts = createTestRun({ signal });
    // The first attempt died before it did anything.
    attempts.begin(kind.encodeInput(input));
    await kind.run(attempts.begin(kind.encodeInput(input)));
    expect(await kept()).toEqual([]);
    return { text: await textOf('/f'), modifiedAt };
  };
  await put('/f', 'old!');
  expect(await uploadAgain('new!')).toMatchObject({ text: 'new!' });
  expect(await uploadAgain('new!')).toMatchObject({ text: 'new!' });
});

it.each([
  ['has a password since', { hadPassword: false }, 'PERMISSION_DENIED', 'old!'],
  ['has another password by then', { hadPassword: true, password: seal(KEY, 'former') }, 'PERMISSION_DENIED', 'old!'],
  ['has the password that was given', { hadPassword: true, password: seal(KEY, 'pw') }, 'done', 'text'],
  ['had a password, which an earlier version was given', { hadPassword: true }, 'done', 'text'],
] as const)('C8: an upload that waited is held against the password of then: a file that %s', async (_what, given, outcome, content) => {
  const tree = await openTree({ rules: [{ path: '/f', password: 'pw' }] });
  await tree.put('/f', 'old!');
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { userId: 1, sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => tree.operation(without('access_without_password')), KEY);
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: true, hashes: {}, ...given });
  const run = kind.run(createTestRun({ signal }).begin(input)).then(
    () => 'done',
    (error: unknown) => AppError.from(error).code,
  );
  expect([await run, await tree.textOf('/f')]).toEqual([outcome, content]);
});
