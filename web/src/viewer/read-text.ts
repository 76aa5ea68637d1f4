import { failOffline, openEnvelope } from '../api/call.ts';
import { ERROR_NAME } from '../api/error-header.ts';
import { decodeText } from './decode-text.ts';
import { formOf, type TextForm } from './text-form.ts';

/** More of a text is for a program that does not hold it at once. */
export const MAX_BYTES = 2_000_000;

/** A text as it was read. */
export interface ReadText {
  readonly text: string;
  /** Whether there is no more of it. */
  readonly isWhole: boolean;
  /** Of the file that was read; empty: it has none, and what is saved could replace another one. */
  readonly etag: string;
  readonly form: TextForm | undefined;
}

/** @throws ApiError why the file cannot be read */
export async function readText(address: string): Promise<ReadText> {
  const begin = await ask(address, { Range: `bytes=0-${MAX_BYTES - 1}` });
  // Of an empty file no byte can be asked for, and of others a storage may refuse it: what comes without a range tells.
  const answer = begin.status === 416 ? await ask(address, {}) : begin;
  if (!answer.ok) openEnvelope(await answer.json().catch(() => undefined), answer.headers.get(ERROR_NAME));
  const { bytes, isAll } = await beginOf(answer).catch(failOffline);
  // Another site need not let the page see how much there is.
  const most = answer.status === 206 && bytes.length === MAX_BYTES ? Number.POSITIVE_INFINITY : bytes.length;
  const whole = Number(/\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '')?.[1] ?? most);
  const isWhole = isAll && whole <= MAX_BYTES;
  return { text: decodeText(bytes), isWhole, etag: answer.headers.get('ETag') ?? '', form: formOf(bytes) };
}

const ask = (address: string, headers: HeadersInit) => fetch(address, { headers, cache: 'no-store' }).catch(failOffline);

/** The first bytes of an answer: one without ranges comes whole, and need not tell how long it is. */
async function beginOf({ body }: Response): Promise<{ bytes: Uint8Array; isAll: boolean }> {
  const bytes = new Uint8Array(MAX_BYTES);
  let filled = 0;
  const reader = body?.getReader();
  for (let step = await reader?.read(); step?.value; step = await reader?.read()) {
    const wanted = step.value.subarray(0, MAX_BYTES - filled);
    bytes.set(wanted, filled);
    filled += wanted.length;
    if (wanted.length === step.value.length) continue;
    await reader?.cancel();
    return { bytes: bytes.slice(0, filled), isAll: false };
  }
  return { bytes: bytes.slice(0, filled), isAll: true };
}
