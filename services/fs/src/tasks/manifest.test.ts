import { AppError } from '@wharf/errors';
import type { TaskChunks } from '@wharf/task-engine';
import { expect, it } from 'vitest';
import { type Extent, type ManifestEntry, openManifest } from './manifest.ts';

type Chunk = { entries: ManifestEntry[] };

function chunksInMemory() {
  const kept = new Map<number, string>();
  const chunks: TaskChunks<Chunk> = {
    read: async (index) => {
      const text = kept.get(index);
      return text === undefined ? undefined : JSON.parse(text);
    },
    write: async (index, chunk) => void kept.set(index, JSON.stringify(chunk)),
    clear: async () => kept.clear(),
  };
  return { chunks, kept };
}

const entry = (index: number): ManifestEntry => ({ path: `/folder \u0001/file ${index}`, kind: 'file', size: index, modified: index });

async function everything(chunks: TaskChunks<Chunk>, extent: Extent): Promise<ManifestEntry[]> {
  const manifest = await openManifest(chunks, extent);
  const entries: ManifestEntry[] = [];
  for (let chunk = 0; ; chunk += 1) {
    const read = await manifest.read(chunk);
    if (!read) return entries;
    entries.push(...read);
  }
}

it('entries come back in their order, in chunks that one document holds', async () => {
  const { chunks, kept } = chunksInMemory();
  const manifest = await openManifest(chunks, { chunks: 0, lastEntries: 0 });
  for (let index = 0; index < 20_000; index += 1) await manifest.append(entry(index));
  const extent = await manifest.save();
  expect(extent.chunks).toBe(kept.size);
  for (const text of kept.values()) expect(Buffer.byteLength(text)).toBeLessThan(512 * 1024);
  expect(await everything(chunks, extent)).toEqual(Array.from({ length: 20_000 }, (_, index) => entry(index)));
});

it('what was written after the extent that counts is not there, and is written over', async () => {
  const { chunks } = chunksInMemory();
  const first = await openManifest(chunks, { chunks: 0, lastEntries: 0 });
  for (let index = 0; index < 3_000; index += 1) await first.append(entry(index));
  const extent = await first.save();
  for (let index = 0; index < 3_000; index += 1) await first.append(entry(-1 - index));
  await first.save();
  const second = await openManifest(chunks, extent);
  for (let index = 3_000; index < 6_000; index += 1) await second.append(entry(index));
  expect(await everything(chunks, await second.save())).toEqual(Array.from({ length: 6_000 }, (_, index) => entry(index)));
});

it('changes of entries in any chunk are kept, also those that come while it is written', async () => {
  const { chunks } = chunksInMemory();
  const manifest = await openManifest(chunks, { chunks: 0, lastEntries: 0 });
  for (let index = 0; index < 5_000; index += 1) await manifest.append(entry(index));
  const extent = await manifest.save();
  const change = async (chunk: number, index: number) => {
    const changed = (await manifest.read(chunk))?.[index];
    if (!changed) throw new Error('there is no such entry');
    changed.left = true;
    manifest.changed(chunk);
  };
  await change(0, 1);
  const saving = manifest.save();
  await change(0, 2);
  await saving;
  await change(1, 3);
  await change((extent.chunks ?? 0) - 1, 0);
  await manifest.save();
  const left = (await everything(chunks, extent)).filter((each) => each.left).map(({ size }) => size);
  expect(left).toHaveLength(4);
  expect(left.slice(0, 2)).toEqual([1, 2]);
});

it('a few entries are in the extent itself, and in a chunk once there are many', async () => {
  const { chunks, kept } = chunksInMemory();
  const first = await openManifest(chunks, { chunks: 0, lastEntries: 0 });
  await first.append(entry(0));
  const few = JSON.parse(JSON.stringify(await first.save()));
  expect([kept.size, few]).toEqual([0, { lastEntries: 1, entries: [entry(0)] }]);
  const second = await openManifest(chunks, few);
  const [changed] = (await second.read(0)) ?? [];
  if (!changed) throw new Error('there is no entry');
  changed.left = true;
  second.changed(0);
  expect((await second.save()).entries).toEqual([{ ...entry(0), left: true }]);
  for (let index = 1; index < 100; index += 1) await second.append(entry(index));
  const many = JSON.parse(JSON.stringify(await second.save()));
  expect([kept.size, many]).toEqual([1, { lastEntries: 100, chunks: 1 }]);
  const all = Array.from({ length: 100 }, (_, index) => ({ ...entry(index), ...(index === 0 ? { left: true } : {}) }));
  expect(await everything(chunks, many)).toEqual(all);
});

it('asks for room for every chunk that it writes, and for none that lies in the checkpoint', async () => {
  const taken: number[] = [];
  for (const [entries, expected] of [
    [5, 0],
    [1_000, 1],
    [3_000, 2],
  ] as const) {
    const { chunks, kept } = chunksInMemory();
    taken.length = 0;
    const manifest = await openManifest(chunks, { chunks: 0, lastEntries: 0 }, async (bytes) => void taken.push(bytes));
    for (let index = 0; index < entries; index += 1) await manifest.append(entry(index));
    await manifest.save();
    expect([kept.size, taken.length]).toEqual([expected, expected]);
  }
});

it('grows as long as there is room where the store may be, and what is noted on it needs none', async () => {
  const { chunks, kept } = chunksInMemory();
  let room = 400 * 1024;
  const takeRoom = async (bytes: number) => {
    if (bytes > room) throw new AppError('QUOTA_EXCEEDED', 'no room');
    room -= bytes;
  };
  const manifest = await openManifest(chunks, { chunks: 0, lastEntries: 0 }, takeRoom);
  const grow = async () => {
    for (let index = 0; index < 20_000; index += 1) await manifest.append(entry(index));
  };
  await expect(grow()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  const extent = await manifest.save();
  expect(kept.size).toBe(2);
  const [first] = (await manifest.read(0)) ?? [];
  if (first) first.left = true;
  manifest.changed(0);
  await manifest.save();
  expect((await everything(chunks, extent)).filter(({ left }) => left)).toHaveLength(1);
});
