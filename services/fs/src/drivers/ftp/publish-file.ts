import type { AppError } from '@wharf/errors';
import { MOUNT_ROOT, type MountPath, parentPath } from '@wharf/paths';
import type { Call } from '../../driver-contract/calls.ts';
import type { WriteOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { FtpSession } from './client.ts';
import { isRefusal, isTooMany } from './errors.ts';
import type { RemoteEntry } from './listing.ts';
import { hasFile, kindOf, orRefused } from './look.ts';

/** So often the name may be given to something else between a question and its answer. */
const MAX_QUESTIONS = 100;

/** What changes names of one storage, with one of its sessions. */
export interface Names {
  readonly session: FtpSession;
  place(path: MountPath): string;
  /** What is there now, as a listing says it. */
  look(path: MountPath): Promise<RemoteEntry | undefined>;
  /** As `Asides` does it. @param source where that is which is to take the name */
  stepAside(path: MountPath, source: string, work: (aside: string) => Promise<void>): Promise<void>;
  /** Runs alone among those of this process that change what is at the path. */
  alone<Result>(path: MountPath, work: () => Promise<Result>): Promise<Result>;
  /** @returns whether this process has changed what is at the path since */
  watch(path: MountPath): { hasChanged(): boolean; end(): void };
}

/** Gives a finished file its name. @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY | STALE_VERSION; what `beforePublish` throws */
export async function publishFile(
  names: Names,
  temp: string,
  file: MountPath,
  { overwrite, beforePublish }: Pick<WriteOptions, 'overwrite' | 'beforePublish'>,
  call: Call,
): Promise<void> {
  for (let question = 1; question <= MAX_QUESTIONS; question++) {
    const watch = names.watch(file);
    try {
      const before = beforePublish && checkReplaceable(await names.look(file), overwrite);
      await beforePublish?.();
      const isPlaced = await names.alone(file, async () => {
        if (watch.hasChanged() && beforePublish) return false;
        if (beforePublish && !isSame(before, await names.look(file))) return false;
        if (!overwrite) await checkFree(names.session, names.place(file));
        await call.commit();
        await replace(names, temp, file);
        if (await hasFile(names.session, temp)) throw notNamed();
        return true;
      });
      if (isPlaced) return;
    } finally {
      watch.end();
    }
  }
  throw storageError('STALE_VERSION');
}

/** @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY */
function checkReplaceable(there: RemoteEntry | undefined, overwrite: boolean): RemoteEntry | undefined {
  if (there === undefined) return undefined;
  if (!overwrite) throw storageError('ENTRY_EXISTS');
  if (there.kind === 'folder') throw storageError('IS_A_DIRECTORY');
  return there;
}

/** @throws AppError ENTRY_EXISTS */
export async function checkFree(session: FtpSession, place: string): Promise<void> {
  if ((await kindOf(session, place)) !== undefined) throw storageError('ENTRY_EXISTS');
}

/** The protocol has no number by which to know a file again; some servers tell one all the same. */
function isSame(before: RemoteEntry | undefined, now: RemoteEntry | undefined): boolean {
  if (before === undefined || now === undefined) return before === now;
  return (['kind', 'sizeBytes', 'modifiedMs', 'unique'] as const).every((key) => before[key] === now[key]);
}

/** Puts a file or a folder in the place of what is there, or of nothing. @throws AppError by what is there */
export async function replace(names: Names, from: string, to: MountPath): Promise<void> {
  const { session } = names;
  const place = names.place(to);
  const refusal = await move(session, from, place);
  if (refusal === undefined) return;
  const [source, target] = [await kindOf(session, from), await kindOf(session, place)];
  if (source === undefined) throw storageError('ENTRY_NOT_FOUND', refusal);
  if (target === undefined) {
    if (to === MOUNT_ROOT) throw storageError('STORAGE_UNAVAILABLE', refusal);
    const above = await kindOf(session, names.place(parentPath(to)));
    if (above !== 'folder') throw storageError(above === undefined ? 'ENTRY_NOT_FOUND' : 'NOT_A_DIRECTORY', refusal);
    throw refusal;
  }
  if (source === 'file' && target === 'folder') throw storageError('IS_A_DIRECTORY', refusal);
  if (source === 'folder' && target === 'file') throw storageError('NOT_A_DIRECTORY', refusal);
  if (source === 'folder') await replaceFolder(session, from, place);
  else await replaceFile(names, from, to);
}

/** For a server that renames to free names only. For a moment there is no folder. */
async function replaceFolder(session: FtpSession, from: string, to: string): Promise<void> {
  await removeFolder(session, to);
  const refusal = await move(session, from, to);
  if (refusal === undefined) return;
  await orRefused(session.ask('MKD', to));
  throw refusal;
}

/** The same for a file: the old one steps aside, and comes back where the new one does not get its name, also when the connection breaks. */
async function replaceFile({ session, place, stepAside }: Names, from: string, to: MountPath): Promise<void> {
  const target = place(to);
  await stepAside(to, from, async (aside) => {
    await moveOrThrow(session, target, aside);
    await moveOrThrow(session, from, target);
    // Then the old one goes.
    if (!(await hasFile(session, target))) throw notNamed();
  });
}

/** @throws AppError DIRECTORY_NOT_EMPTY: the server does not say why; that something is in it is all but always the reason */
export async function removeFolder(session: FtpSession, place: string): Promise<void> {
  await session.ask('RMD', place).catch((error: unknown) => {
    throw isRefusal(error) && !isTooMany(error) ? storageError('DIRECTORY_NOT_EMPTY', error) : error;
  });
}

/** A server may say that it gave a name and not do it: what was there before goes then, or what was to have it. */
function notNamed(): AppError {
  return storageError('STORAGE_UNAVAILABLE', new Error('the server gave no name, and says that it did'));
}

/** Gives something a free name. */
export async function moveOrThrow(session: FtpSession, from: string, to: string): Promise<void> {
  const refusal = await move(session, from, to);
  if (refusal !== undefined) throw refusal;
}

/** @returns why the server does not */
async function move(session: FtpSession, from: string, to: string): Promise<unknown> {
  try {
    await session.ask('RNFR', from);
    await session.ask('RNTO', to);
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}
