import { access, type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { runningStoreUrl, STORE_COPY, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError, systemCodeOf } from '@wharf/errors';
import { ConfigError, connectStore, noteOfBackup, replaceFile } from '@wharf/service-kit';
import { lockBackups } from './backup-lock.ts';
import { memberOf, memberWith, type TarMember, tarOf } from './tar.ts';

const STORE = 'store';
const NOTE = 'store.json';
const SEARCH_INDEX = 'search/index.sqlite';
const SECRET = 'secret';
const UPLOADS = 'uploads';
/** Tells this folder from those of others. */
const UPLOADS_ID = `${UPLOADS}/id`;
/** Of uploads to storages that take whole files only. */
const PARTS = 'spool';
/** A body that a client is still sending. */
const UNFINISHED = '.part';

interface BackupConfig {
  readonly dataDir: string;
  readonly filesDir: string;
  readonly mongoUrl: string | undefined;
  readonly secret: object | undefined;
}

/**
 * Makes a backup and answers what its maker has to know of it.
 *
 * @throws AppError as {@link backUp}; ConfigError when the store is not ours to copy
 */
export async function tellBackup({ dataDir, filesDir, mongoUrl, secret }: BackupConfig, file: string): Promise<string> {
  if (mongoUrl !== undefined)
    throw new ConfigError([`--backup ${file}: the store is the one of MONGO_URL; back it up with its own tools, and keep the data folder`]);
  const names = await backUp(dataDir, file);
  const uploads = names.filter((name) => name.startsWith(`${UPLOADS}/`) && name !== UPLOADS_ID).length;
  const has = [
    ...['the store', ...(names.includes(SECRET) ? ['the secret'] : []), ...(names.includes(SEARCH_INDEX) ? ['the search index'] : [])],
    `uploads that wait: ${uploads}`,
  ];
  const lacks = [
    'thumbnails',
    'unfinished downloads',
    ...(secret === undefined ? [] : ['the secret, which WHARF_SECRET gives: keep it as well']),
  ];
  return [
    `${file} has ${has.join(', ')}.`,
    `It does not have the files of storages (those of /local lie in ${resolve(filesDir)}), ${lacks.join(', ')}.`,
    `To restore, unpack it into an empty folder and start there: tar -xf ${file} -C FOLDER, and WHARF_DATA_DIR=FOLDER npm start`,
    'What has not ended then is paused there: tasks go on when they are resumed.',
  ].join('\n');
}

/**
 * Writes what Wharf keeps in a data folder into one archive (0600), also while a Wharf runs on it. The file is there whole or not at all; one
 * that was there before is replaced. Nothing but the archive and, for a moment, the copy of the store takes room.
 *
 * The store comes before all that it knows of: that has been written before.
 *
 * @returns the names of what is in it
 * @throws AppError FAILED_PRECONDITION when there is no data folder, another backup of it is being made, or its store cannot be opened
 */
async function backUp(dataDir: string, file: string): Promise<string[]> {
  if (!(await isThere(join(dataDir, STORE, 'store.sqlite'))))
    throw new AppError('FAILED_PRECONDITION', `there is no Wharf in ${dataDir}; WHARF_DATA_DIR names the folder of its data`);
  // The copies have names that the store knows.
  using _lock = await lockBackups(dataDir);
  const names: string[] = [];
  await replaceFile(file, tarOf(noted(membersOf(dataDir), names)));
  return names;
}

async function* membersOf(dataDir: string): AsyncGenerator<TarMember> {
  // Unpacked first: what was not unpacked to its end must not look like a folder that never was a backup.
  yield memberWith(NOTE, await noteOfBackup(dataDir));
  yield memberOf(`${STORE}/store.sqlite`, await taken(await copyOfStore(join(dataDir, STORE))));
  const secret = await openIfThere(join(dataDir, SECRET));
  if (secret) yield memberOf(SECRET, secret);
  if (await isThere(join(dataDir, SEARCH_INDEX))) yield memberOf(SEARCH_INDEX, await taken(await copyOfIndex(join(dataDir, SEARCH_INDEX))));
  for (const folder of [UPLOADS, PARTS])
    for (const name of await readdir(join(dataDir, folder)).catch(() => [])) {
      // One that is gone has been stored since.
      const handle = name.endsWith(UNFINISHED) ? undefined : await openIfThere(join(dataDir, folder, name));
      if (handle) yield memberOf(`${folder}/${name}`, handle);
    }
}

/** Made by the Wharf that runs, whose store nobody else can open, or by us where none does. @returns its path */
async function copyOfStore(folder: string): Promise<string> {
  const place = join(folder, STORE_COPY.file);
  await rm(place, { force: true });
  try {
    const own = await startEmbeddedMongo({ dataDir: folder, copyAs: STORE_COPY.name });
    await own.stop();
  } catch (refused) {
    if (!AppError.is(refused, 'FAILED_PRECONDITION')) throw refused;
    const running = await connectStore(runningStoreUrl(folder)).catch(() => Promise.reject(refused));
    await running.getClient().db('admin').command(STORE_COPY.command);
    await running.close();
  }
  return place;
}

/** The index is open for others to read. */
async function copyOfIndex(index: string): Promise<string> {
  const place = `${index}.backup`;
  await rm(place, { force: true });
  const database = new DatabaseSync(index, { readOnly: true, timeout: 5_000 });
  try {
    database.prepare('VACUUM INTO ?').run(place);
  } finally {
    database.close();
  }
  return place;
}

/** Opens a file whose name nobody needs any more. */
async function taken(place: string): Promise<FileHandle> {
  const handle = await open(place);
  await rm(place);
  return handle;
}

async function* noted(members: AsyncIterable<TarMember>, names: string[]): AsyncGenerator<TarMember> {
  for await (const member of members) {
    yield member;
    names.push(member.name);
  }
}

async function openIfThere(place: string): Promise<FileHandle | undefined> {
  return open(place).catch((error: unknown) => (systemCodeOf(error) === 'ENOENT' ? undefined : Promise.reject(error)));
}

function isThere(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
}
