import { readdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { vpath } from '../src/domain/testing/memory-tree.ts';
import { codeOf } from '../src/driver-contract/conformance/driver-calls.ts';
import { createDiskRoom } from '../src/driver-contract/disk-room.ts';
import { openDraftSpool } from '../src/driver-contract/draft-spool.ts';
import { type Spooled, spool } from '../src/driver-contract/spool.ts';
import { openFileSearchIndex } from '../src/search-engines/file/file-search-index.ts';
import { openUploadArea } from '../src/tasks/upload-area.ts';
import { createThumbnailCache } from '../src/thumbnails/thumbnail-cache.ts';
import { mountSmallDisk, mounts } from './local/small-disk.ts';

const MIB = 1024 * 1024;
/** What others need, and a bit that one upload would not fill. */
const [RESERVE_MIB, SPARE_MIB, EACH_MIB] = [256, 40, 24];
/** Files that a small disk holds, of which a twentieth are to stay. */
const [ENTRIES, RESERVE_ENTRIES] = [400, 20];
/** Writers at a time: of each a piece of a MiB may be on its way to the disk, unseen, when that is looked at. */
const WRITERS = 6;
const UNBOUNDED = 2 ** 40;
let disk: string;

beforeEach(async () => {
  const dir = await makeTempDir('disk-reserve');
  onTestFinished(() => dir.remove());
  disk = join(dir.path, 'disk');
  await mountSmallDisk(disk, RESERVE_MIB + SPARE_MIB);
});

/** They all come at the same time. */
async function* slowly(): AsyncGenerator<Uint8Array, void> {
  for (let piece = 0; piece < EACH_MIB; piece += 1) {
    await new Promise(setImmediate);
    yield Buffer.alloc(MIB, 1);
  }
}

const AREAS: readonly [string, (folder: string) => (index: number) => Promise<unknown>][] = [
  [
    'parts of files whose storages take whole ones only',
    (folder) => {
      const drafts = openDraftSpool(folder, UNBOUNDED);
      return async (index) => {
        const draft = await drafts.create({ id: String(index).repeat(32), sizeBytes: EACH_MIB * MIB });
        await draft.write(0, slowly()).finally(() => draft.close());
      };
    },
  ],
  [
    'uploads that wait as tasks',
    (folder) => {
      const area = openUploadArea(folder, UNBOUNDED);
      const signal = new AbortController().signal;
      return () => area.receive(slowly(), { userId: 1, sizeBytes: EACH_MIB * MIB, expectedHashes: {}, signal });
    },
  ],
];

describe.runIf(mounts)('the disk of the data folder keeps what others need of it', () => {
  it('where one call after the other writes what nobody sees come', async () => {
    const room = createDiskRoom(disk);
    const letGo = await room.hold(EACH_MIB * MIB);
    await writeFile(join(disk, 'copy'), Buffer.alloc(EACH_MIB * MIB, 1));
    letGo();
    expect(await codeOf(room.hold(EACH_MIB * MIB))).toBe('QUOTA_EXCEEDED');
  });

  it('where one call holds it and others ask for another folder', async () => {
    const [one, other] = [createDiskRoom(disk), createDiskRoom(disk)];
    const letGo = await one.hold(EACH_MIB * MIB);
    expect(await codeOf(other.take(EACH_MIB * MIB))).toBe('QUOTA_EXCEEDED');
    letGo();
    // Nothing was written, as the next look tells.
    expect(await codeOf(other.take(EACH_MIB * MIB))).toBe('done');
  });

  it('of many who come while somebody looks no one is overlooked', async () => {
    const rooms = Array.from({ length: 6 }, () => createDiskRoom(disk));
    const outcomes = await Promise.all(rooms.map((room) => codeOf(room.take(EACH_MIB * MIB))));
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
  });

  it.each(AREAS)('where many announce as much as there is: %s', async (_what, open) => {
    const store = open(join(disk, 'folder'));
    expect(await codeOf(store(0))).toBe('done');
    const outcomes = await Promise.all(Array.from({ length: 5 }, (_, index) => codeOf(store(index + 1))));
    expect(outcomes).toContain('QUOTA_EXCEEDED');
    await expectReserve();
    // Its own name lies there in any case.
    expect((await readdir(join(disk, 'folder'))).filter((name) => name !== 'id')).not.toEqual([]);
  });

  it('in files as well, of which there may be none left while most bytes are free', async () => {
    const small = join(disk, 'small');
    await mountSmallDisk(small, RESERVE_MIB + SPARE_MIB, ENTRIES);
    const area = openUploadArea(join(small, 'folder'), UNBOUNDED);
    const signal = new AbortController().signal;
    const receive = () => area.receive((async function* () {})(), { userId: 1, sizeBytes: 0, expectedHashes: {}, signal });
    const outcomes = await Promise.all(Array.from({ length: ENTRIES }, () => codeOf(receive())));
    expect(new Set(outcomes)).toEqual(new Set(['done', 'QUOTA_EXCEEDED']));
    const drafts = openDraftSpool(join(small, 'folder'), UNBOUNDED);
    expect(await codeOf(drafts.create({ id: 'a'.repeat(32), sizeBytes: 1 }))).toBe('QUOTA_EXCEEDED');
    const cache = createThumbnailCache(join(small, 'folder'));
    await cache.write('one', Buffer.alloc(1));
    expect(await cache.read('one')).toBeUndefined();
    expect((await statfs(small)).ffree).toBeGreaterThanOrEqual(RESERVE_ENTRIES - 2);
  });

  it('where a search index grows by names of other disks', async () => {
    const small = join(disk, 'small');
    // Of which a twentieth is more than the log of the index, whose content takes as much again when it is written to the index itself.
    await mountSmallDisk(small, 100);
    const index = await openFileSearchIndex(join(small, 'search'));
    onTestFinished(() => index.close());
    await index.openFolder(vpath('/'), 1, 1);
    const put = (round: number) =>
      index.put(
        vpath('/'),
        Array.from({ length: 1_000 }, (_, number) => ({
          name: `${round}-${number}-${'x'.repeat(200)}` as EntryName,
          isDirectory: false,
          sizeBytes: 1,
        })),
        1,
      );
    let outcome = 'done';
    for (let round = 0; outcome === 'done' && round < 300; round += 1) outcome = await codeOf(put(round));
    expect(outcome).toBe('QUOTA_EXCEEDED');
    expect(await index.count()).toBeGreaterThan(1_000);
    const { bavail, bsize } = await statfs(small);
    expect(bavail * bsize).toBeGreaterThan(MIB / 2);
  });

  it('where thumbnails are made that others have no room for', async () => {
    const cache = createThumbnailCache(join(disk, 'folder'));
    for (let index = 0; index < 6 * EACH_MIB; index += 1) await cache.write(String(index), Buffer.alloc(MIB, 1));
    await expectReserve();
    expect(await cache.read('0')).toHaveLength(MIB);
  });

  it('where contents of unknown size come at the same time', async () => {
    const kept: Spooled[] = [];
    const store = async () => void kept.push(await spool(slowly(), { folder: join(disk, 'folder') }));
    const outcomes = Promise.all(Array.from({ length: WRITERS }, () => codeOf(store())));
    let least = Number.POSITIVE_INFINITY;
    const watch = setInterval(async () => (least = Math.min(least, await freeMib())), 5);
    expect(await outcomes).toContain('QUOTA_EXCEEDED');
    clearInterval(watch);
    await expectReserve();
    expect(least).toBeGreaterThan(RESERVE_MIB - 2 - WRITERS);
    for (const each of kept) await each.end();
  });
});

async function freeMib(): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return (bavail * bsize) / MIB;
}

async function expectReserve(): Promise<void> {
  expect(await freeMib()).toBeGreaterThan(RESERVE_MIB - 2);
}
