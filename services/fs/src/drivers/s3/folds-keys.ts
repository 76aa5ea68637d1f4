import { randomBytes } from 'node:crypto';
import { isEntryName } from '@wharf/paths';
import { otherSpellings, spellingsToAsk } from '../../driver-contract/folding.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import { payloadOf, type S3Client } from './client.ts';
import { UPLOADS_FOLDER } from './keys.ts';

/** It has a letter in two cases, and one in two forms. */
const TRIED_NAME = 'a-\u00e9';
/** Of a bucket that cannot be written to so many names are asked for in other spellings, of so many. */
const [MAX_ASKED, MAX_LISTED] = [8, 100];

/**
 * Whether a store takes `A` for `a`, or NFC for NFD, as some do that keep objects as files. Tried with an object that lies where drafts do, so that it goes as they
 * do where it is left; or by names that are there. False where nothing tells.
 */
export async function foldsKeys(client: S3Client, keyPrefix: string, options: CallOptions): Promise<boolean> {
  const folder = `${keyPrefix}${UPLOADS_FOLDER}/draft-${randomBytes(16).toString('hex')}/`;
  const tried = client.put(folder + TRIED_NAME, payloadOf('', false), { contentType: 'text/plain' }, {}, options).then(() => true);
  // Whoever may not write finds out with the first write.
  if (!(await unlessRefused(tried, options))) return (await unlessRefused(foldsNames(client, keyPrefix, options), options)) ?? false;
  try {
    return await answersToAny(client, otherSpellings(TRIED_NAME), (other) => folder + other, options);
  } finally {
    await client.delete(folder + TRIED_NAME, options).catch(() => undefined);
  }
}

async function foldsNames(client: S3Client, keyPrefix: string, options: CallOptions): Promise<boolean> {
  const { objects } = await client.firstPage({ prefix: keyPrefix, delimiter: '/', maxKeys: MAX_LISTED, ...options });
  const names = new Set<string>(objects.map(({ key }) => key.slice(keyPrefix.length)).filter(isEntryName));
  const others = spellingsToAsk(names, (name) => names.has(name), MAX_ASKED);
  return answersToAny(client, others, (other) => keyPrefix + other, options);
}

/** Whether the store has something by a name that it does not list: what it lists is there by itself, maybe far behind the names that were read. */
async function answersToAny(client: S3Client, others: string[], keyOf: (name: string) => string, options: CallOptions): Promise<boolean> {
  const isFolded = async (key: string) => {
    if ((await client.findHead(key, options)) === undefined) return false;
    const page = await unlessRefused(client.firstPage({ prefix: key, maxKeys: 1, ...options }), options);
    return page?.objects[0]?.key !== key;
  };
  const answers = await Promise.all(others.map((other) => unlessRefused(isFolded(keyOf(other)), options)));
  return answers.includes(true);
}

/** Undefined where it fails. @throws what the caller's signal says */
async function unlessRefused<Result>(asked: Promise<Result>, { signal }: CallOptions): Promise<Result | undefined> {
  try {
    return await asked;
  } catch {
    throwIfAborted(signal);
    return undefined;
  }
}
