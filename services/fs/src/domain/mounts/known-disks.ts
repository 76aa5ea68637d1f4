import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '@wharf/errors';
import { createKeyedTurns } from '@wharf/pace';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import { isInside, realPathOf, rootOf } from './host-folders.ts';

const inTurn = createKeyedTurns<string>();

/** Roots of storages that lay on disks of their own, with where these were mounted. */
export interface DiskNotes {
  /** Where they are kept. */
  readonly file: string;
  read(): Promise<Map<string, string>>;
  write(notes: ReadonlyMap<string, string>): Promise<void>;
}

/**
 * The same driver, but where a root lay on a disk of its own, and that is not mounted, the storage is not opened: the folder beneath is empty, or holds something
 * else, and what was stored in it would be out of sight when the disk is back.
 *
 * @param notes for later starts, too; undefined: there is no place for them
 */
export function rememberDisks(definition: DriverDefinition, notes: DiskNotes | undefined): DriverDefinition {
  if (notes === undefined || definition.hostFolders.length === 0) return definition;
  return {
    ...definition,
    async open(addition, context) {
      const root = rootOf(definition, addition);
      if (root === undefined) return definition.open(addition, context);
      const folder = await realPathOf(root);
      await requireDisk(notes, folder);
      const driver = await definition.open(addition, context);
      await noteDisk(notes, folder).catch(() => undefined);
      return driver;
    },
  };
}

/** @throws AppError FAILED_PRECONDITION */
async function requireDisk({ file, read }: DiskNotes, folder: string): Promise<void> {
  const mountedAt = (await read()).get(folder);
  if (mountedAt === undefined) return;
  const mountedNow = await mountAbove(folder);
  // It may be mounted nearer to the root by now.
  if (mountedNow !== undefined && isInside(mountedNow, mountedAt)) return;
  throw new AppError(
    'FAILED_PRECONDITION',
    `root folder ${folder}: the disk that was mounted at ${mountedAt} is not there. Mount it; or, if its files are to lie here from now on, take this folder out of ${file}`,
  );
}

async function noteDisk({ file, read, write }: DiskNotes, folder: string): Promise<void> {
  // What lies on the disk of the notes is there whenever they are.
  const isOnTheirs = (await deviceOf(folder)) === (await deviceOf(dirname(file)));
  // Looked at out of turn: a disk that hangs holds up no other storage.
  const mountedAt = isOnTheirs ? undefined : await mountAbove(folder);
  // Storages are opened at once, and all are noted in one file.
  await inTurn(file, async () => {
    const notes = await read();
    if (notes.get(folder) === mountedAt) return;
    notes.delete(folder);
    if (mountedAt !== undefined) notes.set(folder, mountedAt);
    await write(notes);
  });
}

/** Where the disk of a folder, or of the first above it that is there, is mounted; undefined: it is the one of the machine. */
async function mountAbove(folder: string): Promise<string | undefined> {
  const device = await deviceOf(folder);
  const parent = dirname(folder);
  if (device === undefined) return parent === folder ? undefined : mountAbove(parent);
  for (let place = folder; ; ) {
    const above = dirname(place);
    if (above === place) return undefined;
    if ((await deviceOf(above)) !== device) return place;
    place = above;
  }
}

async function deviceOf(folder: string): Promise<number | undefined> {
  return stat(folder).then(
    ({ dev }) => dev,
    () => undefined,
  );
}
