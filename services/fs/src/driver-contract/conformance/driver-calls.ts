import { createHash } from 'node:crypto';
import { AppError, type ErrorCode } from '@wharf/errors';
import { type MountPath, parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { expect, vi } from 'vitest';
import type { ByteRange, CallOptions, Entry, StorageDriver, WriteOptions } from '../storage-driver.ts';
import type { Able } from './rule.suite.ts';

export function at(path: string): MountPath {
  return relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
}

/** A run of bytes for each byte that it may begin with; those of `pattern` are put together of them, for rules make gigabytes. */
const RUN_BYTES = 256;
const RUNS = Array.from({ length: 256 }, (_, first) => Buffer.from(Array.from({ length: RUN_BYTES }, (_, index) => first + index * 31)));

/** Bytes that differ at every chunk border, so that a shifted or repeated chunk shows. */
export function pattern(sizeBytes: number, seed = 0): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  for (let at = 0, run = 0; at < sizeBytes; at += RUN_BYTES, run += 1) RUNS[(run * 17 + (run >> 8) * 7 + seed) & 0xff]?.copy(bytes, at);
  return bytes;
}

export function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

export async function put(
  driver: Able<'write'>,
  path: string,
  content: string | Uint8Array,
  options: Partial<WriteOptions> = {},
): Promise<Entry> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const chunks = (async function* () {
    for (let from = 0; from < bytes.byteLength; from += 70_000) yield bytes.subarray(from, from + 70_000);
  })();
  return driver.write(at(path), chunks, { overwrite: true, ...options });
}

export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) {
    expect(chunk.byteLength).toBeGreaterThan(0);
    // It is only lent.
    chunks.push(Uint8Array.from(chunk));
  }
  return Buffer.concat(chunks);
}

export async function textOf(driver: StorageDriver, path: string): Promise<string> {
  return text(await collect(await driver.read(at(path))));
}

export async function entriesIn(driver: StorageDriver, path: string, options?: CallOptions): Promise<Entry[]> {
  return Array.fromAsync(driver.list(at(path), options));
}

export async function namesIn(driver: StorageDriver, path: string): Promise<string[]> {
  return (await entriesIn(driver, path)).map((entry) => entry.name);
}

/** Asks until the storage vouches for the names of a folder, which may take it until the folder has rested. */
export async function settledVersion(driver: Able<'listNames'>, path: string): Promise<string> {
  return vi.waitFor(
    async () => {
      const version = (await driver.listNames(at(path), undefined))?.version;
      if (version === undefined) throw new Error(`the names in ${path} have no version`);
      return version;
    },
    { timeout: 10_000, interval: 50 },
  );
}

export async function codeOf(call: Promise<unknown>): Promise<ErrorCode | 'done'> {
  try {
    await call;
    return 'done';
  } catch (error) {
    return AppError.from(error).code;
  }
}

export async function refuses(code: ErrorCode, call: Promise<unknown>): Promise<void> {
  expect(await codeOf(call)).toBe(code);
}

/** How many bytes of a file, or of a stretch of it, come. */
export async function sizeRead(driver: StorageDriver, path: string, range?: ByteRange): Promise<number> {
  let bytes = 0;
  for await (const piece of await driver.read(at(path), range)) bytes += piece.byteLength;
  return bytes;
}

/** The failure of a call that must fail, and must not say a secret. */
export async function failureWithout(secret: string, call: Promise<unknown>): Promise<Error | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error, 'it should have failed').toBeDefined();
  expect(`${error?.stack}${(error?.cause as Error | undefined)?.stack}`).not.toContain(secret);
  return error;
}
