import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, readlink, stat, statfs, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { lendPieces, makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createScratch, missingRoom, newScratchId } from '../src/fetch/scratch.ts';

const MB = 1_000_000;
let dir: TempDir;
let freed = 0;
beforeEach(async () => {
  dir = await makeTempDir('scratch');
  freed = 0;
});
afterEach(() => dir.remove());

/** As another process would: nothing is shared but the folder. */
const onFreed = () => {
  freed += 1;
};
const open = (maxBytes = 10 * MB) => createScratch({ dir: dir.path, maxBytes, onFreed });
const errorOf = (answer: Promise<unknown>) => answer.then(() => Promise.reject(new Error('no error')), AppError.from);
const never = new AbortController().signal;
const bytes = async function* (count: number) {
  yield Buffer.alloc(count);
};

it('room is promised to files that are begun, before their bytes come', async () => {
  const scratch = open();
  const file = await scratch.begin(newScratchId(7 * MB));
  const error = await errorOf(scratch.begin(newScratchId(4 * MB)));
  expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED', message: 'needs 4 MB, 3 MB free in the scratch folder' });
  expect(missingRoom(error)).toBe(4 * MB);
  await scratch.requireRoom(3 * MB);
  expect(freed).toBe(0);
  await file.remove();
  await file.remove();
  expect(freed).toBe(1);
  await (await scratch.begin(newScratchId(4 * MB))).remove();
});

it('what will never fit is told apart from what has to wait', async () => {
  const error = await errorOf(open().begin(newScratchId(12 * MB)));
  expect(error.message).toBe('needs 12 MB, the scratch folder has room for 10 MB at most');
  expect(missingRoom(error)).toBeUndefined();
  expect(missingRoom(await errorOf(open(0).begin(newScratchId(Number.MAX_SAFE_INTEGER))))).toBeUndefined();
});

it('one user leaves others a quarter of the room, however many files that is, and whatever their sizes were said to be (C17)', async () => {
  const scratch = open();
  const [one, other] = [1, 2];
  expect((await errorOf(scratch.begin(newScratchId(8 * MB, one)))).message).toBe(
    'needs 8 MB, the scratch folder has room for 7.5 MB at most',
  );
  const file = await scratch.begin(newScratchId(5 * MB, one));
  const unsized = await scratch.begin(newScratchId(0, one));
  await unsized.sink.write(0, bytes(2 * MB), never);
  const error = await errorOf(open().begin(newScratchId(MB, one)));
  expect(error.message).toBe('needs 1 MB, 500 KB free in the scratch folder');
  expect(missingRoom(error)).toBe(MB);
  expect(missingRoom(await errorOf(scratch.requireRoom(MB, one)))).toBe(MB);
  await scratch.requireRoom(MB, other);
  expect(await errorOf(unsized.sink.write(2 * MB, bytes(MB), never))).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  const others = await open().begin(newScratchId(2.5 * MB, other));
  for (const each of [file, unsized, others]) await each.remove();
  await (await scratch.begin(newScratchId(7 * MB, one))).remove();
});

it('what one user keeps counts as theirs, and of many files some are kept (C17)', async () => {
  const keep = async (sizeBytes: number, userId: number) => {
    const file = await open().begin(newScratchId(sizeBytes, userId));
    await file.sink.write(0, bytes(sizeBytes), never);
    await file.keep();
  };
  const [one, other] = [1, 2];
  for (let megabytes = 0; megabytes < 7; megabytes += 1) await keep(MB, one);
  expect((await errorOf(open().begin(newScratchId(MB, one)))).message).toBe('needs 1 MB, the scratch folder has room for 500 KB at most');
  await (await open().begin(newScratchId(2.25 * MB, other))).remove();
  for (let count = 7; count < 1_000; count += 1) await writeFile(join(dir.path, `${newScratchId(0, one)}.kept`), '');
  freed = 0;
  await keep(1, one);
  expect(freed).toBe(1);
  await keep(1, other);
  expect(await readdir(dir.path)).toHaveLength(1_001);
});

