import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { lendPieces, makeTempDir, type TempDir } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { bodyOf } from '../../src/data-plane/body-of.ts';
import { BATCH_BYTES, BIG_PIECES_BYTES, bigPiecesBytes, dropBatch, giveBackBatch, takeBatch } from '../../src/driver-contract/batches.ts';
import type { Entry } from '../../src/driver-contract/storage-driver.ts';
import { fileContent } from '../../src/drivers/local/file-content.ts';
import { createIoSlots } from '../../src/drivers/local/io-slots.ts';
import { pumpContent } from '../../src/drivers/local/pump-content.ts';

const SMALL_BYTES = 64 * 1024;
const content = randomBytes(5 * BATCH_BYTES + 77);
let dir: TempDir;
let file: string;
const opened: AsyncIterator<Uint8Array>[] = [];

beforeAll(async () => {
  dir = await makeTempDir('content-memory');
  file = join(dir.path, 'file');
  const handle = await open(file, 'w');
  await handle.write(content);
  await handle.close();
});
afterEach(async () => {
  for (const reader of opened.splice(0)) await reader.return?.();
  expect(bigPieces()).toBe(BIG_PIECES_BYTES / BATCH_BYTES);
});
afterAll(() => dir?.remove());

/** How many big pieces there are to be had. */
function bigPieces(): number {
  const taken: Buffer[] = [];
  for (let batch = takeBatch(); batch.byteLength === BATCH_BYTES; batch = takeBatch()) taken.push(batch);
  for (const batch of taken) dropBatch(batch);
  return taken.length;
}

/** Takes all the memory there is for big pieces. @returns gives it back */
function takeAll(): () => void {
  const taken = Array.from({ length: BIG_PIECES_BYTES / BATCH_BYTES }, () => takeBatch());
  return () => {
    for (const batch of taken) dropBatch(batch);
  };
}

/** A request with the content as its body, in chunks as a socket hands them on. */
function uploadRequest(): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  for (let from = 0; from < content.byteLength; from += SMALL_BYTES) request.push(Buffer.from(content.subarray(from, from + SMALL_BYTES)));
  request.push(null);
  return request;
}

async function reader(signal?: AbortSignal): Promise<AsyncIterator<Uint8Array>> {
  const entry: Entry = { name: '' as EntryName, isDirectory: false, sizeBytes: content.byteLength, modifiedAt: new Date(0) };
  const options = signal ? { signal } : {};
  const iterator = fileContent(entry, openSync(file, 'r'), 0, content.byteLength, createIoSlots(), options)[Symbol.asyncIterator]();
  opened.push(iterator);
  return iterator;
}

it('big pieces are an eighth of the memory of the process, 128 MiB at most', () => {
  const mib = 1024 * 1024;
  expect([256, 536, 1_024, 65_536].map((memory) => bigPiecesBytes(memory * mib))).toEqual([32 * mib, 67 * mib, 128 * mib, 128 * mib]);
});

it('readers that nobody takes from hold big pieces up to a bound, then small ones', async () => {
  const first: number[] = [];
  for (let count = 0; count < 200; count += 1) {
    const { value } = await (await reader()).next();
    first.push(value?.byteLength ?? 0);
  }
  expect(first.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => BATCH_BYTES));
  expect(first.slice(65)).toEqual(Array.from({ length: 135 }, () => SMALL_BYTES));
});

it('in small pieces a file is read as it is, and in big ones again when there is room', async () => {
  const giveBack = takeAll();
  const iterator = await reader();
  const pieces: Buffer[] = [];
  for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
    pieces.push(Buffer.from(step.value));
    if (pieces.length === 3) giveBack();
  }
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
  expect(pieces[0]?.byteLength).toBe(SMALL_BYTES);
  expect(pieces.some(({ byteLength }) => byteLength === BATCH_BYTES)).toBe(true);
});

it('an upload goes on in small pieces, and is stored as it came', async () => {
  const giveBack = takeAll();
  try {
    const target = join(dir.path, 'target');
    const handle = await open(target, 'w');
    await pumpContent(handle.fd, bodyOf(uploadRequest()), createIoSlots());
    await handle.close();
    expect((await readFile(target)).equals(content)).toBe(true);
  } finally {
    giveBack();
  }
});

it('who leaves early, fails or is aborted gives back what it had', async () => {
  const aborting = new AbortController();
  await (await reader(aborting.signal)).next();
  aborting.abort();
  await (await reader()).next();
  const body = bodyOf(uploadRequest());
  await body.next();
  await body.return();
  const handle = await open(file, 'r');
  // Not open for writing.
  await expect(pumpContent(handle.fd, lendPieces(content, [65_536]), createIoSlots())).rejects.toMatchObject({ code: 'EBADF' });
  await handle.close();
});

it('memory that is given back is kept for the next, or freed at once', () => {
  const taken = Array.from({ length: 40 }, () => takeBatch());
  for (const batch of taken) giveBackBatch(batch);
  const kept = taken.filter((batch) => batch.byteLength > 0);
  expect(kept.length).toBeLessThanOrEqual(8);
  const half = takeBatch(BATCH_BYTES / 2);
  giveBackBatch(half);
  expect(half.byteLength).toBe(0);
});

it('a body that is broken off leaves no memory but what was lent', async () => {
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow');
  onTestFinished(() => allocate.mockRestore());
  // What is spare may be collected, and is allocated anew then: here it is held, what was there before by this, what comes by the spy.
  const spare = Array.from({ length: 8 }, () => takeBatch());
  for (const batch of spare) giveBackBatch(batch);
  for (const rounds of [10, 20, 40]) {
    const before = allocate.mock.calls.length;
    for (let round = 0; round < rounds; round += 1) {
      const request = uploadRequest();
      const body = bodyOf(request);
      expect((await body.next()).value).toHaveLength(BATCH_BYTES);
      // The next piece is there by now, or begun.
      await new Promise((resolve) => setImmediate(resolve));
      request.destroy();
      await body.return(undefined);
    }
    expect(allocate.mock.calls.length - before).toBeLessThanOrEqual(rounds + 1);
  }
  expect(spare).toHaveLength(8);
});
