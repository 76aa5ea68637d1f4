import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type Bencoded, decodeBencode } from './bencode.ts';

/** What a torrent file names. */
export interface Torrent {
  /** The v1 hash in hexadecimal, or the first forty digits of the v2 one. */
  readonly hash: string;
  /** What its readers connect to. */
  readonly addresses: readonly { readonly address: string; readonly isTracker: boolean }[];
  /** Nodes of the DHT to begin with: host and port, connected to as they stand. */
  readonly hasNodes: boolean;
}

/** @throws AppError CONTENT_CORRUPT */
export function readTorrent(content: Buffer): Torrent {
  const { value, info } = decodeTorrent(content);
  const nodes = value.get('nodes');
  const addresses = ADDRESS_KEYS.flatMap(({ key, isTracker }) => textsIn(value.get(key)).map((address) => ({ address, isTracker })));
  return { hash: info, addresses, hasNodes: Array.isArray(nodes) && nodes.length > 0 };
}

const ADDRESS_KEYS = [
  { key: 'announce', isTracker: true },
  { key: 'announce-list', isTracker: true },
  { key: 'url-list', isTracker: false },
  { key: 'httpseeds', isTracker: false },
] as const;

function decodeTorrent(content: Buffer): { value: ReadonlyMap<string, Bencoded>; info: string } {
  try {
    const { value, info } = decodeBencode(content);
    if (!(value instanceof Map) || !info) throw new Error('no torrent');
    const infoMap = value.get('info');
    const isV1 = infoMap instanceof Map && infoMap.has('pieces');
    const hash = createHash(isV1 ? 'sha1' : 'sha256')
      .update(info)
      .digest('hex')
      .slice(0, 40);
    return { value, info: hash };
  } catch (cause) {
    throw new AppError('CONTENT_CORRUPT', 'this is not a torrent file', { cause });
  }
}

function textsIn(value: Bencoded | undefined): string[] {
  if (Buffer.isBuffer(value)) return [value.toString('utf8')];
  return Array.isArray(value) ? value.flatMap(textsIn) : [];
}
