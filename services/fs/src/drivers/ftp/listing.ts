import type { NameCodec } from './name-codec.ts';

/** What a server says of an entry. */
export interface RemoteEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Opaque; stays with the entry, whatever it is called. Undefined where the server does not tell. */
  readonly unique: string | undefined;
}

/**
 * Reads a line of `MLSD` or `MLST` (RFC 3659, 7).
 *
 * @param line a text of bytes
 * @param isAlone it tells of what was asked for, which some servers say is the folder that we are in, or the one above
 * @returns undefined for what is no entry of the folder
 */
export function parseFacts(line: string, names: NameCodec, isAlone = false): RemoteEntry | undefined {
  const end = line.indexOf(' ');
  const name = end < 0 ? undefined : names.fromBytes(line.slice(end + 1));
  if (name === undefined) return undefined;
  const facts = new Map<string, string>();
  for (const fact of line.slice(0, end).split(';')) {
    const at = fact.indexOf('=');
    if (at > 0) facts.set(fact.slice(0, at).toLowerCase(), fact.slice(at + 1));
  }
  if (facts.size === 0) return undefined;
  const type = facts.get('type')?.toLowerCase() ?? '';
  const isAround = type === 'cdir' || type === 'pdir';
  if (isAround && !isAlone) return undefined;
  return {
    name,
    kind: isAround ? 'folder' : (KIND_OF_TYPE.get(type) ?? (/link/.test(type) ? 'link' : 'other')),
    sizeBytes: sizeOf(facts.get('size')),
    modifiedMs: parseTimeVal(facts.get('modify')),
    unique: facts.get('unique'),
  };
}

const KIND_OF_TYPE: ReadonlyMap<string, RemoteEntry['kind']> = new Map([
  ['file', 'file'],
  ['dir', 'folder'],
]);

/** UTC, `YYYYMMDDHHMMSS` with a fraction that is cut off. 0 for what is no date. */
function parseTimeVal(text: string | undefined): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?$/.exec(text?.trim() ?? '') ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) || 0;
}

/** As `MFMT` wants it. */
export function toTimeVal(time: Date): string {
  return time
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replace(/\D/g, '');
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** A time without a year that is at most so far ahead is this year's: clocks differ, and zones do. */
const AHEAD_MS = 24 * 60 * 60 * 1000;

/**
 * `drwxr-xr-x 2 owner group 4096 Nov 23 07:16 name`: the link count may be missing, the group too. Between date and name there is one space: the
 * name may begin with more.
 */
const UNIX_LINE =
  /^([-dlbcpsD])[-rwxsStTlL]{9}[+.@]?\s+(?:\d+\s+)?(?:\S+\s+){1,2}?(?:\d+,\s+)?(\d+)\s+(?:([A-Za-z]{3})\s+(\d{1,2})\s+(?:(\d{1,2}):(\d\d)|(\d{4}))|(\d{4})-(\d\d)-(\d\d)\s+(\d\d):(\d\d)) (.*)$/s;
/** `11-23-26  07:16AM  <DIR>  name`, or with a year of four digits, or with 24 hours. */
const WINDOWS_LINE = /^(\d\d)-(\d\d)-(\d{4}|\d\d)\s+(\d\d):(\d\d)([AaPp][Mm])?\s+(<[A-Z]+>|\d+) +(\S.*)$/s;

/**
 * Reads a line of `LIST`, which has no form that all servers share: those of Unix and of Windows. Times have no zone there and are taken for UTC.
 * Undefined for what is no entry of the folder.
 *
 * @param line a text of bytes
 */
export function parseListLine(line: string, names: NameCodec, nowMs: number): RemoteEntry | undefined {
  const unix = UNIX_LINE.exec(line);
  if (unix) return fromUnix(unix, names, nowMs);
  const windows = WINDOWS_LINE.exec(line);
  return windows ? fromWindows(windows, names) : undefined;
}

function fromUnix(match: RegExpExecArray, names: NameCodec, nowMs: number): RemoteEntry | undefined {
  const [, type = '', size, monthName = '', day, hour, minute, year, isoYear, isoMonth, isoDay, isoHour, isoMinute, rest = ''] = match;
  const kind = type === 'd' ? 'folder' : type === 'l' ? 'link' : type === '-' ? 'file' : 'other';
  const name = names.fromBytes(kind === 'link' ? (rest.split(' -> ')[0] ?? '') : rest);
  if (name === undefined || name === '.' || name === '..') return undefined;
  const month = MONTHS.indexOf(monthName.toLowerCase());
  const modifiedMs =
    isoYear !== undefined
      ? Date.UTC(Number(isoYear), Number(isoMonth) - 1, Number(isoDay), Number(isoHour), Number(isoMinute))
      : month < 0
        ? 0
        : year !== undefined
          ? Date.UTC(Number(year), month, Number(day))
          : lastTime(nowMs, month, Number(day), Number(hour), Number(minute));
  return { name, kind, sizeBytes: kind === 'file' ? sizeOf(size) : 0, modifiedMs, unique: undefined };
}

/** The last time that it was that day of a year. */
function lastTime(nowMs: number, month: number, day: number, hour: number, minute: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  // On the first day of a year a server further east says the date of the next.
  for (let year = thisYear + 1; year > thisYear - 9; year -= 1) {
    const time = Date.UTC(year, month, day, hour, minute);
    // Of February the 29th not every year has one.
    if (time <= nowMs + AHEAD_MS && new Date(time).getUTCMonth() === month) return time;
  }
  return 0;
}

function fromWindows(match: RegExpExecArray, names: NameCodec): RemoteEntry | undefined {
  const [, month, day, year = '', hour, minute, half, size = '', rest = ''] = match;
  const name = names.fromBytes(rest);
  if (name === undefined || name === '.' || name === '..') return undefined;
  const isFolder = size === '<DIR>';
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  const fullYear = year.length === 4 ? Number(year) : Number(year) + (Number(year) < 70 ? 2000 : 1900);
  return {
    name,
    kind: isFolder ? 'folder' : size.startsWith('<') ? 'link' : 'file',
    sizeBytes: isFolder ? 0 : sizeOf(size),
    modifiedMs: Date.UTC(fullYear, Number(month) - 1, Number(day), hours, Number(minute)) || 0,
    unique: undefined,
  };
}

/** What is no count of bytes counts as 0. */
function sizeOf(text: string | undefined): number {
  const size = Number(text);
  return Number.isSafeInteger(size) && size >= 0 ? size : 0;
}
