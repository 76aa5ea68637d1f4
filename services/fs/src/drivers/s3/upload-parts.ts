import type { WriteOptions } from '../../driver-contract/storage-driver.ts';
import { MAX_PARTS, type S3Client, type UploadedPart, type UploadOptions } from './client.ts';
import type { Part, PartSource } from './part-source.ts';
import type { ObjectHead } from './store-clock.ts';

/** Parts of one upload that are on their way at once. */
const PARALLEL_PARTS = 4;

/** The upload that parts go to. */
export interface PartTarget {
  readonly client: S3Client;
  readonly key: string;
  readonly uploadId: string;
}

/**
 * Stores all parts of a content, several at a time. When it ends, whichever way, none is on its way any more.
 *
 * @param first the part that was cut already
 */
export async function uploadParts(
  target: PartTarget,
  first: Part,
  source: PartSource,
  stop: AbortController,
  onProgress: WriteOptions['onProgress'],
): Promise<UploadedPart[]> {
  let part: Part | undefined = first;
  const stored = await storeParts<UploadedPart>(stop, async (number, send) => {
    part ??= await source.next(stop.signal);
    const { isLast, release } = part;
    const payload = part;
    part = undefined;
    send(target.client.uploadPart(target.key, target.uploadId, number, payload, { signal: stop.signal, onProgress }).finally(release));
    return !isLast;
  });
  return inOrder(stored);
}

function inOrder(parts: UploadedPart[]): UploadedPart[] {
  return parts.sort((one, other) => one.number - other.number);
}

/** Lets the store put an object together from another one. @param leastBytes of a part but the last: 5 GiB at most, and fewer calls are better */
export async function copyParts(
  target: PartTarget,
  from: string,
  { sizeBytes, version }: ObjectHead,
  leastBytes: number,
  { signal, onProgress }: UploadOptions,
): Promise<UploadedPart[]> {
  const stop = new AbortController();
  const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const partBytes = Math.max(leastBytes, Math.ceil(sizeBytes / MAX_PARTS));
  const stored = await storeParts<UploadedPart>(stop, async (number, send) => {
    const start = (number - 1) * partBytes;
    const end = Math.min(sizeBytes, start + partBytes);
    const copied = target.client.copyPart(target.key, target.uploadId, number, { key: from, version, start, end }, { signal: both });
    send(copied.finally(onProgress));
    return end < sizeBytes;
  });
  return inOrder(stored);
}

/** Several at a time; when it ends, whichever way, none is on its way any more. @param next begins one part; false: it was the last */
export async function storeParts<Stored>(
  stop: AbortController,
  next: (number: number, send: (stored: Promise<Stored>) => void) => Promise<boolean>,
): Promise<Stored[]> {
  const running = new Set<Promise<unknown>>();
  const parts: Stored[] = [];
  let failure: { readonly error: unknown } | undefined;
  const send = (stored: Promise<Stored>) => {
    const watched = stored
      .then(
        (part) => void parts.push(part),
        (error: unknown) => {
          failure ??= { error };
          stop.abort(error);
        },
      )
      .finally(() => running.delete(watched));
    running.add(watched);
  };
  try {
    for (let number = 1; await next(number, send); number++) {
      if (running.size >= PARALLEL_PARTS) await Promise.race(running);
      if (failure) throw failure.error;
    }
  } catch (error) {
    stop.abort(error);
    await Promise.all(running);
    throw failure ? failure.error : error;
  }
  await Promise.all(running);
  if (failure) throw failure.error;
  return parts;
}
