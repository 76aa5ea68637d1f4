import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, runCommand, type TempDir, waitFor } from '@wharf/harness';
import { currentOwner, newOwnedName, type ProcessOwner } from '@wharf/owned-names';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytesOf, textOf } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { openUploadArea } from '../src/tasks/upload-area.ts';

const MIB = 1024 * 1024;
let dir: TempDir;
let folder: string;

beforeEach(async () => {
  dir = await makeTempDir('upload-area');
  folder = join(dir.path, 'uploads');
});
afterEach(() => dir.remove());

const promise = (sizeBytes?: number, userId = 1) => ({ userId, sizeBytes, expectedHashes: {}, signal: new AbortController().signal });
const kept = async () => (await readdir(folder)).filter((name) => name !== 'id');

it('a folder keeps its id, and a body until it is removed', async () => {
  const area = openUploadArea(folder, MIB);
  const { file, sizeBytes } = await area.receive(bytesOf('body'), promise(4));
  expect(sizeBytes).toBe(4);
  const again = openUploadArea(folder, MIB);
  expect(again.id).toBe(area.id);
  const content = await again.read(file);
  expect(content && (await textOf(content))).toBe('body');
  await again.remove(file);
  await again.remove(file);
  expect(await again.read(file)).toBeUndefined();
  expect(await kept()).toEqual([]);
});

it('what has no room is refused before its first byte where its size is known, else at the first byte too many, and leaves nothing', async () => {
  const area = openUploadArea(folder, MIB);
  let isAsked = false;
  const watched = async function* () {
    isAsked = true;
    yield* bytesOf('x');
  };
  expect((await refusalOf(area.receive(watched(), promise(MIB + 1))))[0]).toBe('QUOTA_EXCEEDED');
  expect(isAsked).toBe(false);
  expect((await refusalOf(area.receive(bytesOf('x'.repeat(MIB + 1)), promise())))[0]).toBe('QUOTA_EXCEEDED');
  expect(await kept()).toEqual([]);
  for (const userId of [1, 2]) await area.receive(bytesOf('x'.repeat(MIB / 2)), promise(MIB / 2, userId));
  expect((await refusalOf(area.receive(bytesOf('y'), promise(1, 3))))[0]).toBe('QUOTA_EXCEEDED');
});

it('C17: one user leaves a quarter of the room for others, and has it again when a body is gone', async () => {
  const area = openUploadArea(folder, 1_000);
  const receive = (bytes: number, userId: number) => area.receive(bytesOf('x'.repeat(bytes)), promise(bytes, userId));
  const ownShare = ['QUOTA_EXCEEDED', expect.stringContaining('your uploads that wait may have 750 bytes in all')];
  const noRoom = ['QUOTA_EXCEEDED', expect.stringContaining('there is no room for uploads that wait')];
  const { file } = await receive(700, 1);
  expect(await refusalOf(receive(51, 1))).toEqual(ownShare);
  expect(await refusalOf(area.receive(bytesOf('x'.repeat(51)), promise(undefined, 1)))).toEqual(ownShare);
  await receive(50, 1);
  expect(await refusalOf(receive(1, 1))).toEqual(ownShare);
  await receive(250, 2);
  expect(await refusalOf(receive(1, 3))).toEqual(noRoom);
  await area.remove(file);
  await receive(700, 1);
});

it('C17: of several announced at once none is overlooked', async () => {
  const area = openUploadArea(folder, 1_000);
  const taken = async (userOf: (index: number) => number) => {
    const all = Array.from({ length: 8 }, (_, index) => area.receive(bytesOf('x'.repeat(300)), promise(300, userOf(index))));
    const files = (await Promise.allSettled(all)).flatMap((each) => (each.status === 'fulfilled' ? [each.value.file] : []));
    for (const file of files) await area.remove(file);
    return files.length;
  };
  expect(await taken(() => 1)).toBe(2);
  expect(await taken((index) => index)).toBe(3);
  expect(await taken(() => 1)).toBe(2);
});

it('what a sweep finds of others takes room, and is nobody’s', async () => {
  const area = openUploadArea(folder, 1_000);
  await writeFile(join(folder, newOwnedName({ ...currentOwner(), host: '0123456789ab' })), 'x'.repeat(300));
  await area.sweep(async () => new Set());
  await area.receive(bytesOf('x'.repeat(700)), promise(700));
  expect((await refusalOf(area.receive(bytesOf('y'), promise(1, 2))))[0]).toBe('QUOTA_EXCEEDED');
});

