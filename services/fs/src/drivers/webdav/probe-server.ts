import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { isEntryName } from '@wharf/paths';
import { foldsCase, spellingsToAsk, triedTraits } from '../../driver-contract/folding.ts';
import { LATE_LOOKS_MS } from '../../driver-contract/really-renamed.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { isAway, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { Place, WebdavClient } from './client.ts';

/** What a server shows when it is tried. */
export interface ServerTraits {
  /** It keeps the date that a write gives (`X-OC-Mtime`). */
  readonly keepsDates: boolean;
  /** It takes a content of which nobody has said the size. */
  readonly takesUnknownSizes: boolean;
  readonly replacing: Replacing;
}

/**
 * How something takes the place of what has a name, so that a MOVE that is carried out late or twice, when nothing is left to move, takes nothing away:
 * `plain`: by a MOVE that replaces. The server looks first what there is to move, or could not be tried
 * `if-there`: by the same with `If-Match: *`, without which the server removes what has the name before it looks
 * `step-aside`: that gives up its name before, as the server removes it first whatever it is told, or did not say what it does: it was too busy, or its proxy answered
 */
export type Replacing = 'plain' | 'if-there' | 'step-aside';

/** Of a folder that cannot be written to, so many entries are asked for in other spellings. */
const MAX_LOOKED_AT = 8;
/** A date that no write has by itself. */
const ODD_DATE = new Date('2001-02-03T04:05:06Z');

/**
 * Tries a server out, in a folder of ours that is gone afterwards.
 *
 * @throws AppError FAILED_PRECONDITION: it does not tell `A` from `a`, or replaces what it was told not to
 */
export async function probeServer(client: WebdavClient, folder: Place, options: CallOptions): Promise<ServerTraits> {
  if (!(await canMake(client, folder, options))) {
    if (await foldsNames(client, options)) throw foldsCase();
    return { keepsDates: false, takesUnknownSizes: true, replacing: 'plain' };
  }
  try {
    const names = await triedTraits(async (name, other) => {
      const isMade = await made(client.makeFolder(`${folder}/${name}`, options));
      if (!isMade) return { isKept: true, isFolded: false };
      const [isKept, there] = await Promise.all([isListed(client, folder, name, options), client.find(`${folder}/${other}`, options)]);
      return { isKept, isFolded: there !== undefined };
    });
    if (names.folds) throw foldsCase();
    const sent = await triedWrite(client, `${folder}/a`, undefined, options);
    const isKept = sent ?? (await triedWrite(client, `${folder}/a`, 1, options)) ?? false;
    await triedWrite(client, `${folder}/b`, 1, options);
    if (!(await refusesToReplace(client, `${folder}/a`, `${folder}/b`, options))) {
      throw new AppError(
        'FAILED_PRECONDITION',
        'the server replaces files that it was asked to leave (Overwrite: F): it is not safe to use',
      );
    }
    const replacing = await triedReplacing(client, folder, options);
    return { keepsDates: isKept, takesUnknownSizes: sent !== undefined, replacing };
  } finally {
    await client.delete(folder, true, {}).catch(() => undefined);
  }
}

async function canMake(client: WebdavClient, folder: Place, options: CallOptions): Promise<boolean> {
  try {
    return await client.makeFolder(folder, options);
  } catch (error) {
    throwIfAborted(options.signal);
    // Whoever may not write finds out with the first write.
    if (['PERMISSION_DENIED', 'UNSUPPORTED_OPERATION', 'QUOTA_EXCEEDED', 'INTERNAL'].includes(AppError.from(error).code)) return false;
    throw error;
  }
}

async function made(making: Promise<boolean>): Promise<boolean> {
  try {
    return await making;
  } catch (error) {
    if (AppError.is(error, 'STORAGE_UNAVAILABLE')) throw error;
    return false;
  }
}

/** @returns whether the date was kept; undefined: the write was refused */
async function triedWrite(
  client: WebdavClient,
  place: Place,
  sizeBytes: number | undefined,
  options: CallOptions,
): Promise<boolean | undefined> {
  const content = (async function* () {
    yield Buffer.from('x');
  })();
  try {
    const isAccepted = await client.put(place, content, { sizeBytes, modifiedAt: ODD_DATE }, options);
    return isAccepted || (await client.find(place, options))?.modifiedAt.getTime() === ODD_DATE.getTime();
  } catch (error) {
    throwIfAborted(options.signal);
    if (AppError.is(error, 'STORAGE_UNAVAILABLE') && sizeBytes !== undefined) throw error;
    return undefined;
  }
}

async function refusesToReplace(client: WebdavClient, from: Place, to: Place, options: CallOptions): Promise<boolean> {
  try {
    await client.place('MOVE', from, to, false, false, options);
    return false;
  } catch (error) {
    if (AppError.is(error, 'STALE_VERSION')) return true;
    throw error;
  }
}

/** @param folder has the files `a` and `b` */
async function triedReplacing(client: WebdavClient, folder: Place, options: CallOptions): Promise<Replacing> {
  const [file, other] = [`${folder}/a`, `${folder}/b`];
  /** @returns whether something has the name of what was to be replaced; undefined: nobody says whether the server was asked */
  const stays = async (from: Place, ifThere: boolean) => {
    for (const pauseMs of [0, ...LATE_LOOKS_MS]) {
      await wait(pauseMs, undefined, { signal: options.signal });
      const failure = await client.place('MOVE', from, other, false, true, { ...options, ifThere }).catch((error: unknown) => error);
      throwIfAborted(options.signal);
      if ((await client.find(other, options)) === undefined) return false;
      if (!isAway(failure) && !AppError.is(failure, 'FAILED_PRECONDITION')) return true;
    }
    return undefined;
  };
  // Of a server that does not show what is called so nothing is known.
  if ((await client.find(other, options)) === undefined) return 'plain';
  const looksFirst = await stays(`${folder}/missing`, false);
  if (looksFirst !== false) return looksFirst ? 'plain' : 'step-aside';
  await triedWrite(client, other, 1, options);
  if (!(await stays(`${folder}/missing`, true))) return 'step-aside';
  const isMoved = (await stays(file, true)) && (await client.find(file, options)) === undefined;
  return isMoved ? 'if-there' : 'step-aside';
}

/** Nothing is kept of what is listed: a server may list without an end. */
async function isListed(client: WebdavClient, folder: Place, wanted: string, options: CallOptions): Promise<boolean> {
  let isThere = false;
  for await (const { name } of client.list(folder, options)) isThere ||= name === wanted;
  return isThere;
}

/** Whether names that are not listed lead to something all the same. One that is empty tells nothing, and has nothing that could be reached. */
async function foldsNames(client: WebdavClient, options: CallOptions): Promise<boolean> {
  const names = new Set<string>();
  for await (const { name } of client.list('/', options)) {
    if (name !== undefined && isEntryName(name)) names.add(name);
    if (names.size === MAX_LOOKED_AT) break;
  }
  const asked = spellingsToAsk(names, (name) => names.has(name), MAX_LOOKED_AT);
  const found = await Promise.all(asked.map((other) => client.find(`/${other}`, options)));
  const answering = new Set(asked.filter((_, index) => found[index] !== undefined));
  if (answering.size === 0) return false;
  // What is listed is there by itself, maybe far behind the names that were read.
  for await (const { name } of client.list('/', options)) {
    if (name !== undefined) answering.delete(name);
    if (answering.size === 0) return false;
  }
  return true;
}
