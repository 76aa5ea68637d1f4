import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { createRecordRoom, createReserveKeeper, type KeepReserve, mayKeep } from '../src/fetch/disk-reserve.ts';
import { createScratch, newScratchId } from '../src/fetch/scratch.ts';
import { makeDisk, mounts } from './small-disk.ts';

const MIB = 1024 * 1024;
it.runIf(mounts)(
  'of those that fill a disk which is shared as many are given up as take of the reserve, others and elsewhere none',
  async () => {
    const { own, filled } = await makeDisk();
    const [beside, alone, apart] = [own, undefined, join(own, 'none')].map((each) => createReserveKeeper(filled, each)) as [
      KeepReserve,
      KeepReserve,
      KeepReserve,
    ];
    const given: string[] = [];
    const files = ['one', 'two', 'three'];
    const keep = (keepReserve: KeepReserve) =>
      Promise.all(
        files.map((name) =>
          keepReserve(async () => {
            given.push(name);
            await rm(join(filled, name));
          }).then(
            () => 'goes on',
            ({ code }) => code,
          ),
        ),
      );
    for (const name of files.slice(0, 2)) await writeFile(join(filled, name), Buffer.alloc(13 * MIB, 1));
    expect(await keep(beside)).toEqual(['goes on', 'goes on', 'goes on']);
    await writeFile(join(filled, 'three'), Buffer.alloc(13 * MIB, 1));
    for (const each of [alone, apart]) expect(await keep(each)).toEqual(['goes on', 'goes on', 'goes on']);
    // Which of them it is, is the disk's to say: whose look comes first.
    const outcomes = await keep(beside);
    expect(outcomes.filter((outcome) => outcome === 'goes on')).toHaveLength(2);
    expect(given).toEqual(files.filter((_, index) => outcomes[index] === 'QUOTA_EXCEEDED'));
    expect(await readdir(filled)).toEqual(files.filter((name) => !given.includes(name)).sort());
  },
);

it.runIf(mounts)('nobody else is given up until the room of the last one may be free', async () => {
  const { own, filled } = await makeDisk();
  let nowMs = 0;
  const keepReserve = createReserveKeeper(filled, own, () => nowMs);
  const ask = (tookMs: number) =>
    keepReserve(async () => {
      nowMs += tookMs;
    }).then(
      () => 'goes on',
      ({ code }) => code,
    );
  await writeFile(join(filled, 'one'), Buffer.alloc(39 * MIB, 1));
  expect(await ask(5_000)).toBe('QUOTA_EXCEEDED');
  nowMs += 1_500;
  expect(await ask(0)).toBe('goes on');
  nowMs += 500;
  expect(await ask(0)).toBe('QUOTA_EXCEEDED');
});

it.runIf(mounts)('what fills the disk with files that hold nothing is given up', async () => {
  const { own, filled } = await makeDisk(200);
  const keepReserve = createReserveKeeper(filled, own);
  const given: string[] = [];
  const keep = () => keepReserve(async () => void given.push('files'));
  await keep();
  for (let index = 0; index < 192; index += 1) await writeFile(join(filled, String(index)), '');
  await expect(keep()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  expect(given).toEqual(['files']);
});

it.runIf(mounts)('what is of no more use stays while a quarter of the disk is free, of bytes and of files', async () => {
  const { own, filled } = await makeDisk(400);
  expect(await mayKeep(filled)).toBe(true);
  await writeFile(join(filled, 'one'), Buffer.alloc(29 * MIB, 1));
  expect(await mayKeep(filled)).toBe(true);
  await writeFile(join(filled, 'two'), Buffer.alloc(2 * MIB, 1));
  expect(await mayKeep(filled)).toBe(false);
  await rm(join(filled, 'one'));
  for (let index = 0; index < 300; index += 1) await writeFile(join(own, String(index)), '');
  expect(await mayKeep(filled)).toBe(false);
});

it.runIf(mounts)('what the store is to keep of tasks leaves it, however many come at the same time', async () => {
  const { own, filled } = await makeDisk();
  const hold = createRecordRoom(own) ?? expect.fail();
  await writeFile(join(filled, 'one'), Buffer.alloc(30 * MIB, 1));
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => hold(5 * MIB)));
  const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(held).toHaveLength(1);
  for (const letGo of held) letGo();
  (await hold(5 * MIB))();
  expect(createRecordRoom(undefined)).toBeUndefined();
});

it('where the folder named is missing there is nothing to leave room for', async () => {
  const dir = await makeTempDir('disk-reserve');
  onTestFinished(() => dir.remove());
  await createReserveKeeper(dir.path, join(dir.path, 'missing'))(() => Promise.reject(new Error('given up')));
  const scratch = createScratch({
    dir: join(dir.path, 'scratch'),
    beside: join(dir.path, 'missing'),
    maxBytes: 0,
    onFreed: () => undefined,
  });
  await (await scratch.begin(newScratchId(1))).remove();
  (await createRecordRoom(join(dir.path, 'missing'))?.(1))?.();
});

it.runIf(mounts)('files that wait leave it too', async () => {
  const { own, filled } = await makeDisk();
  const scratch = createScratch({ dir: filled, beside: own, maxBytes: 0, onFreed: () => undefined });
  await (await scratch.begin(newScratchId(30 * MIB))).remove();
  await expect(scratch.begin(newScratchId(39 * MIB))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
});
