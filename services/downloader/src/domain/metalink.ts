import { AppError } from '@wharf/errors';
import type { Pace } from '@wharf/pace';

/** Longer than any address that is used. */
const MAX_URL_LENGTH = 8_192;
/** So many tags or comments are read between two steps of the pace. */
const TAGS_PER_STEP = 1_000;

const URL_TAG = /<(?:[\w.-]+:)?url\b/iy;

/** The addresses in a metalink, in time linear in its length. @throws AppError CONTENT_CORRUPT for what a tool may read otherwise than we do */
export async function metalinkUrls(text: string, maxUrls: number, pace: Pace): Promise<string[]> {
  const plain = await withoutComments(text, pace);
  // Entities and other documents could name addresses that are not seen here.
  if (!/<metalink\b/i.test(plain) || /<!|<\?xml-stylesheet|<metaurl\b/i.test(plain)) throw unusableMetalink();
  const urls: string[] = [];
  let open = plain.indexOf('<');
  for (let count = 1; open !== -1; count += 1) {
    if (count % TAGS_PER_STEP === 0) await pace.step();
    const end = plain.indexOf('>', open);
    const next = plain.indexOf('<', open + 1);
    // Tags begin and end in turn.
    if (end === -1 || (next !== -1 && next < end)) throw unusableMetalink();
    URL_TAG.lastIndex = open;
    if (URL_TAG.test(plain) && plain[end - 1] !== '/') {
      // An address in several pieces would be put together by its reader.
      if (next === -1 || plain[next + 1] !== '/') throw unusableMetalink();
      if (next - end > MAX_URL_LENGTH || urls.length === maxUrls) throw unusableMetalink();
      urls.push(decodeXml(plain.slice(end + 1, next).trim()));
    }
    open = next;
  }
  return urls;
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
