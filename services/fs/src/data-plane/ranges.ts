import { randomBytes } from 'node:crypto';
import parseRange from 'range-parser';
import type { ByteRange } from '../driver-contract/storage-driver.ts';

/** A request for more ranges than this gets the whole file: many small ones cost more than they save. */
const MAX_RANGES = 16;
/** `bytes=` and a list of `first-last`, `first-` or `-count`. */
const BYTE_RANGES = /^bytes=\s*(?:\d+-\d*|-\d+)(?:\s*,\s*(?:\d+-\d*|-\d+))*\s*$/i;
const SINGLE_RANGE = /^bytes=(\d+)-(\d*)$/i;

export interface Range {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/** How an answer with the bytes of a file is built. */
export interface BodyPlan {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly parts: ReadonlyArray<{ readonly preamble: string; readonly range: Range }>;
  readonly epilogue: string;
}

/**
 * The parts of a file that a `Range` header asks for, those that overlap or touch as one. Undefined: the whole file, also for a header that
 * is no range or asks for other units, which is as if it were not there.
 */
export function rangesOf(sizeBytes: number, header: string | undefined): Range[] | 'unsatisfiable' | undefined {
  if (header === undefined || !BYTE_RANGES.test(header)) return undefined;
  // The last bytes of a file that has not as many are the whole file (RFC 9110 section 14.1.2); the parser takes that for an error.
  const withinFile = header.replace(/([=,]\s*)-(\d+)/g, (suffix, lead: string, count: string) =>
    Number(count) > sizeBytes ? `${lead}0-` : suffix,
  );
  const parsed = parseRange(sizeBytes, withinFile, { combine: true });
  if (parsed === -1) return 'unsatisfiable';
  if (parsed === -2 || parsed.length > MAX_RANGES) return undefined;
  return parsed.map(({ start, end }) => ({ start, end }));
}

/** What a `Range` header asks for that can be opened before the file's size is known: one range that says where it begins. */
export function singleRange(header: string | undefined): ByteRange | undefined {
  const [, first, last = ''] = SINGLE_RANGE.exec(header ?? '') ?? [];
  const [offsetBytes, end] = [Number(first), last === '' ? undefined : Number(last)];
  if (!Number.isSafeInteger(offsetBytes)) return undefined;
  if (end === undefined) return { offsetBytes };
  return Number.isSafeInteger(end + 1) && end >= offsetBytes ? { offsetBytes, lengthBytes: end - offsetBytes + 1 } : undefined;
}

/** What is sent: everything, one range, or several as multipart/byteranges (RFC 9110 section 14.6). @param type of the file */
export function planBody(ranges: readonly Range[] | undefined, sizeBytes: number, type: string): BodyPlan {
  const [only] = ranges ?? [];
  if (!ranges || !only) {
    const parts = sizeBytes === 0 ? [] : [{ preamble: '', range: { start: 0, end: sizeBytes - 1 } }];
    return { status: 200, headers: { 'Content-Length': sizeBytes }, parts, epilogue: '' };
  }
  if (ranges.length === 1) {
    const headers = { 'Content-Length': lengthOf(only), 'Content-Range': contentRange(only, sizeBytes) };
    return { status: 206, headers, parts: [{ preamble: '', range: only }], epilogue: '' };
  }
  const boundary = randomBytes(16).toString('hex');
  const parts = ranges.map((range, index) => ({
    preamble: `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, sizeBytes)}\r\n\r\n`,
    range,
  }));
  const epilogue = `\r\n--${boundary}--\r\n`;
  const length = parts.reduce((sum, part) => sum + part.preamble.length + lengthOf(part.range), epilogue.length);
  const headers = { 'Content-Length': length, 'Content-Type': `multipart/byteranges; boundary=${boundary}` };
  return { status: 206, headers, parts, epilogue };
}

/** Bytes of a range. */
export function lengthOf({ start, end }: Range): number {
  return end - start + 1;
}

function contentRange({ start, end }: Range, sizeBytes: number): string {
  return `bytes ${start}-${end}/${sizeBytes}`;
}