it('what the disk has no room for is claimed by nobody', async () => {
  const area = openUploadArea(folder, 2 ** 61);
  const refused = () => refusalOf(area.receive(bytesOf('x'), promise(2 ** 60)));
  const first = await refused();
  expect(first[0]).toBe('QUOTA_EXCEEDED');
  expect(await refused()).toEqual(first);
});

it('a body that is not what was promised leaves nothing', async () => {
  const area = openUploadArea(folder, MIB);
  expect((await refusalOf(area.receive(bytesOf('body'), promise(5))))[0]).toBe('INVALID_ARGUMENT');
  const wrong = { ...promise(4), expectedHashes: { md5: '0'.repeat(32) } };
  expect((await refusalOf(area.receive(bytesOf('body'), wrong)))[0]).toBe('CONTENT_CORRUPT');
  expect(await kept()).toEqual([]);
});

it.runIf(process.platform === 'linux')('a body whose last piece the disk takes in part is refused, and leaves nothing', async () => {
  const area = openUploadArea(folder, 4 * MIB);
  await area.receive(bytesOf('x'), promise(1));
  const program = `
    import { openUploadArea } from ${JSON.stringify(new URL('../src/tasks/upload-area.ts', import.meta.url).href)};
    const area = openUploadArea(${JSON.stringify(folder)}, ${4 * MIB});
    const content = (async function* () {
      for (let piece = 0; piece < 2; piece += 1) yield Buffer.alloc(600_000, 'x');
    })();
    const promise = { userId: 1, sizeBytes: 1_200_000, expectedHashes: {}, signal: new AbortController().signal };
    await area.receive(content, promise).then(
      ({ sizeBytes }) => console.log('taken', sizeBytes),
      ({ code }) => console.log('refused', code),
    );`;
  // A limit on the size of files ends a write as a full disk does: the first one that goes beyond takes what fits.
  const limited = ['-c', `trap '' XFSZ; ulimit -f 2048; exec "$0" --input-type=module -e "$1"`, process.execPath, program];
  const { stdout, stderr } = await runCommand('/bin/sh', limited);
  expect(stdout.trim(), stderr).toBe('refused QUOTA_EXCEEDED');
  expect(await kept()).toHaveLength(1);
});

it('a sweep removes what no task names, unless somebody may be about to name it', async () => {
  const area = openUploadArea(folder, MIB);
  const long = new Date(Date.now() - 2 * 3_600_000);
  for (const name of ['named', 'old', 'new', 'cut-off.part']) {
    await writeFile(join(folder, name), name);
    if (name !== 'new') await utimes(join(folder, name), long, long);
  }
  const mine = currentOwner();
  const owned = (owner: Partial<ProcessOwner>) => newOwnedName({ ...mine, ...owner });
  const [own, ended, endedNamed, elsewhere] = [
    owned({}),
    owned({ start: '0123456789ab' }),
    owned({ start: '0123456789ab' }),
    owned({ host: '0123456789ab' }),
  ];
  for (const name of [own, ended, `${ended}.part`, endedNamed, elsewhere]) await writeFile(join(folder, name), name);
  await area.sweep(async () => new Set(['named', endedNamed]));
  expect((await kept()).sort()).toEqual(['named', 'new', own, endedNamed, elsewhere].sort());
});

it('a sweep forgets neither what was announced and has not come, nor what came meanwhile', async () => {
  const area = openUploadArea(folder, 1_080);
  const end = Promise.withResolvers<void>();
  const slow = (async function* () {
    yield Buffer.alloc(300);
    await end.promise;
    yield Buffer.alloc(500);
  })();
  const waiting = area.receive(slow, promise(800));
  await waitFor('its first bytes', async () => (await kept()).length === 1);
  await area.sweep(async () => new Set());
  const tooMuch = async () => (await refusalOf(area.receive(bytesOf('x'.repeat(300)), promise(300, 2))))[0];
  expect(await tooMuch()).toBe('QUOTA_EXCEEDED');
  end.resolve();
  const { file } = await waiting;
  await area.sweep(async () => new Set([file]));
  expect(await tooMuch()).toBe('QUOTA_EXCEEDED');
  await area.remove(file);
  await area.receive(bytesOf('x'.repeat(300)), promise(300));
});
