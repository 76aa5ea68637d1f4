import { ApiError, call } from '../api/call.ts';
import { ONCE_KEY } from '../api/once-key.ts';
import type { ErrorName } from '../api/operations.ts';
import { createPartSize } from './part-size.ts';
import { createPlaces, type Places } from './places.ts';
import { sendBody } from './send-body.ts';
import { encodePath, sendBytes, TOO_LARGE } from './send-bytes.ts';
import type { Sending, SendJob } from './send-job.ts';
import { Forgotten, sendParts } from './send-parts.ts';

export type Outcome = { readonly state: 'done' } | { readonly state: 'exists' } | { readonly state: 'failed'; readonly error: unknown };

/** Brings one file to its path, and does not give up where the network does. Rejects only when it was aborted. */
export type SendFile = (job: SendJob) => Promise<Outcome>;

/** Bodies that are on their way at once. Browsers open six connections to a server by HTTP/1.1; the rest is for the page. */
const BODIES_AT_ONCE = 3;
const LONGEST_PAUSE_MS = 15_000;
/** The server knows a key for a day; one that was used so long ago, in milliseconds, is asked for no more. */
const KNOWN_MS = 20 * 3_600_000;
/** A file of at most so many bytes is read before it is put. */
const READ_BYTES = 16 * 1024 * 1024;

/** @param takesParts whether the server takes uploads in parts */
export function createSendFile(takesParts: () => boolean): SendFile {
  const places = createPlaces(BODIES_AT_ONCE);
  const partSize = createPartSize();
  /** Files that were put, and may be stored: when that began, by their keys. */
  const begun = new Map<string, number>();
  return async (asked) => {
    let { session, overwrite, key } = asked;
    let isWhole = !takesParts();
    const keep = (next: string | undefined) => {
      session = next;
      asked.keep(next);
    };
    /** Nobody knows whether it was stored, and by whom what is there was: who wants that replaced, too, says so. */
    const askAgain = () => {
      overwrite = false;
      key = asked.askAgain();
    };
    for (let tries = 1; ; tries += 1) {
      const inParts = !isWhole && (session !== undefined || asked.file.size > partSize.bytes());
      // Parts tell nothing of a put: how large they are may have changed since.
      if (session === undefined && (inParts ? begun.has(key) : Date.now() - (begun.get(key) ?? Date.now()) > KNOWN_MS)) askAgain();
      const isFirstPut = !inParts && !begun.has(key);
      if (isFirstPut) begun.set(key, Date.now());
      let doing: Sending['doing'] | undefined;
      const tell = (sending: Sending) => {
        doing = sending.doing;
        asked.tell(sending);
      };
      const job = { ...asked, overwrite, session, key, keep, tell };
      try {
        await (inParts ? sendParts(job, partSize, places) : put(job, places));
        begun.delete(key);
        return { state: 'done' };
      } catch (error) {
        const isBody = doing === 'sending';
        if (isFirstPut && (isTooLarge(error) || !isBody)) begun.delete(key);
        job.signal.throwIfAborted();
        if (isNamed(error, 'ENTRY_EXISTS') && !overwrite) {
          // One that was to replace nothing has ended there: whatever is chosen begins anew.
          if (session !== undefined) await endUpload(session);
          keep(undefined);
          return { state: 'exists' };
        }
        if (error instanceof Forgotten) {
          keep(undefined);
          askAgain();
          continue;
        }
        if (isNamed(error, 'UNSUPPORTED_OPERATION') && inParts) {
          isWhole = true;
          continue;
        }
        if (!isPassing(error)) return { state: 'failed', error };
        if (!inParts && isNamed(error, 'FAILED_PRECONDITION')) askAgain();
        asked.tell({ doing: 'trying', error });
        // An answer that is lost at the end says nothing of bodies, and the file may be there.
        if (isBody && (await partSize.shrinkAfter(error))) {
          // Its parts have their size for good.
          if (session !== undefined) await endUpload(session);
          keep(undefined);
        } else if (isTooLarge(error)) return { state: 'failed', error };
        else await untilAgain(Math.min(LONGEST_PAUSE_MS, 500 * 2 ** tries), job.signal);
      }
    }
  };
}

async function put({ file, path, overwrite, key, signal, tell }: SendJob, places: Places): Promise<void> {
  const giveBack = await places.take(signal);
  try {
    const headers = {
      ...{ 'File-Path': encodePath(path), 'Content-Type': file.type || 'application/octet-stream' },
      ...{ 'Last-Modified': String(file.lastModified), Overwrite: String(overwrite), [ONCE_KEY]: key },
    };
    // Reading it first tells a file that is gone from a network that is.
    const body = file.size > READ_BYTES ? file : await file.arrayBuffer();
    tell({ sentBytes: 0, doing: 'sending' });
    await sendBytes('/api/fs/put', headers, body, { signal, onProgress: (sentBytes) => tell({ sentBytes, doing: 'sending' }) }, sendBody);
  } finally {
    giveBack();
  }
}

/** Ends an upload in parts; one that cannot be ended runs out by itself. */
export const endUpload = (session: string): Promise<unknown> =>
  call('/api/fs/multipart/abort', { 'X-Upload-Id': session }).catch(() => undefined);

const isNamed = (error: unknown, name: ErrorName) => error instanceof ApiError && error.error === name;
const isTooLarge = (error: unknown) => error instanceof ApiError && error.code === TOO_LARGE;

/** Whether the same may succeed later, or otherwise. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || isTooLarge(error) || (error.error !== undefined && PASSING.has(error.error)));
}

const PASSING: ReadonlySet<ErrorName> = new Set<ErrorName>([
  ...(['OVERLOADED', 'RATE_LIMITED', 'STORAGE_UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED'] as const),
  // Another connection has the part, or the file, which the server has not given up yet.
  'FAILED_PRECONDITION',
]);

/** A pause that ends early when the network comes back. */
function untilAgain(pauseMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, pauseMs);
    addEventListener('online', end);
    signal.addEventListener('abort', end, { once: true });
  });
}
