import type { IncomingMessage } from 'node:http';
import { AppError } from '@wharf/errors';
import { type Call, shareKeyOf } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import { ownRefusal } from '../domain/access/own-refusal.ts';
import type { Upload } from '../domain/changing/upload.ts';
import { etagOf } from '../domain/reading/etag.ts';
import type { BeforePublish, Entry } from '../driver-contract/storage-driver.ts';
import { looksUnchanged } from '../driver-contract/unchanged.ts';
import { lookAtFile } from './look-at-file.ts';
import { evaluatePreconditions, nameOf, replaceConditions } from './preconditions.ts';

/** As `Upload.store` has them; absent: the client has no such wish. */
export interface Unchanged {
  readonly beforePublish?: BeforePublish | undefined;
  readonly replaces?: Entry | undefined;
}

/**
 * Runs the storing of a file that may be replaced only while `If-Match`, `If-Unmodified-Since` or `If-None-Match` hold. It is asked before, and right before
 * the new content gets the name; what another program writes between that moment and the next is not seen.
 *
 * @throws AppError STALE_VERSION: they do not hold | INVALID_ARGUMENT: a task would store it later; what `store` throws
 */
export async function whileUnchanged<Result>(
  context: FsContext,
  { headers }: IncomingMessage,
  { located }: Upload,
  call: Call,
  store: (unchanged: Unchanged) => Promise<Result>,
): Promise<Result> {
  const conditions = replaceConditions(headers);
  if (!conditions) return store({});
  if (headers['as-task'] === 'true') throw new AppError('INVALID_ARGUMENT', `${nameOf(conditions)} and As-Task do not go together`);
  const { signal } = call;
  const options = { signal, caller: shareKeyOf(call) };
  const requireThat = (entry: Entry | undefined) => {
    if (entry ? evaluatePreconditions(conditions, etagOf(entry), entry.modifiedAt) !== 'proceed' : conditions['if-match'] !== undefined)
      throw ownRefusal('STALE_VERSION', `the file was changed since: ${nameOf(conditions)} does not hold`);
  };
  const replaces = await lookAtFile(await located.mount.driver(), located.path, options).catch(asNone);
  requireThat(replaces);
  // No content is opened then: the upload has one of the places for contents, and whoever waits for another one may wait for itself.
  const ask = async () => {
    const now = await (await located.mount.driver()).stat(located.path, options).catch(asNone);
    requireThat(now && replaces && isAsBefore(replaces, now) ? replaces : now);
  };
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  try {
    // Whoever keeps dates tells the two files apart by other means.
    const toldApart = headers['keep-last-modified'] === 'true' ? undefined : replaces;
    return await store({ replaces: toldApart, beforePublish: keepingItsTurn(context, ask, located, signal, over) });
  } finally {
    end();
  }
}

function asNone(error: unknown): undefined {
  if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
}

/** Whether a file whose storage tells no size is the one whose content told it. */
function isAsBefore(before: Entry, now: Entry): boolean {
  return now.sizeBytes === undefined && looksUnchanged({ ...before, sizeBytes: undefined }, now);
}

/**
 * Asks when no other one is between its question and the name of the same file: two that ask at the same moment would both be told that the file is
 * the one they know, and one of them would be lost. The turn is kept until `over`.
 */
function keepingItsTurn(
  { takeTurn }: FsContext,
  ask: () => Promise<unknown>,
  located: Upload['located'],
  signal: AbortSignal,
  over: Promise<void>,
): BeforePublish {
  const place = `${located.mount.storage._id}\n${located.path}`;
  let turn: Promise<void> | undefined;
  return async () => {
    turn ??= takeTurn(place, over, signal);
    await turn;
    await ask();
  };
}
