import { randomInt } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { Call } from '../../driver-contract/calls.ts';
import type { WriteOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { TempFiles } from '../../driver-contract/temp-files.ts';
import { OPEN, type RemoteAttrs, type SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';
import { orAbsent, type RemoteRoot, type Seen } from './remote-root.ts';

/** So often the name may be given to something else between a question and its answer. */
const MAX_QUESTIONS = 100;
/** A mark is a time of last access at most so many seconds away from the true one. */
const MAX_MARK = 1_000_000;

/** What a name leads to that another thing is to have. */
export interface Target {
  readonly place: string;
  readonly path: MountPath;
  readonly temps: TempFiles;
  /** What gets the name has one of ours now, which nobody else gives to anything. */
  readonly isOurs?: true;
}

/** A finished file under a name of ours, closed. */
export interface FinishedFile {
  readonly place: string;
  readonly root: RemoteRoot;
  readonly session: SftpSession;
  readonly temps: TempFiles;
}

/** Gives a finished file its name. @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY | STALE_VERSION; what `beforePublish` throws */
export async function publishFile(
  { place, root, session, temps }: FinishedFile,
  file: MountPath,
  { overwrite, beforePublish }: Pick<WriteOptions, 'overwrite' | 'beforePublish'>,
  call: Call,
): Promise<void> {
  for (let question = 1; question <= MAX_QUESTIONS; question++) {
    if (beforePublish) {
      const holder = await holderOf(session, root.place(file));
      try {
        await checkReplaceable(session, root, file, overwrite);
        await beforePublish();
        throwIfAborted(call.signal);
        if (!(await holder.hasName())) continue;
      } finally {
        holder.letGo();
      }
    }
    await root.checkFree(session, file);
    await call.commit();
    const target = { place: root.place(file), path: file, temps, isOurs: true } as const;
    return (overwrite ? replace : placeExclusively)(session, place, target);
  }
  throw storageError('STALE_VERSION');
}

/** @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY */
async function checkReplaceable(
  session: SftpSession,
  root: RemoteRoot,
  file: MountPath,
  overwrite: boolean,
): Promise<RemoteAttrs | undefined> {
  return requireReplaceable(session, root, file, overwrite, await root.look(session, file));
}

/** The same where it was looked at. @param there what is there */
export async function requireReplaceable(
  session: SftpSession,
  root: RemoteRoot,
  file: MountPath,
  overwrite: boolean,
  there: Seen | undefined,
): Promise<RemoteAttrs | undefined> {
  if (there === undefined) {
    await root.checkFree(session, file);
    return undefined;
  }
  if (!overwrite) throw storageError('ENTRY_EXISTS');
  if (there.attrs.kind === 'folder') throw storageError('IS_A_DIRECTORY');
  return there.attrs;
}

/** Puts a file or a folder in the place of what is there, or of nothing. @throws AppError by what is there */
export async function replace(session: SftpSession, from: string, target: Target): Promise<void> {
  const { place: to, path, temps } = target;
  const rename = renaming(session, from, to);
  try {
    return await surely(session, from, target, rename);
  } catch (error) {
    // OpenSSH says NO_SUCH_FILE of a folder that would replace a file.
    if (!isRefusal(error, STATUS.FAILURE) && !isRefusal(error, STATUS.NO_SUCH_FILE)) throw error;
    const [source, there] = await Promise.all([orAbsent(session.lstat(from)), orAbsent(session.lstat(to))]);
    if (source === undefined) throw storageError('ENTRY_NOT_FOUND', error);
    if (there === undefined) throw isRefusal(error, STATUS.FAILURE) ? storageError('UNSUPPORTED_OPERATION', error) : error;
    if (there.kind === 'folder') throw storageError(source.kind === 'folder' ? 'DIRECTORY_NOT_EMPTY' : 'IS_A_DIRECTORY', error);
    if (source.kind === 'folder') throw storageError('NOT_A_DIRECTORY', error);
    if (session.extensions.posixRename) throw storageError('UNSUPPORTED_OPERATION', error);
  }
  // A server that only renames to free names: for a moment there is none.
  const work = async (aside: string) => {
    await session.rename(to, aside);
    await surely(session, from, target, () => session.rename(from, to));
  };
  await temps.asides.stepAside(path, work, { source: from });
}

/**
 * Gives something its name, and sees that it has it: a server may say so and not do it, and what was there before, or what it was made from, goes then. To one
 * that does requests in their order the looks go along.
 *
 * @param step gives the name. @throws what it throws; AppError STORAGE_UNAVAILABLE: it was not done
 */
async function surely(
  session: SftpSession,
  from: string,
  { place, isOurs }: Pick<Target, 'place' | 'isOurs'>,
  step: () => Promise<void>,
): Promise<void> {
  const look = () => Promise.all([isOurs && orAbsent(session.lstat(from)), orAbsent(session.lstat(place))]);
  const done = step();
  const early = session.keepsOrder ? look() : undefined;
  // Its failure is that of the step, or is met after it.
  early?.catch(() => undefined);
  await done;
  const [left, placed] = await (early ?? look());
  if (left || placed === undefined) throw storageError('STORAGE_UNAVAILABLE', new NotDone('the server gave no name, and says that it did'));
}

class NotDone extends Error {}

/** Replaces what has the name where the server can. */
const renaming = (session: SftpSession, from: string, to: string) => () =>
  session.extensions.posixRename ? session.posixRename(from, to) : session.rename(from, to);

/** Gives something another spelling of its name, on a server that takes the two for one. */
export async function respell(session: SftpSession, from: Target, to: string): Promise<void> {
  if (session.extensions.posixRename) return session.posixRename(from.place, to);
  const work = async (aside: string) => {
    await session.rename(from.place, aside);
    await session.rename(aside, to);
  };
  await from.temps.asides.stepAside(from.path, work, { isRespelled: true });
}

/**
 * Moves a file to a name that must be free, decided by the server in one step: a second name is made, which fails when it is taken, then the first
 * is removed. Where there are no hard links, the name is taken by an empty file first.
 *
 * @throws AppError ENTRY_EXISTS
 */
export async function placeExclusively(session: SftpSession, from: string, target: Target): Promise<void> {
  const { place: to, temps } = target;
  const { hardlink, posixRename } = session.extensions;
  try {
    if (hardlink) return await linkAndRemove(session, from, to);
    if (!posixRename) return await surely(session, from, target, () => session.rename(from, to));
  } catch (error) {
    if (hardlink && error instanceof AppError && error.cause instanceof NotDone) return placeAfterLook(session, from, target);
    await explainTaken(session, from, to, error);
    if (!posixRename) throw storageError('UNSUPPORTED_OPERATION', error);
  }
  await takeName(session, to, async () => session.close(await session.open(to, OPEN.WRITE | OPEN.CREATE | OPEN.EXCLUSIVE)));
  await surely(session, from, target, () => session.posixRename(from, to)).catch(async (error: unknown) => {
    await temps.discard(to);
    throw error;
  });
}

/** For servers that say they make second names, and make none, as rclone's: it would empty, too, what has the name that is to be taken. */
async function placeAfterLook(session: SftpSession, from: string, target: Target): Promise<void> {
  if ((await orAbsent(session.lstat(target.place))) !== undefined) throw storageError('ENTRY_EXISTS');
  await surely(session, from, target, renaming(session, from, target.place));
}

/** The same for a folder: the name is taken by an empty folder, which a rename may replace. @throws AppError ENTRY_EXISTS | UNSUPPORTED_OPERATION */
export async function placeFolderExclusively(session: SftpSession, from: string, target: Target): Promise<void> {
  const { place: to, temps } = target;
  try {
    if (!session.extensions.posixRename) return await surely(session, from, target, () => session.rename(from, to));
    await takeName(session, to, () => session.makeFolder(to));
    await surely(session, from, target, () => session.posixRename(from, to)).catch(async (error: unknown) => {
      await temps.discard(to);
      throw error;
    });
  } catch (error) {
    await explainTaken(session, from, to, error);
    throw storageError('UNSUPPORTED_OPERATION', error);
  }
}

async function linkAndRemove(session: SftpSession, from: string, to: string): Promise<void> {
  await surely(session, from, { place: to }, () => session.hardlink(from, to));
  await session.removeFile(from).catch(async (error: unknown) => {
    await session.removeFile(to);
    throw error;
  });
}

async function takeName(session: SftpSession, to: string, make: () => Promise<void>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (isRefusal(error, STATUS.FAILURE) && (await orAbsent(session.lstat(to))) !== undefined) throw storageError('ENTRY_EXISTS', error);
    throw error;
  }
}

/** Ends well where the server's refusal may only mean that it cannot do it this way. */
async function explainTaken(session: SftpSession, from: string, to: string, error: unknown): Promise<void> {
  if (!isRefusal(error, STATUS.FAILURE) && !isRefusal(error, STATUS.PERMISSION_DENIED)) throw error;
  const [source, target] = await Promise.all([orAbsent(session.lstat(from)), orAbsent(session.lstat(to))]);
  if (source === undefined) throw storageError('ENTRY_NOT_FOUND', error);
  if (target !== undefined) throw storageError('ENTRY_EXISTS', error);
}

/** What has a name now, if anything. */
interface Holder {
  /** Whether it still has it. */
  hasName(): Promise<boolean>;
  letGo(): void;
}

/**
 * The protocol has no number by which to know a file again. So the file is kept open, and to see whether the name still leads to it, a time of
 * last access is set on the open file and looked for under the name. Where it may not be set, size, mode and dates tell.
 */
async function holderOf(session: SftpSession, place: string): Promise<Holder> {
  const before = await orAbsent(session.lstat(place));
  if (before === undefined) return { hasName: async () => (await orAbsent(session.lstat(place))) === undefined, letGo: () => undefined };
  const handle = before.kind === 'file' ? await session.open(place, OPEN.READ).catch(notAllowed) : undefined;
  return {
    async hasName() {
      const mark = Math.max(0, before.accessedAt - randomInt(1, MAX_MARK));
      // A server may say that it set it, and keep no such times.
      const isMarked =
        handle !== undefined &&
        (await session
          .fsetstat(handle, { atime: mark, mtime: before.modifiedAt })
          .then(async () => (await session.fstat(handle)).accessedAt === mark)
          .catch((error: unknown) => notAllowed(error) ?? false));
      const now = await orAbsent(session.lstat(place));
      if (now === undefined) return false;
      if (isMarked) return now.accessedAt === mark;
      return (['kind', 'sizeBytes', 'mode', 'uid', 'modifiedAt'] as const).every((key) => now[key] === before[key]);
    },
    letGo() {
      if (handle) session.close(handle).catch(() => undefined);
    },
  };
}

function notAllowed(error: unknown): undefined {
  if (AppError.is(error)) throw error;
}
