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

/** A torrent of a folder, whose content a web seed has. @param extra further keys, for example `announce` */
export function makeTorrent(name: string, files: ReadonlyMap<string, Buffer>, extra: Record<string, Value>): Buffer {
  const all = Buffer.concat([...files.values()]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < all.length; at += PIECE_BYTES)
    pieces.push(
      createHash('sha1')
        .update(all.subarray(at, at + PIECE_BYTES))
        .digest(),
    );
  const info = {
    name,
    'piece length': PIECE_BYTES,
    pieces: Buffer.concat(pieces),
    files: [...files].map(([path, content]) => ({ length: content.length, path: path.split('/') })),
  };
  return encode({ ...extra, info });
}
