import { posix } from 'node:path';
import { baseName, type MountPath, parentPath } from '@wharf/paths';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { FtpSession } from './client.ts';
import { isRefusal, isTooMany } from './errors.ts';
import { readFolder } from './folder.ts';
import { parseFacts, parseListLine, type RemoteEntry } from './listing.ts';
import type { RemoteRoot } from './remote-root.ts';
import type { FtpSettings } from './settings.ts';

/** What is at a path, as a listing says it. Undefined where nothing is, or nothing that we may know of. */
export async function look(
  session: FtpSession,
  settings: FtpSettings,
  root: RemoteRoot,
  path: MountPath,
  signal: AbortSignal,
): Promise<RemoteEntry | undefined> {
  const place = root.place(path);
  if (session.features.mlst) return factsOf(session, settings, place);
  const kind = await kindOf(session, place);
  if (kind === undefined) return undefined;
  const name = baseName(path);
  if (name === undefined) return { name: '', kind, sizeBytes: 0, modifiedMs: 0, unique: undefined };
  // Of one file a line of its listing is all there is; of a folder, the same question would list what is in it.
  const own = kind === 'file' ? await listedAlone(session, settings, place, name) : undefined;
  if (own !== undefined) return own;
  const one = () => ({
    found: undefined as RemoteEntry | undefined,
    add(entry: RemoteEntry) {
      if (entry.name === name) this.found ??= entry;
    },
    leave: () => undefined,
  });
  return (await readFolder(session, settings, root.place(parentPath(path)), signal, one)).found;
}

/** The same of what is surely a file. Undefined where the server does not say it at once. */
export async function lookAtFile(session: FtpSession, settings: FtpSettings, place: string): Promise<RemoteEntry | undefined> {
  return session.features.mlst ? factsOf(session, settings, place) : listedAlone(session, settings, place, posix.basename(place));
}

/** Without what only a listing tells. */
export async function kindOf(session: FtpSession, place: string): Promise<'file' | 'folder' | undefined> {
  if (session.features.mlst) {
    const reply = await orRefused(session.ask('MLST', place));
    // Behind the last semicolon is the name.
    const facts = (reply?.lines[1] ?? '').toLowerCase().split(';').slice(0, -1);
    const type = facts.map((fact) => fact.trim()).find((fact) => fact.startsWith('type='));
    if (type !== undefined) return type.endsWith('dir') ? 'folder' : 'file';
    return undefined;
  }
  if ((await orRefused(session.ask('CWD', place))) !== undefined) return 'folder';
  return (await orRefused(session.ask('SIZE', place))) === undefined ? undefined : 'file';
}

/** Whether there is a file, asked at once. */
export async function hasFile(session: FtpSession, place: string): Promise<boolean> {
  if (session.features.mlst) return (await kindOf(session, place)) === 'file';
  return (await orRefused(session.ask('SIZE', place))) !== undefined;
}

/** Bytes of a file. Undefined where the server does not say. */
export async function sizeOf(session: FtpSession, place: string): Promise<number | undefined> {
  const reply = await orRefused(session.ask('SIZE', place));
  const size = /^\d+$/.test(reply?.lines[0]?.trim() ?? '') ? Number(reply?.lines[0]) : Number.NaN;
  return Number.isSafeInteger(size) ? size : undefined;
}

async function factsOf(session: FtpSession, settings: FtpSettings, place: string): Promise<RemoteEntry | undefined> {
  const lines = await orRefused(session.ask('MLST', place).then((reply) => reply.lines));
  const facts = lines?.find((line) => line.startsWith(' '));
  return facts === undefined ? undefined : parseFacts(facts.slice(1), settings.names, true);
}

/** Undefined where the server answers in another way than with one line about it. */
async function listedAlone(session: FtpSession, settings: FtpSettings, place: string, name: string): Promise<RemoteEntry | undefined> {
  // What could be an option or a pattern would be taken for it.
  if (/[*?[\]{}\\]|^\s|\s$/.test(place) || place.startsWith('-')) return undefined;
  const lines = (await orRefused(session.ask('STAT', place)))?.lines.slice(1, -1) ?? [];
  const [entry, ...more] = lines.flatMap((line) => parseListLine(line.trimStart(), settings.names, Date.now()) ?? []);
  if (entry === undefined || more.length > 0 || (entry.name !== name && entry.name !== place)) return undefined;
  return { ...entry, name };
}

/**
 * Undefined where the server refuses it: it says hardly ever why.
 *
 * @throws AppError STORAGE_UNAVAILABLE: it ends the session in the place of an answer, which says nothing of what was asked
 */
export async function orRefused<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isTooMany(error)) throw storageError('STORAGE_UNAVAILABLE', error);
    if (isRefusal(error)) return undefined;
    throw error;
  }
}
