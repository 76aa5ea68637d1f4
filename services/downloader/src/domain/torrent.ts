import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { Pace } from '@wharf/pace';
import { type BencodeToken, bencodeTokens } from './bencode.ts';

/** What a torrent file names. */
export interface Torrent {
  /** The v1 hash in hexadecimal, or the first forty digits of the v2 one. */
  readonly hash: string;
  /** Of one of both versions: the first forty digits of the v2 hash. */
  readonly v2Hash?: string;
  /** What its readers connect to. */
  readonly addresses: readonly { readonly address: string; readonly isTracker: boolean }[];
  /** Nodes of the DHT to begin with: host and port, connected to as they stand. */
  readonly hasNodes: boolean;
}

/** A torrent of 40,000 files has about 700,000. */
const MAX_TOKENS = 1_000_000;
/** So many are read between two steps of the pace. */
const TOKENS_PER_STEP = 1_000;

/** By key of the outermost dictionary: whether the addresses there are trackers. */
const ADDRESS_KEYS: ReadonlyMap<string, boolean> = new Map([
  ['announce', true],
  ['announce-list', true],
  ['url-list', false],
  ['httpseeds', false],
]);

/** Walks through a torrent file, and keeps nothing but its addresses. @throws AppError CONTENT_CORRUPT; CANCELLED as the pace */
export async function readTorrent(content: Buffer, maxAddresses: number, pace: Pace): Promise<Torrent> {
  const reader = createReader(content, maxAddresses);
  const tokens = bencodeTokens(content);
  for (let count = 1; ; count += 1) {
    if (count % TOKENS_PER_STEP === 0) await pace.step();
    if (count > MAX_TOKENS) throw unusable('has too many values');
    const token = nextOf(tokens);
    if (!token) return reader.torrent();
    reader.take(token);
  }
}

function nextOf(tokens: Generator<BencodeToken, void>): BencodeToken | undefined {
  try {
    return tokens.next().value ?? undefined;
  } catch (cause) {
    throw noTorrent(cause);
  }
}

function createReader(content: Buffer, maxAddresses: number) {
  const addresses: Array<{ address: string; isTracker: boolean }> = [];
  let isDictionary = false;
  /** The key of the outermost dictionary whose value is read. */
  let section = '';
  let hasNodes = false;
  let hasPieces = false;
  let hasTree = false;
  let infoStart = -1;
  let infoEnd = -1;
  const textOf = ({ start, end }: BencodeToken) => content.toString('utf8', start, end);
  return {
    /** @throws AppError CONTENT_CORRUPT */
    take(token: BencodeToken): void {
      const { kind, depth } = token;
      if (depth === 0) isDictionary ||= kind === 'dictionary';
      else if (depth === 1 && kind === 'key') section = textOf(token);
      else if (section === 'info') {
        // One of two would be read here, and maybe the other by the tool.
        if (depth === 1 && kind !== 'end' && (kind !== 'dictionary' || infoStart !== -1)) throw noTorrent();
        if (depth === 1 && kind !== 'end') infoStart = token.start;
        if (depth === 1) infoEnd = token.end;
        if (depth !== 2 || kind !== 'key') return;
        hasPieces ||= textOf(token) === 'pieces';
        hasTree ||= textOf(token) === 'file tree';
      } else if (section === 'nodes') hasNodes ||= depth > 1 && kind !== 'end';
      else {
        const isTracker = ADDRESS_KEYS.get(section);
        if (kind !== 'text' || isTracker === undefined) return;
        if (addresses.length === maxAddresses) throw unusable('names too many addresses');
        addresses.push({ address: textOf(token), isTracker });
      }
    },
    /** What was read to its end. @throws AppError CONTENT_CORRUPT */
    torrent(): Torrent {
      if (!isDictionary || infoStart === -1) throw noTorrent();
      const hashBy = (algorithm: 'sha1' | 'sha256') =>
        createHash(algorithm).update(content.subarray(infoStart, infoEnd)).digest('hex').slice(0, 40);
      const hash = hashBy(hasPieces ? 'sha1' : 'sha256');
      return { hash, ...(hasPieces && hasTree ? { v2Hash: hashBy('sha256') } : {}), addresses, hasNodes };
    },
  };
}

const unusable = (why: string) => new AppError('CONTENT_CORRUPT', `the torrent file ${why}`);
const noTorrent = (cause?: unknown) => new AppError('CONTENT_CORRUPT', 'this is not a torrent file', { cause });
