import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, at } from '@wharf/harness';
import * as tus from 'tus-js-client';
import { authorization, filePath } from './files.ts';
import { beginParts, completeParts, missingParts, type PartUpload, sendPartOf } from './part-uploads.ts';

/** A file that a client sends, whatever happens on the way. */
export interface StubbornFile {
  /** Of the file that is sent, on this machine. */
  readonly source: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** In the tree. */
  readonly path: string;
  /** Where requests go; a connection may lead to any gateway. */
  readonly base: string;
  readonly caller: Api;
}

/** A client that goes on until its file has arrived. */
export interface StubbornUpload {
  /** Whether the server has told it of its upload; until then another client would begin anew. */
  hasBegun(): boolean;
  /** Of one piece, as far as it is known: what may be under way is a few of them. */
  pieceBytes(): number;
  /** Pieces that are sent at a time. */
  readonly atOnce: number;
  /** Ends the client as it stands; another one goes on with what the first had written down: the address of its upload. */
  restart(): void;
  readonly done: Promise<void>;
}

/** The server may be away for so long, in milliseconds. */
const PATIENCE_MS = 300_000;
const PAUSE_MS = 500;
/** A part that another connection had belongs to a process that was killed, for so long, in milliseconds. */
const CLAIM_MS = 16_000;
const TUS_CHUNK_BYTES = 8 * 1024 * 1024;
const PART_BYTES = 4 * 1024 * 1024;
const PARTS_AT_ONCE = 3;

/** With tus-js-client, in the pieces that its documents advise behind proxies. */
export function uploadByTus({ source, sizeBytes, path, base, caller }: StubbornFile): StubbornUpload {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let known: string | null = null;
  const start = () => {
    const client: tus.Upload = new tus.Upload(createReadStream(source), {
      endpoint: `${base}/api/fs/tus`,
      ...(known !== null && { uploadUrl: known }),
      uploadSize: sizeBytes,
      chunkSize: TUS_CHUNK_BYTES,
      headers: { ...authorization(caller), ...filePath(path) },
      retryDelays: Array.from({ length: PATIENCE_MS / 1_000 }, () => 1_000),
      onUploadUrlAvailable() {
        known = client.url;
      },
      onSuccess: () => resolve(),
      onError: reject,
    });
    client.start();
    return client;
  };
  let client = start();
  return {
    hasBegun: () => known !== null,
    pieceBytes: () => TUS_CHUNK_BYTES,
    atOnce: 1,
    restart() {
      void client.abort();
      client = start();
    },
    done,
  };
}

/** By the family's calls, several parts at a time. A client that was ended finds its upload again by path, size and hash. */
export function uploadByParts(file: StubbornFile): StubbornUpload {
  let hasBegun = false;
  let pieceBytes = PART_BYTES;
  let stop = new AbortController();
  const run = async (): Promise<void> => {
    const { signal } = stop;
    let deadline = performance.now() + PATIENCE_MS;
    const onTaken = () => {
      deadline = performance.now() + PATIENCE_MS;
    };
    let upload: PartUpload | undefined;
    for (;;) {
      try {
        upload ??= await beginParts(file.caller, file.base, file.path, file.sizeBytes, PART_BYTES, { 'x-file-sha256': file.sha256 });
        hasBegun = true;
        pieceBytes = upload.chunkBytes;
        await sendMissing(file, upload, signal, onTaken);
        const { code, message } = await completeParts(file.caller, file.base, upload);
        if (code === 200) return;
        if (code !== 409) throw new Error(`complete: ${code} ${message}`);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      if (signal.aborted) return run();
      await delay(PAUSE_MS);
    }
  };
  return {
    hasBegun: () => hasBegun,
    pieceBytes: () => pieceBytes,
    atOnce: PARTS_AT_ONCE,
    restart() {
      stop.abort();
      stop = new AbortController();
    },
    done: run(),
  };
}

/** One try for each part that is missing; one that another connection has waits until that may be over. */
async function sendMissing(
  { source, caller, base }: StubbornFile,
  upload: PartUpload,
  signal: AbortSignal,
  onTaken: () => void,
): Promise<void> {
  const missing = await missingParts(caller, base, upload);
  const held: number[] = [];
  const failed: unknown[] = [];
  const handle = await open(source);
  const send = async () => {
    const buffer = Buffer.allocUnsafe(upload.chunkBytes);
    for (let index = missing.shift(); index !== undefined && !signal.aborted; index = missing.shift()) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, index * upload.chunkBytes);
      const { code, message, data } = await sendPartOf(caller, base, upload, index, buffer.subarray(0, bytesRead));
      if (at(data, 'state') === 'failed_permanent') throw new Error(`part ${index}: ${code} ${message}`);
      if (code === 409) held.push(index);
      else if (code !== 200) throw new Error(`part ${index}: ${code} ${message}`);
      else onTaken();
    }
  };
  try {
    const outcomes = await Promise.allSettled(Array.from({ length: PARTS_AT_ONCE }, send));
    failed.push(...outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])));
  } finally {
    await handle.close();
  }
  if (held.length > 0) await delay(CLAIM_MS, undefined, { signal }).catch(() => undefined);
  if (failed.length > 0) throw failed[0];
}
