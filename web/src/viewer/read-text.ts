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
  /** Of the file that was read. */
  readonly etag: string;
  readonly form: TextForm | undefined;
}

/** @throws ApiError why the file cannot be read */
export async function readText(address: string): Promise<ReadText> {
  const answer = await fetch(address, { headers: { Range: `bytes=0-${MAX_BYTES - 1}` }, cache: 'no-store' }).catch(failOffline);
  // Of an empty file no byte can be asked for.
  const isEmpty = answer.status === 416;
  if (!answer.ok && !isEmpty) openEnvelope(await answer.json().catch(() => undefined), answer.headers.get(ERROR_NAME));
  const whole = Number(/\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '')?.[1] ?? 0);
  const bytes = isEmpty ? new Uint8Array() : new Uint8Array(await answer.arrayBuffer().catch(failOffline));
  return { text: decodeText(bytes), isWhole: whole <= MAX_BYTES, etag: answer.headers.get('ETag') ?? '', form: formOf(bytes) };
}
