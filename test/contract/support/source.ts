import { createHash } from 'node:crypto';
import { httpRequest } from '@wharf/harness';
import type { Composed } from './composed.ts';

const PORT = 8000;

/** A file of the source container (`source.mjs`), as downloaders reach it. @param bytesPerSecond of each connection; 0: as fast as it goes */
export function sourceUrl(name: string, sizeBytes: number, bytesPerSecond = 0): string {
  return `http://source:${PORT}/${sizeBytes}/${bytesPerSecond}/${name}`;
}

/** The SHA-256 of a file of that size. */
export async function sourceDigest(composed: Composed, sizeBytes: number): Promise<string> {
  const block = (await httpRequest(await composed.address('source', PORT), { path: '/block' })).body;
  const hash = createHash('sha256');
  for (let left = sizeBytes; left > 0; left -= block.length) hash.update(block.subarray(0, left));
  return hash.digest('hex');
}
