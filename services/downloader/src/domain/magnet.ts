import { AppError } from '@wharf/errors';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

export const isMagnet = (text: string): boolean => /^magnet:/i.test(text);

/**
 * What the link names: a v1 hash in hexadecimal, or the first forty digits of a v2 one, as tools identify torrents; of one of both versions each.
 *
 * @throws AppError INVALID_ARGUMENT: it names none, or several torrents
 */
export function magnetHashes(text: string): { readonly hash: string; readonly v2Hash?: string } {
  const topics = new URLSearchParams(text.slice(text.indexOf('?') + 1)).getAll('xt');
  const named = (form: RegExp) => new Set(topics.flatMap((topic) => form.exec(topic)?.[1]?.toLowerCase() ?? []));
  const v1 = new Set([...named(/^urn:btih:([0-9a-f]{40}|[a-z2-7]{32})$/i)].map((hash) => (hash.length === 40 ? hash : fromBase32(hash))));
  const v2 = named(/^urn:btmh:1220([0-9a-f]{64})$/i);
  // Of several a tool may take another one than we look for: somebody else's.
  if (v1.size > 1 || v2.size > 1) throw new AppError('INVALID_ARGUMENT', 'the magnet link names several torrents');
  const [hash, v2Hash] = [...v1, ...v2].map((each) => each.slice(0, 40));
  if (hash === undefined) throw new AppError('INVALID_ARGUMENT', 'the magnet link names no torrent');
  return { hash, ...(v2Hash === undefined ? {} : { v2Hash }) };
}

function fromBase32(text: string): string {
  let bits = '';
  for (const character of text) bits += BASE32.indexOf(character).toString(2).padStart(5, '0');
  return (bits.match(/.{4}/g) ?? []).map((four) => Number.parseInt(four, 2).toString(16)).join('');
}
