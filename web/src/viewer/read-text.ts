import { decodeText } from './decode-text.ts';
import { readPart } from './read-part.ts';
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
  const { bytes, isLast, etag } = await readPart(address, 0, MAX_BYTES);
  return { text: decodeText(bytes), isWhole: isLast, etag, form: formOf(bytes) };
}
