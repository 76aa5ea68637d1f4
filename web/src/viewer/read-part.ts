import { ApiError, failOffline } from '../api/call.ts';
import { ERROR_NAME } from '../api/error-header.ts';
import type { ErrorName } from '../api/operations.ts';

/** A stretch of a file. */
export interface ReadPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether nothing is behind it. */
  readonly isLast: boolean;
  /** Of the whole file; undefined: nobody has told it so far. */
  readonly size: number | undefined;
  /** Of the file that was read; empty: it has none. */
  readonly etag: string;
}

/**
 * Reads a stretch of a file. What has no ranges comes whole, of which no more is taken than the stretch.
 *
 * @param most so many bytes
 * @throws ApiError why the file cannot be read
 */
export async function readPart(address: string, from: number, most: number): Promise<ReadPart> {
  const begin = await ask(address, { Range: `bytes=${from}-${from + most - 1}` });
  // Nothing is behind the end of a file that has one.
  const behind = begin.status === 416 && from > 0 ? sizeIn(begin) : undefined;
  if (behind !== undefined && behind > 0 && behind <= from)
    return { bytes: new Uint8Array(), isLast: true, size: behind, etag: etagIn(begin) };
  // Of an empty file no byte can be asked for, and of others a storage may refuse it: what comes without a range tells.
  const answer = begin.status === 416 ? await ask(address, {}) : begin;
  if (!answer.ok) throw await refusalOf(answer);
  const isRange = answer.status === 206;
  const { bytes, readBytes, hasEnded } = await stretchOf(answer, isRange ? 0 : from, most).catch(failOffline);
  const end = from + bytes.length;
  // Another site need not let the page see how much there is.
  const isAll = hasEnded && !(isRange && bytes.length === most);
  const size = sizeIn(answer) ?? (!isAll ? undefined : isRange ? end : readBytes);
  return { bytes, isLast: hasEnded && size !== undefined && size <= end, size, etag: etagIn(answer) };
}

const ask = (address: string, headers: HeadersInit) => fetch(address, { headers, cache: 'no-store' }).catch(failOffline);

const etagIn = ({ headers }: Response) => headers.get('ETag') ?? '';

/** A refused download has a line of text, as one of another site may not. */
async function refusalOf(answer: Response): Promise<ApiError> {
  const named = answer.headers.get(ERROR_NAME) as ErrorName | null;
  const text = named === null ? `${answer.status} ${answer.statusText}` : await answer.text().catch(failOffline);
  return new ApiError(answer.status, text.trim(), named ?? undefined);
}

/** Of the whole file, as far as an answer to a range tells. */
function sizeIn({ headers }: Response): number | undefined {
  const told = /\/(\d+)$/.exec(headers.get('Content-Range') ?? '')?.[1];
  return told === undefined ? undefined : Number(told);
}

/** The bytes of an answer behind so many others. */
async function stretchOf({ body }: Response, skipped: number, most: number) {
  const bytes = new Uint8Array(most);
  let [readBytes, filled] = [0, 0];
  const told = (hasEnded: boolean) => ({ bytes: bytes.slice(0, filled), readBytes, hasEnded });
  const reader = body?.getReader();
  for (let step = await reader?.read(); step?.value; step = await reader?.read()) {
    const piece = step.value.subarray(Math.max(0, skipped - readBytes));
    const wanted = piece.subarray(0, most - filled);
    bytes.set(wanted, filled);
    readBytes += step.value.length;
    filled += wanted.length;
    if (wanted.length === piece.length) continue;
    await reader?.cancel();
    return told(false);
  }
  return told(true);
}
