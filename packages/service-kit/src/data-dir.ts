import { randomBytes } from 'node:crypto';
import { access, chmod, mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { Secret } from './config/secret.ts';
import { LOST_SECRET } from './crypto/require-own-secret.ts';
import { DATA_VERSION, newerData, type StoreNote, UNVERSIONED } from './data-version.ts';
import { connectStore } from './store.ts';
import { replaceFile, writeOnce } from './write-once.ts';

const SECRET_FILE = 'secret';
const NOTE_FILE = 'store.json';
const STORE_FOLDER = 'store';
const SECRET_BYTES = 48;
const MIN_SECRET_LENGTH = 32;

/** Without an id it is of a backup of a folder that had no note: its store is there, and was not asked. */
const noteShape = z.object({ id: z.string().nullish(), version: z.int(), is_backup: z.boolean().optional() });

/** The folder that a Wharf on one machine keeps everything in. */
export interface DataDir {
  readonly path: string;
  /** The given secret, or the one that this folder was made with. */
  readonly secret: Secret;
  /** For the embedded store. */
  readonly storeDir: string;
  /** Which store belongs to this folder. */
  readonly note: StoreNote;
  /** What the embedded store copies itself to before its data is brought to this version; undefined: it is of this version. */
  readonly copyAs: string | undefined;
  /** Ends a start: from now on only this store is accepted. It is called before anybody is answered. */
  keepStoreId(id: string): Promise<void>;
}

/**
 * Makes the folder (0700) when it is missing, and in it the secret (0600) when none is given. The first secret made is kept for ever, and no other one made:
 * everything encrypted at rest and every login depends on it. A process that is killed at any step leaves nothing that stops the next one.
 *
 * @param options.storeUrl of a store elsewhere, which may be in use though this folder is new. @param options.newSecret the secret is lost: another one is
 * made. @throws AppError FAILED_PRECONDITION saying what to do when the folder cannot be used
 */
export async function openDataDir(
  dataDir: string,
  given: Secret | undefined,
  { storeUrl, newSecret = false }: { storeUrl?: string | undefined; newSecret?: boolean } = {},
): Promise<DataDir> {
  const path = resolve(dataDir);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  const note = await noteOf(path);
  if (note.version > DATA_VERSION) throw newerData(`${join(path, NOTE_FILE)} says`, note.version);
  return {
    path,
    secret:
      given ??
      new Secret(
        await secretOf(join(path, SECRET_FILE), async () => newSecret || (note.isFirstStart && !(storeUrl && (await hasUsers(storeUrl))))),
      ),
    storeDir: join(path, STORE_FOLDER),
    note,
    copyAs: note.version < DATA_VERSION ? `before-data-${DATA_VERSION}` : undefined,
    keepStoreId: (id) =>
      note.id === id && note.version === DATA_VERSION && !note.isBackup
        ? Promise.resolve()
        : replaceFile(join(path, NOTE_FILE), `${JSON.stringify({ id, version: DATA_VERSION })}\n`),
  };
}

/** In a folder that has nothing of ours it is made before anything else, so that a first start can be told from a loss. */
async function noteOf(path: string): Promise<StoreNote> {
  const file = join(path, NOTE_FILE);
  let text = await readIfThere(file);
  if (text === undefined) {
    const isOld = (await isThere(join(path, SECRET_FILE))) || (await isThere(join(path, STORE_FOLDER)));
    if (isOld) return { path, id: undefined, version: UNVERSIONED, isFirstStart: false, isBackup: false };
    await writeOnce(file, `${JSON.stringify({ id: null, version: DATA_VERSION })}\n`);
    text = await readFile(file, 'utf8');
  }
  const { success, data } = noteShape.safeParse(parse(text));
  if (!success)
    throw new AppError(
      'FAILED_PRECONDITION',
      `${file} does not say which store belongs to this folder. Restore it from a backup of the folder; without one remove it.`,
    );
  return { path, id: data.id ?? undefined, version: data.version, isFirstStart: data.id === null, isBackup: data.is_backup === true };
}

/** What `store.json` says in a backup of a data folder, also of one that an earlier version left without. Damaged, it is refused where the backup is started. */
export async function noteOfBackup(dataDir: string): Promise<string> {
  const text = (await readIfThere(join(dataDir, NOTE_FILE))) ?? JSON.stringify({ version: UNVERSIONED });
  const { data } = noteShape.safeParse(parse(text));
  return data === undefined ? text : `${JSON.stringify({ ...data, is_backup: true })}\n`;
}

/** @param isWanted whether one may be made: nothing can be lost yet, or all is. Else another one would not read what is sealed, and seal what comes so that the right one does not read it */
async function secretOf(file: string, isWanted: () => Promise<boolean>): Promise<string> {
  if (!(await isThere(file))) {
    if (!(await isWanted()))
      throw new AppError(
        'FAILED_PRECONDITION',
        `${file} is missing. Restore it from a backup, or start with the WHARF_SECRET of before: what is stored cannot be read without it. ` +
          LOST_SECRET,
      );
    await writeOnce(file, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
  }
  const secret = (await readFile(file, 'utf8')).trim();
  if (secret.length < MIN_SECRET_LENGTH)
    throw new AppError(
      'FAILED_PRECONDITION',
      `${file} does not hold a secret. Restore it from a backup: what is stored cannot be read without it.`,
    );
  return secret;
}

/** Whether a store is in use: the first user is made after the secret. */
async function hasUsers(storeUrl: string): Promise<boolean> {
  const store = await connectStore(storeUrl);
  try {
    return (await store.collection('users').findOne({})) !== null;
  } finally {
    await store.close();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isThere(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function readIfThere(file: string): Promise<string | undefined> {
  return (await isThere(file)) ? readFile(file, 'utf8') : undefined;
}
