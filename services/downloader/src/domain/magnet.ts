import { AppError } from '@wharf/errors';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

export const isMagnet = (text: string): boolean => /^magnet:/i.test(text);

/** The v1 hash in hexadecimal, or the first forty digits of the v2 one, as tools identify torrents. @throws AppError INVALID_ARGUMENT */
export function magnetHash(text: string): string {
  const topics = new URLSearchParams(text.slice(text.indexOf('?') + 1)).getAll('xt');
  for (const topic of topics) {
    const v1 = /^urn:btih:([0-9a-f]{40}|[a-z2-7]{32})$/i.exec(topic)?.[1]?.toLowerCase();
    if (v1) return v1.length === 40 ? v1 : fromBase32(v1);
  }
  const v2 = topics.map((topic) => /^urn:btmh:1220([0-9a-f]{64})$/i.exec(topic)?.[1]?.toLowerCase()).find((hash) => hash !== undefined);
  if (!v2) throw new AppError('INVALID_ARGUMENT', 'the magnet link names no torrent');
  return v2.slice(0, 40);
}

function fromBase32(text: string): string {
  let bits = '';
  for (const character of text) bits += BASE32.indexOf(character).toString(2).padStart(5, '0');
  return (bits.match(/.{4}/g) ?? []).map((four) => Number.parseInt(four, 2).toString(16)).join('');
}
