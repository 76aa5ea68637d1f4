import { randomUUID } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { drain, readText } from '../../driver-contract/answers.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { fileHeaders, type NewFile, type Place, SLOW_MS, UPLOAD_ANSWER_MS, type WebdavClient } from './client.ts';
import { userFolderOf } from './user-folder.ts';

/*
 * Nextcloud and ownCloud take a big file in chunks, past proxies that refuse its size, and put them together at its name:
 * https://docs.nextcloud.com/server/latest/developer_manual/client_apis/WebDAV/chunking.html. Its second version has the numbers below; to the first all of it
 * is fine too. Chunks that nobody asks for go after a day.
 */

/** A chunk has 5 MiB to 5 GiB, the last one may be smaller; proxies with a limit commonly let 100 MB pass, some 50. */
const CHUNK_BYTES = 32 * 1024 * 1024;
const MAX_CHUNKS = 10_000;
/** What a server says of all its parts is some kilobytes. */
const MAX_CAPABILITIES_BYTES = 256 * 1024;

const capabilities = z.object({
  ocs: z.object({ data: z.object({ capabilities: z.object({ dav: z.object({ chunking: z.string() }) }) }) }),
});

/** Uploads in chunks on a server that takes them. */
export interface ChunkedUploads {
  /** Whether a content is worth it. @param sizeBytes undefined: nobody knows */
  takes(sizeBytes: number | undefined): boolean;
  /** @throws AppError; nothing is left at the place then */
  put(place: Place, content: AsyncIterable<Uint8Array>, file: NewFile, options: CallOptions): Promise<void>;
}

/** @param root of the storage. @returns undefined: the server says nothing of chunks */
export async function findChunkedUploads(client: WebdavClient, root: URL, options: CallOptions): Promise<ChunkedUploads | undefined> {
  const folder = userFolderOf(root);
  if (folder === undefined || !(await saysChunks(client, folder.server, options))) return undefined;
  const uploads = new URL(`remote.php/dav/uploads/${folder.user}/`, folder.server);
  return {
    takes: (sizeBytes) => sizeBytes === undefined || sizeBytes > CHUNK_BYTES,
    put: (place, content, file, call) => putInChunks(client, uploads, place, content, file, call),
  };
}

async function saysChunks(client: WebdavClient, server: URL, { signal }: CallOptions): Promise<boolean> {
  const url = new URL('ocs/v2.php/cloud/capabilities?format=json', server);
  try {
    const answer = await client.ask({ method: 'GET', url, headers: { 'OCS-APIRequest': 'true', Accept: 'application/json' }, signal });
    const said = capabilities.safeParse(JSON.parse(await readText(answer, signal, MAX_CAPABILITIES_BYTES)));
    return said.success && Number.parseFloat(said.data.ocs.data.capabilities.dav.chunking) >= 1;
  } catch (error) {
    throwIfAborted(signal);
    if (AppError.is(error, 'STORAGE_UNAVAILABLE')) throw error;
    return false;
  }
}

async function putInChunks(
  client: WebdavClient,
  uploads: URL,
  place: Place,
  content: AsyncIterable<Uint8Array>,
  file: NewFile,
  { signal }: CallOptions,
): Promise<void> {
  const { sizeBytes } = file;
  const folder = new URL(`wharf-${randomUUID()}/`, uploads);
  const Destination = client.urlOf(place).href;
  const total = sizeBytes === undefined ? undefined : String(sizeBytes);
  const send = async (method: string, name: string, headers: Record<string, string | undefined> = {}, body?: AsyncIterable<Uint8Array>) => {
    const headersTimeoutMs = body ? UPLOAD_ANSWER_MS : SLOW_MS;
    const ask = { method, url: new URL(name, folder), headers: { Destination, ...headers }, headersTimeoutMs, signal };
    await drain(await client.ask(body ? { ...ask, body } : ask), signal);
  };
  await send('MKCOL', '');
  try {
    const chunkBytes = sizeBytes === undefined ? CHUNK_BYTES : Math.max(CHUNK_BYTES, Math.ceil(sizeBytes / MAX_CHUNKS));
    let number = 0;
    for await (const chunk of cutAt(content, chunkBytes)) {
      const left = sizeBytes === undefined ? undefined : String(Math.min(chunkBytes, sizeBytes - number * chunkBytes));
      number += 1;
      if (number > MAX_CHUNKS)
        throw new AppError('QUOTA_EXCEEDED', `the server takes ${MAX_CHUNKS} chunks for a file, and this one has more`);
      const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': left, 'OC-Total-Length': total };
      // Some servers put them together in the order of their names.
      await send('PUT', String(number).padStart(5, '0'), headers, chunk);
    }
    await send('MOVE', '.file', { Overwrite: 'F', 'OC-Total-Length': total, ...fileHeaders(file) });
  } catch (error) {
    await client
      .ask({ method: 'DELETE', url: folder })
      .then((answer) => drain(answer, undefined))
      .catch(() => undefined);
    throw error;
  }
}

/**
 * A content as several, one after the other: each is read to its end before the next is asked for. The last may be shorter; of nothing there is one.
 * At the end of a chunk nothing more is asked of the content: its server may have answered by then, and a piece is lent until the next one is asked for.
 *
 * @throws AppError STORAGE_UNAVAILABLE: the server answered before it had all of a chunk
 */
async function* cutAt(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<AsyncIterable<Uint8Array>, void> {
  const pieces = content[Symbol.asyncIterator]();
  let piece = await nextOf(pieces);
  try {
    do {
      let left = bytes;
      let hasEnded = false;
      yield (async function* () {
        while (left > 0) {
          piece ??= await nextOf(pieces);
          hasEnded = piece === undefined;
          if (!piece) return;
          const part: Uint8Array = piece.subarray(0, left);
          left -= part.byteLength;
          piece = part.byteLength < piece.byteLength ? piece.subarray(part.byteLength) : undefined;
          yield part;
        }
      })();
      if (left > 0 && !hasEnded) throw storageError('STORAGE_UNAVAILABLE', new Error('the server answered before it had all of a chunk'));
      if (!hasEnded) piece ??= await nextOf(pieces);
    } while (piece);
  } finally {
    await pieces.return?.();
  }
}

/** @returns undefined at the end */
async function nextOf(pieces: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done === true) return undefined;
    if (value.byteLength > 0) return value;
  }
}