it('promises hold for every process that shares the folder, and outlive the one that made them', async () => {
  const id = await open()
    .begin(newScratchId(8 * MB))
    .then(async (file) => {
      await file.close();
      return file.id;
    });
  expect((await errorOf(open().begin(newScratchId(3 * MB)))).message).toBe('needs 3 MB, 2 MB free in the scratch folder');
  const again = await open().resume(id);
  await again?.sink.write(0, bytes(8 * MB), never);
  expect((await errorOf(open().begin(newScratchId(3 * MB)))).message).toBe('needs 3 MB, 2 MB free in the scratch folder');
  await again?.remove();
  expect(await readdir(dir.path)).toEqual([]);
});

it('pieces that are lent are in the file as they were', async () => {
  const content = randomBytes(3_000_000);
  const file = await open().begin(newScratchId(content.byteLength));
  const sizes = [10, 200_000, 65_536];
  await file.sink.write(1_000_000, lendPieces(content.subarray(1_000_000), sizes), never);
  await file.sink.write(0, lendPieces(content.subarray(0, 1_000_000), sizes), never);
  expect((await buffer(file.read())).equals(content)).toBe(true);
  await file.remove();
});

it('of several that begin at once as many are let in as fit', async () => {
  const scratch = open();
  const begun = await Promise.allSettled([4, 4, 4, 4].map((size) => scratch.begin(newScratchId(size * MB))));
  expect(begun.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
  expect(await readdir(dir.path)).toHaveLength(2);
  for (const one of begun) if (one.status === 'fulfilled') await one.value.close();
});

it('a file that nobody said the size of is stopped at the bound, and asks for more than it came to', async () => {
  const scratch = open();
  const other = await scratch.begin(newScratchId(6 * MB));
  const file = await scratch.begin(newScratchId());
  await file.sink.write(0, bytes(3 * MB), never);
  const error = await errorOf(file.sink.write(3 * MB, bytes(2 * MB), never));
  expect(error.message).toBe('needs 10 MB, 4 MB free in the scratch folder');
  expect(missingRoom(error)).toBe(10 * MB);
  await other.remove();
  await file.sink.write(3 * MB, bytes(2 * MB), never);
  const tooBig = await errorOf(file.sink.write(5 * MB, bytes(6 * MB), never));
  expect(tooBig.message).toBe('needs 11 MB, the scratch folder has room for 10 MB at most');
  expect(missingRoom(tooBig)).toBeUndefined();
  await file.remove();
});

it('what is kept takes room for ever, what was abandoned only for a while', async () => {
  const scratch = open();
  const kept = await scratch.begin(newScratchId(6 * MB));
  await kept.sink.write(0, bytes(6 * MB), never);
  await kept.keep();
  const lost = await scratch.begin(newScratchId(3 * MB));
  await lost.close();
  const longAgo = new Date(Date.now() - 3 * 86_400_000);
  for (const name of await readdir(dir.path)) await utimes(join(dir.path, name), longAgo, longAgo);
  await scratch.requireRoom(4 * MB);
  const error = await errorOf(scratch.begin(newScratchId(5 * MB)));
  expect(error.message).toBe('needs 5 MB, the scratch folder has room for 4 MB at most');
  expect(missingRoom(error)).toBeUndefined();
  expect(await readdir(dir.path)).toEqual([`${kept.id}.kept`]);
});

describe('beside what is kept', () => {
  const keep = async (megabytes: number) => {
    const kept = await open().begin(newScratchId(megabytes * MB));
    await kept.sink.write(0, bytes(megabytes * MB), never);
    await kept.keep();
  };

  it('a file that nobody said the size of waits for what can become free, and is begun when it is', async () => {
    const scratch = open();
    await keep(3);
    const other = await scratch.begin(newScratchId(2 * MB));
    const file = await scratch.begin(newScratchId());
    await file.sink.write(0, bytes(4 * MB), never);
    const error = await errorOf(file.sink.write(4 * MB, bytes(1.5 * MB), never));
    expect(error.message).toBe('needs 7 MB, 5 MB free in the scratch folder');
    await file.remove();
    await expect(scratch.requireRoom(missingRoom(error) ?? 0)).rejects.toThrowError('needs 7 MB, 5 MB free in the scratch folder');
    await other.remove();
    await scratch.requireRoom(missingRoom(error) ?? 0);
    const again = await scratch.begin(newScratchId());
    await again.sink.write(0, bytes(5.5 * MB), never);
    await again.remove();
  });

  it('a guess from when less was kept is not held against a file', async () => {
    const scratch = open();
    const other = await scratch.begin(newScratchId(1 * MB));
    await keep(3);
    expect(missingRoom(await errorOf(scratch.requireRoom(9 * MB)))).toBe(9 * MB);
    await other.remove();
    await scratch.requireRoom(9 * MB);
  });
});

it('what others have on the disk is not waited for', async () => {
  const { blocks, bsize } = await statfs(dir.path);
  expect(missingRoom(await errorOf(open(0).begin(newScratchId(blocks * bsize))))).toBeUndefined();
});

describe('a folder where everybody may make some', () => {
  const among = () => createScratch({ dir: join(dir.path, 'scratch'), isAmongOthers: true, maxBytes: 0, onFreed });
  const refused = { code: 'FAILED_PRECONDITION', message: expect.stringContaining('belongs to somebody else') };

  it('is ours alone, also where we had made it for all', async () => {
    await mkdir(join(dir.path, 'scratch'));
    await chmod(join(dir.path, 'scratch'), 0o777);
    await (await among().begin(newScratchId())).remove();
    expect((await stat(join(dir.path, 'scratch'))).mode & 0o777).toBe(0o700);
  });

  it('is none where a link is', async () => {
    await mkdir(join(dir.path, 'theirs'));
    await symlink(join(dir.path, 'theirs'), join(dir.path, 'scratch'));
    expect(await errorOf(among().begin(newScratchId()))).toMatchObject(refused);
    expect(await errorOf(among().resume(newScratchId()))).toMatchObject(refused);
    expect(await readdir(join(dir.path, 'theirs'))).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)('is none that somebody else made', async () => {
    await mkdir(join(dir.path, 'scratch'));
    await chown(join(dir.path, 'scratch'), 54_321, 54_321);
    expect(await errorOf(among().begin(newScratchId()))).toMatchObject(refused);
    expect(await errorOf(among().resume(newScratchId()))).toMatchObject(refused);
  });
});

it('a link in the place of a file is not followed', async () => {
  const other = join(dir.path, 'other');
  await writeFile(other, 'ours');
  const id = newScratchId(4);
  await symlink(other, join(dir.path, id));
  const file = await open().resume(id);
  await file?.sink.write(0, bytes(4), never);
  expect(file).toBeUndefined();
  expect(await readFile(other, 'utf8')).toBe('ours');
});

it('the disk of what we keep is not filled up', async () => {
  const { bavail, bsize } = await statfs(dir.path);
  const almostAll = () => newScratchId(bavail * bsize - 128 * 1024 * 1024);
  await (await open(0).begin(almostAll())).remove();
  const beside = createScratch({ dir: dir.path, beside: dir.path, maxBytes: 0, onFreed });
  expect(await errorOf(beside.begin(almostAll()))).toMatchObject({ code: 'QUOTA_EXCEEDED' });
});

/** Files of the folder that this process has open, also such as have no name any more. */
async function heldHere(): Promise<string[]> {
  const handles = await readdir('/proc/self/fd');
  const held = await Promise.all(handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => '')));
  return held.filter((place) => place.startsWith(dir.path));
}

it.skipIf(process.platform !== 'linux')('a file of which nobody asks for a byte, as its storage is away, is not held open', async () => {
  const file = await open().begin(newScratchId(MB));
  await file.sink.write(0, bytes(MB), never);
  const unread = file.read();
  await readFile(join(dir.path, file.id));
  await file.remove();
  expect(await heldHere()).toEqual([]);
  expect(unread).toBeDefined();
});

it.skipIf(process.platform !== 'linux')('a file that is read in part alone is closed then', async () => {
  const file = await open().begin(newScratchId(3 * MB));
  await file.sink.write(0, bytes(3 * MB), never);
  await expect(
    (async () => {
      for await (const piece of file.read()) throw new Error(`stopped with ${piece.byteLength}`);
    })(),
  ).rejects.toThrow('stopped with 1048576');
  await file.remove();
  await vi.waitFor(async () => expect(await heldHere()).toEqual([]));
});
