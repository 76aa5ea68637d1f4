import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { at, collect, digest, pattern, refuses } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { ROOM, startNextcloudDouble } from './testing/nextcloud-double.ts';
import { testEgress } from './testing/test-egress.ts';

const MIB = 1024 * 1024;
const server = await startNextcloudDouble();

/** In pieces that do not fit into chunks. */
async function* pieces(bytes: Uint8Array, size = 700_001): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.byteLength; start += size) yield bytes.subarray(start, start + size);
}

describe.runIf(isAvailable('apache2', server))('uploads in chunks', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());

  async function opened(chunking = '1.0'): Promise<Required<StorageDriver>> {
    Object.assign(server as object, { chunking, failAt: undefined });
    const { url, username, password } = server as Exclude<typeof server, { missing: string }>;
    const driver = await webdavDriver.open(JSON.stringify({ address: url, username, password, root_folder_path: '/' }), {
      egress: testEgress(),
    });
    onTestFinished(() => driver.close());
    return driver as Required<StorageDriver>;
  }

  it.each([
    ['of a known size', true],
    ['of a size that nobody knows', false],
  ])('a file %s passes a proxy that would not take it whole, with its date', async (_, isKnown) => {
    const driver = await opened();
    server.maxBodyBytes = 40_000_000;
    const content = pattern(70 * MIB + 12_345);
    const modifiedAt = new Date('2020-01-02T03:04:05Z');
    const sizeBytes = isKnown ? content.byteLength : undefined;
    const path = at(`/new folder ä/${isKnown}.bin`);
    const entry = await driver.write(path, pieces(content), { overwrite: false, sizeBytes, modifiedAt });
    expect(entry).toMatchObject({ sizeBytes: content.byteLength, modifiedAt });
    expect(server.chunks.pop()).toEqual([32 * MIB, 32 * MIB, 6 * MIB + 12_345]);
    expect(digest(await readFile(join(server.folder, path)))).toBe(digest(content));
    expect(await readdir(join(server.folder, 'new folder ä'))).not.toContainEqual(expect.stringContaining('.wharf'));
    await refuses('ENTRY_EXISTS', driver.write(path, pieces(content), { overwrite: false, sizeBytes }));
    expect(await server.leftovers()).toEqual([]);
  });

  it('pieces whose memory is used again arrive as they were, also where one ends with its chunk and the next comes after the answer', async () => {
    const driver = await opened();
    server.maxBodyBytes = 100_000_000;
    server.chunks.length = 0;
    const content = pattern(40 * MIB);
    const lent = Buffer.alloc(MIB);
    const source = (async function* () {
      for (let start = 0; start < content.byteLength; start += MIB) {
        lent.fill(0);
        if (start === 32 * MIB)
          await vi.waitFor(() => expect(server.taken).toBe(1), { timeout: 10_000, interval: 5 }).catch(() => undefined);
        content.copy(lent, 0, start);
        yield lent;
      }
    })();
    server.taken = 0;
    await driver.write(at('/lent'), source, { overwrite: true, sizeBytes: content.byteLength });
    expect(digest(await readFile(join(server.folder, 'lent')))).toBe(digest(content));
  });

  it('a chunk that is answered before its end is none', async () => {
    const driver = await opened();
    server.answerEarlyAt = 1;
    const content = pattern(40 * MIB);
    await refuses('STORAGE_UNAVAILABLE', driver.write(at('/early'), pieces(content), { overwrite: true, sizeBytes: content.byteLength }));
  });

  it('small files, and those on a server that says nothing of chunks, are sent whole', async () => {
    server.maxBodyBytes = 100_000_000;
    server.chunks.length = 0;
    const small = pattern(MIB);
    await (await opened()).write(at('/small'), pieces(small), { overwrite: true, sizeBytes: small.byteLength });
    const big = pattern(40 * MIB);
    await (await opened('')).write(at('/big'), pieces(big), { overwrite: true, sizeBytes: big.byteLength });
    expect(server.chunks).toEqual([]);
    expect((await stat(join(server.folder, 'big'))).size).toBe(big.byteLength);
  });

  it('a server that tells its room, and keeps dates and sums of files that come whole, is believed', async () => {
    server.maxBodyBytes = 100_000_000;
    server.keepsMore = true;
    onTestFinished(() => {
      server.keepsMore = false;
    });
    const driver = await opened();
    expect(driver.traits.modTimeStepMs).toBe(1000);
    expect(await driver.space()).toEqual({ totalBytes: ROOM.availableBytes + ROOM.usedBytes, freeBytes: ROOM.availableBytes });
    const content = pattern(MIB);
    const sha1 = createHash('sha1').update(content).digest('hex');
    const modifiedAt = new Date('2020-01-02T03:04:05Z');
    const path = at('/dated');
    const options = { overwrite: true, sizeBytes: content.byteLength, modifiedAt, expectedHashes: { sha1 } };
    await driver.write(path, pieces(content), options);
    expect(await driver.stat(path)).toMatchObject({ modifiedAt, hashes: { sha1 } });
    const read = await driver.read(path);
    expect(read.entry).toMatchObject({ modifiedAt, hashes: { sha1 } });
    expect(digest(await collect(read))).toBe(digest(content));
    server.keepsMore = false;
    expect((await opened()).space).toBeUndefined();
  });

  it.each([0, 1, 32 * MIB, 32 * MIB + 1])('a content of %i bytes whose size nobody knows arrives', async (bytes) => {
    const content = pattern(bytes);
    await (await opened()).write(at('/edge'), pieces(content), { overwrite: true });
    expect(digest(await readFile(join(server.folder, 'edge')))).toBe(digest(content));
  });

  it.each([
    ['a source that breaks', undefined, 'the source broke'],
    ['a chunk that is refused', 2, 'QUOTA_EXCEEDED'],
  ])('%s leaves nothing, and the old file as it was', async (_, failAt, said) => {
    const driver = await opened();
    const old = pattern(1_000);
    await driver.write(at('/kept'), pieces(old), { overwrite: true, sizeBytes: old.byteLength });
    server.failAt = failAt;
    const content = (async function* () {
      yield* pieces(pattern(40 * MIB));
      if (failAt === undefined) throw new Error('the source broke');
    })();
    const failure = await driver.write(at('/kept'), content, { overwrite: true, sizeBytes: 40 * MIB }).catch((error: unknown) => error);
    expect(failure).toSatisfy((error: Error & { code?: string }) => error.message.includes(said) || error.code === said);
    await vi.waitFor(async () => expect(await server.leftovers()).toEqual([]), { timeout: 30_000, interval: 50 });
    expect(digest(await readFile(join(server.folder, 'kept')))).toBe(digest(old));
    expect((await readdir(server.folder)).filter((name) => name.includes('.wharf'))).toEqual([]);
  });
});
