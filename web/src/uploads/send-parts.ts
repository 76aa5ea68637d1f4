import { type Answer, ApiError, call } from '../api/call.ts';
import type { PartSize } from './part-size.ts';
import { partSum } from './part-sum.ts';
import type { Places } from './places.ts';
import { encodePath, sendBytes } from './send-bytes.ts';
import { sendInThread } from './send-in-thread.ts';
import type { SendJob } from './send-job.ts';

/** What the server has of an upload. */
type Known = Answer<'/api/fs/multipart/status'>;

/** Thrown where the chosen file is not the one whose parts the server has. */
export class OtherFile extends Error {}

/** Thrown where the server does not know the upload any more: it may have ended in either way. */
export class Forgotten extends Error {}

/** Parts that the server has of a file as it was chosen, as this page knows: it has sent them, or compared them. By file and upload. */
const proven = new WeakMap<File, { readonly session: string; readonly parts: Set<number> }>();

/** Parts of one file that are on their way at once, as far as there are places. */
const PARTS_AT_ONCE = 3;

/**
 * Brings one file to its path in parts, or what is missing of it. What was accepted stays with the server, so that it may be called again after it was
 * rejected.
 *
 * @throws ApiError as the calls have it | OtherFile | Forgotten
 */
export async function sendParts(job: SendJob, partSize: PartSize, places: Places): Promise<void> {
  const known = job.session ? await find(job.session) : await begin(job, partSize.bytes());
  if (known === undefined) throw new Forgotten();
  const isThere = known.state === 'completed';
  // Another tab may have ended it, with another file: nothing compares them any more.
  if (isThere && provenParts(job.file, known.upload_id).size < known.total_chunks) throw new Forgotten();
  if (!isThere) await proveSame(job, known);
  job.keep(known.upload_id);
  if (!isThere) await sendMissing(job, known, partSize, places);
  job.tell({ sentBytes: job.file.size, doing: 'ending' });
  await call('/api/fs/multipart/complete', { 'X-Upload-Id': known.upload_id }, job.signal);
  job.keep(undefined);
}

async function begin({ file, path, overwrite, signal }: SendJob, partBytes: number): Promise<Known> {
  const asked = {
    ...{ 'File-Path': encodePath(path), 'X-File-Size': String(file.size), 'X-Chunk-Size': String(partBytes) },
    ...{ 'Last-Modified': String(file.lastModified), Overwrite: String(overwrite) },
  };
  return await call('/api/fs/multipart/init', asked, signal);
}

/** Undefined: its time ran out, or somebody ended it. */
async function find(id: string): Promise<Known | undefined> {
  try {
    return await call('/api/fs/multipart/status', { upload_id: id, sums: 'true' });
  } catch (error) {
    if (error instanceof ApiError && error.error === 'RECORD_NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * Compares the parts that the server has with the file, but for those that this page sent of it. Whether they are of this file nothing else tells: files of one
 * name, size and date differ, files that differ may have parts in common, and another tab may have sent some. Where the page cannot sum, the server compares.
 */
async function proveSame(job: SendJob, known: Known): Promise<void> {
  const parts = provenParts(job.file, known.upload_id);
  const unproven = [...receivedParts(known).entries()].filter(([, index]) => !parts.has(index));
  if (unproven.length > 0) job.tell({ doing: 'ending' });
  try {
    for (const [place, index] of unproven) {
      job.signal.throwIfAborted();
      const told = known.sums?.[place];
      const sum = told === undefined ? undefined : await partSum(known.upload_id, partOf(job.file, known, index));
      if (sum === undefined) await sendPart(job, known, index, () => undefined);
      else if (sum !== told) throw new OtherFile();
      else parts.add(index);
    }
  } catch (error) {
    if (error instanceof ApiError && error.error === 'INVALID_ARGUMENT') throw new OtherFile();
    throw error;
  }
}

function provenParts(file: File, session: string): Set<number> {
  const known = proven.get(file);
  if (known?.session === session) return known.parts;
  const parts = new Set<number>();
  proven.set(file, { session, parts });
  return parts;
}

async function sendMissing(job: SendJob, known: Known, partSize: PartSize, places: Places): Promise<void> {
  const has = new Set(receivedParts(known));
  const missing = Array.from({ length: known.total_chunks }, (_, index) => index).filter((index) => !has.has(index));
  let acceptedBytes = known.received_bytes;
  const underWay = new Map<number, number>();
  const tell = () => job.tell({ sentBytes: [...underWay.values()].reduce((sum, bytes) => sum + bytes, acceptedBytes), doing: 'sending' });
  tell();
  const failures: unknown[] = [];
  const work = async () => {
    while (failures.length === 0 && missing.length > 0) {
      const giveBack = await places.take(job.signal);
      const index = missing.shift();
      try {
        if (index === undefined || failures.length > 0) return;
        acceptedBytes += await sendPart(job, known, index, (bytes) => {
          underWay.set(index, bytes);
          tell();
        });
        partSize.passed();
      } catch (error) {
        // Those that are on their way come to their end, and are accepted if they can.
        failures.push(error);
      } finally {
        if (index !== undefined) underWay.delete(index);
        giveBack();
        tell();
      }
    }
  };
  await Promise.all(Array.from({ length: PARTS_AT_ONCE }, work));
  if (failures.length > 0) throw failures[0];
}

/** @returns its bytes */
async function sendPart(job: SendJob, known: Known, index: number, onProgress: (bytes: number) => void): Promise<number> {
  const part = partOf(job.file, known, index);
  const headers = { 'X-Upload-Id': known.upload_id, 'X-Chunk-Index': String(index) };
  await sendBytes('/api/fs/multipart/chunk', headers, part, { signal: job.signal, onProgress }, sendInThread);
  provenParts(job.file, known.upload_id).add(index);
  return part.size;
}

function partOf(file: File, { chunk_size }: Known, index: number): Blob {
  return file.slice(index * chunk_size, (index + 1) * chunk_size);
}

function receivedParts({ received }: Known): number[] {
  return received.flatMap(([first, last]) => Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index));
}
