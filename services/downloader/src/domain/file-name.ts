import { randomBytes } from 'node:crypto';
import { type EntryName, isEntryName } from '@wharf/paths';
import { parse } from 'content-disposition';

const MAX_NAME_BYTES = 255;
/** An extension longer than this is no extension. */
const MAX_EXTENSION = 20;
/** Device names of Windows: files that are called so cannot be opened there. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: to find them is the purpose.
const CONTROLS = /[\u0000-\u001f\u007f]/g;

/**
 * The name of a fetched file: what the server says (RFC 6266), else the last segment of the address, else one made of the host and the time.
 * Always one bare segment, whatever the server sent.
 */
export function chooseFileName(source: { readonly url: URL; readonly disposition: string | undefined }, nowMs: number): EntryName {
  return (
    safeName(dispositionName(source.disposition)) ??
    safeName(segmentName(source.url)) ??
    safeName(`${source.url.hostname.replace(/[^\w.-]/g, '_')}-${nowMs}-${randomBytes(4).toString('hex')}`) ??
    ('download' as EntryName)
  );
}

/**
 * Makes a name of what a server or a tool calls a file: folders in front are cut off, control characters vanish, a long name is shortened
 * before its extension. Undefined when nothing is left.
 */
export function safeName(raw: string | undefined): EntryName | undefined {
  const bare = (raw ?? '').toWellFormed().split(/[/\\]/).at(-1)?.replace(CONTROLS, '').trim() ?? '';
  const plain = DEVICE_NAME.test(bare) ? `_${bare}` : bare;
  const name = shortened(plain);
  return isEntryName(name) ? name : undefined;
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= MAX_EXTENSION ? name.slice(dot) : '';
  const room = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let stem = '';
  let bytes = 0;
  for (const character of dot > 0 && extension !== '' ? name.slice(0, dot) : name) {
    bytes += Buffer.byteLength(character);
    if (bytes > room) break;
    stem += character;
  }
  return stem + extension;
}

function dispositionName(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  try {
    const { filename } = parse(header).parameters;
    return filename === undefined ? undefined : decodeUtf8(filename);
  } catch {
    return undefined;
  }
}

/** Many servers put plain UTF-8 into the header, which Node shows as latin1. */
function decodeUtf8(latin1: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of one byte is meant.
  if (!/^[\u0000-\u00ff]*$/.test(latin1)) return latin1;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return latin1;
  }
}

function segmentName(url: URL): string | undefined {
  const segment = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .at(-1);
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
