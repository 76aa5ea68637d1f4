import { z } from 'zod';
import type { Hashes } from '../../driver-contract/storage-driver.ts';

/** An entry as the other gateway shows it. */
export interface RemoteEntry {
  /** As the gateway wrote it: it may be no name at all. */
  readonly name: string;
  readonly isDirectory: boolean;
  /** Undefined: of a file of which the gateway says that it has none, as the family does of one whose size it does not know. 0 of a folder. */
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date;
  readonly createdAt: Date | undefined;
  readonly hashes: Hashes | undefined;
  readonly sign: string;
  /** Where a small picture of a file is, as the gateway wrote it; empty where it has none. */
  readonly thumb: string;
}

/** A file or folder that was asked for by its path. */
export interface RemoteDetail extends RemoteEntry {
  /** Where the bytes of a file are; empty of a folder. */
  readonly rawUrl: string;
  /** The driver of its storage; `unknown` of what only mounts make. */
  readonly provider: string;
  /** Of a file, where a Wharf was asked to look; empty: none. */
  readonly etag: string;
}

const entryShape = z.object({
  name: z.string(),
  size: z.number().catch(0),
  is_dir: z.boolean(),
  modified: z.string().catch(''),
  created: z.string().catch(''),
  sign: z.string().catch(''),
  thumb: z.string().catch(''),
  hashinfo: z.string().catch(''),
});
/** As it can be sent back; a comma would make two of it there. */
const etagShape = z
  .string()
  .regex(/^"[\x21\x23-\x2b\x2d-\x7e]{1,1024}"$/)
  .catch('');
const detailShape = entryShape.extend({ raw_url: z.string().catch(''), provider: z.string().catch(''), etag: etagShape });

/** @returns undefined for what is no entry */
export function readEntry(value: unknown): RemoteEntry | undefined {
  const { data } = entryShape.safeParse(value);
  return data && entryOf(data);
}

/** @returns undefined for what is no entry */
export function readDetail(value: unknown): RemoteDetail | undefined {
  const { data } = detailShape.safeParse(value);
  return data && { ...entryOf(data), rawUrl: data.raw_url, provider: data.provider, etag: data.etag };
}

/** Whether nothing tells two looks at a name apart. */
export function isSame(one: RemoteEntry | undefined, other: RemoteEntry | undefined): boolean {
  return (
    one?.isDirectory === other?.isDirectory &&
    one?.sizeBytes === other?.sizeBytes &&
    one?.modifiedAt.getTime() === other?.modifiedAt.getTime()
  );
}

function entryOf({ name, size, is_dir, modified, created, sign, thumb, hashinfo }: z.output<typeof entryShape>): RemoteEntry {
  const modifiedAt = dateOf(modified) ?? new Date(0);
  const createdAt = dateOf(created);
  return {
    name,
    isDirectory: is_dir,
    sizeBytes: is_dir ? 0 : Number.isSafeInteger(size) && size > 0 ? size : undefined,
    modifiedAt,
    // A storage that does not know it says when the entry was modified.
    createdAt: createdAt?.getTime() === modifiedAt.getTime() ? undefined : createdAt,
    hashes: is_dir ? undefined : hashesOf(hashinfo),
    sign,
    thumb: is_dir ? '' : thumb,
  };
}

/** RFC 3339. The year 1 stands for a date that is not known. */
function dateOf(text: string): Date | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) || text.startsWith('0001-01-01') ? undefined : new Date(ms);
}

const DIGITS = { md5: 32, sha1: 40, sha256: 64 } as const;

function hashesOf(text: string): Hashes | undefined {
  if (text === '' || text === 'null') return undefined;
  let told: unknown;
  try {
    told = JSON.parse(text);
  } catch {
    return undefined;
  }
  const found = Object.entries(DIGITS).flatMap(([name, length]) => {
    const value: unknown = typeof told === 'object' && told !== null ? Reflect.get(told, name) : undefined;
    return typeof value === 'string' && value.length === length && /^[0-9a-f]+$/i.test(value) ? [[name, value.toLowerCase()]] : [];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
