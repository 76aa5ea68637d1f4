import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { DraftContent } from '../../driver-contract/draft-spool.ts';
import type { Hashes, HashName } from '../../driver-contract/storage-driver.ts';
import { ownRefusal } from '../access/own-refusal.ts';

/** Digests by algorithm, in hexadecimal. */
export type Digests = Readonly<Record<string, string>>;

/** Hexadecimal digits of each algorithm that is known. */
const DIGEST_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['md5', 32],
  ['sha1', 40],
  ['sha256', 64],
  ['sha512', 128],
]);

/** Those that drivers check themselves. */
const DRIVER_HASHES: readonly HashName[] = ['md5', 'sha1', 'sha256'];

/** What a driver is to check while it writes. */
export function driverHashes(digests: Digests): Hashes {
  return Object.fromEntries(DRIVER_HASHES.flatMap((name) => (digests[name] ? [[name, digests[name]]] : [])));
}

/** Reads a draft and compares it with what was announced. @throws AppError CONTENT_CORRUPT | INVALID_ARGUMENT */
export async function verify(draft: DraftContent, file: { sizeBytes: number; digests: Digests }, signal: AbortSignal): Promise<void> {
  if ((await draft.sizeBytes()) !== file.sizeBytes) throw ownRefusal('CONTENT_CORRUPT', 'the file does not have the announced size');
  const wanted = Object.entries(file.digests).map(([algorithm, digest]) => {
    if (digest.length !== DIGEST_LENGTHS.get(algorithm)) throw new AppError('INVALID_ARGUMENT', `${algorithm} is no digest that is known`);
    return { algorithm, digest: digest.toLowerCase(), hash: createHash(algorithm) };
  });
  if (wanted.length === 0) return;
  for await (const chunk of draft.read({ signal })) for (const { hash } of wanted) hash.update(chunk);
  for (const { algorithm, digest, hash } of wanted)
    if (hash.digest('hex') !== digest) throw ownRefusal('CONTENT_CORRUPT', `the file does not have the announced ${algorithm} digest`);
}
