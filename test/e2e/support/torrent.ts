import { createHash } from 'node:crypto';

type Value = number | string | Buffer | readonly Value[] | { readonly [key: string]: Value };

/** Bencoding (BEP 3): keys in the order of their bytes. */
function encode(value: Value): Buffer {
  if (typeof value === 'number') return Buffer.from(`i${value}e`);
  if (typeof value === 'string') return encode(Buffer.from(value));
  if (Buffer.isBuffer(value)) return Buffer.concat([Buffer.from(`${value.length}:`), value]);
  if (isList(value)) return Buffer.concat([Buffer.from('l'), ...value.map(encode), Buffer.from('e')]);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.concat([Buffer.from('d'), ...entries.flatMap(([key, inner]) => [encode(key), encode(inner)]), Buffer.from('e')]);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

const PIECE_BYTES = 64 * 1024;

/** What is in a torrent, by path in its folder; a single one under the empty path is the torrent itself, without a folder. */
export type TorrentFiles = ReadonlyMap<string, Buffer>;

/** @param extra further keys, for example `announce` */
export function makeTorrent(name: string, files: TorrentFiles, extra: Record<string, Value> = {}): Buffer {
  return encode({ ...extra, info: infoOf(name, files) });
}

/** A link to the same torrent, which says nothing but its hash. */
export function makeMagnet(name: string, files: TorrentFiles): string {
  return `magnet:?xt=urn:btih:${torrentHash(name, files)}`;
}

/** In hexadecimal. */
export function torrentHash(name: string, files: TorrentFiles): string {
  return createHash('sha1')
    .update(encode(infoOf(name, files)))
    .digest('hex');
}

function infoOf(name: string, files: TorrentFiles): { readonly [key: string]: Value } {
  const all = Buffer.concat([...files.values()]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < all.length; at += PIECE_BYTES)
    pieces.push(
      createHash('sha1')
        .update(all.subarray(at, at + PIECE_BYTES))
        .digest(),
    );
  const alone = files.get('');
  return {
    name,
    'piece length': PIECE_BYTES,
    pieces: Buffer.concat(pieces),
    ...(alone
      ? { length: alone.length }
      : { files: [...files].map(([path, content]) => ({ length: content.length, path: path.split('/') })) }),
  };
}
