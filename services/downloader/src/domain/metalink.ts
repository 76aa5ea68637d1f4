import { AppError } from '@wharf/errors';
import type { Pace } from '@wharf/pace';
import { isLikeOwn } from './aria2-names.ts';

/** Longer than any address that is used. */
const MAX_URL_LENGTH = 8_192;
/** So many tags or comments are read between two steps of the pace. */
const TAGS_PER_STEP = 1_000;

/** The only instruction that is read, in encodings in which no other bytes make a tag. */
const DECLARATION =
  /^\uFEFF?<\?xml\s+version\s*=\s*["'][\d.]+["'](?:\s+encoding\s*=\s*["'](?:utf-8|us-ascii|iso-8859-1)["'])?(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>/i;
/** A tag without its end: whether it closes, its name, its attributes. What has a `>` in its quotes is none, as it ends elsewhere for others. */
const TAG = /^<(\/?)([^\s<>/]+)((?:\s+[^\s<>="'/]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*)\s*(\/?)$/;
const NAME = /[\s:]name\s*=\s*["']([^"']*)/gi;
const TYPE = /[\s:]type\s*=\s*["']([^"']*)/gi;

/** The addresses in a metalink, in time linear in its length. @throws AppError CONTENT_CORRUPT for what a tool may read otherwise than we do */
export async function metalinkUrls(text: string, maxUrls: number, pace: Pace): Promise<string[]> {
  const plain = (await withoutComments(text.replace(DECLARATION, ''), pace)).trimStart();
  // Entities, other documents and other encodings could name addresses that are not seen here, and so could what hides the ends of a comment.
  if (!plain.startsWith('<') || !/<metalink\b/i.test(plain) || /<[!?]|\0/.test(plain)) throw unusableMetalink();
  const urls: string[] = [];
  let open = 0;
  for (let count = 1; open !== -1; count += 1) {
    if (count % TAGS_PER_STEP === 0) await pace.step();
    const end = plain.indexOf('>', open);
    const next = plain.indexOf('<', open + 1);
    // Tags begin and end in turn.
    if (end === -1 || end - open > MAX_URL_LENGTH || (next !== -1 && next < end)) throw unusableMetalink();
    if (isOfAddress(plain.slice(open, end))) {
      // An address in several pieces would be put together by its reader.
      if (next === -1 || plain[next + 1] !== '/') throw unusableMetalink();
      if (next - end > MAX_URL_LENGTH || urls.length === maxUrls) throw unusableMetalink();
      urls.push(decodeXml(plain.slice(end + 1, next).trim()));
    }
    open = next;
  }
  return urls;
}

/** Whether an address comes behind the tag. @throws AppError CONTENT_CORRUPT: it is of a torrent, whose addresses nobody would look at, or no tag */
function isOfAddress(text: string): boolean {
  const [tag, closes, name = '', attributes = '', isEmpty] = TAG.exec(text) ?? [];
  if (tag === undefined) throw unusableMetalink();
  // Whatever stands for the namespace.
  const plainName = name.slice(name.lastIndexOf(':') + 1).toLowerCase();
  if (plainName === 'metaurl') throw unusableMetalink();
  if (plainName === 'file' && [...attributes.matchAll(NAME)].some(([, name = '']) => isLikeOwn(decodeXml(name)))) throw namedLikeOwn();
  if (plainName !== 'url' || closes !== '' || isEmpty !== '') return false;
  for (const [, type = ''] of attributes.matchAll(TYPE)) if (!/^(?:https?|ftps?)$/i.test(type)) throw unusableMetalink();
  return true;
}

async function withoutComments(text: string, pace: Pace): Promise<string> {
  const kept: string[] = [];
  let at = 0;
  for (let open = text.indexOf('<!--'); open !== -1; open = text.indexOf('<!--', at)) {
    const end = text.indexOf('-->', open + 4);
    if (end === -1) throw unusableMetalink();
    if (kept.push(text.slice(at, open)) % TAGS_PER_STEP === 0) await pace.step();
    at = end + 3;
  }
  return kept.join('') + text.slice(at);
}

function namedLikeOwn(): AppError {
  return new AppError('CONTENT_CORRUPT', 'a file of this metalink is called as aria2 calls files of its own: give it another name');
}

export function unusableMetalink(): AppError {
  return new AppError('CONTENT_CORRUPT', 'this is not a metalink that can be used');
}

const XML_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeXml(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex: string, decimal: string, name: string) => {
    if (name !== undefined) return XML_ENTITIES[name] ?? whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
