import { access, mkdir, opendir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from '@wharf/errors';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import { roomOfUsers, withDiskReserve } from './disk-reserve.ts';
import { foldersOf, isInside, realPathOf } from './host-folders.ts';

/** In every data folder of an fs, so that others on the machine know it for one. Its name is not that of a file that people make. */
const MARKER = '.wharf-data-folder';
const MARKER_TEXT = 'This folder is for Wharf itself. No storage shows it.\n';
/** What users' files are kept in, in a data folder. */
const FILES_FOLDER = 'files';
/** Folders right below a storage's that are looked at for a marker. */
const MAX_LOOKED_AT = 1_000;
const NAMES_AT_A_TIME = 256;

/** Makes a folder known as a data folder to every fs that sees it. */
export async function markDataFolder(dataFolder: string): Promise<void> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  await writeFile(join(dataFolder, MARKER), MARKER_TEXT, { mode: 0o600 });
}

/**
 * The same driver, but it refuses folders through which Wharf's own secrets could be read or replaced. These are the data folder, every
 * folder above it, and the folders inside it that are not for users' files. Of other replicas on the machine it refuses a data folder, what is
 * in it, and the folder that it lies in, by the marker in it. What is written on the data folder's disk leaves a reserve there.
 *
 * @param dataFolder undefined: this process has none. @param filesFolders those inside the data folder that may be shown.
 */
export function guardDataFolder(
  definition: DriverDefinition,
  dataFolder: string | undefined,
  filesFolders: readonly string[],
): DriverDefinition {
  if (definition.hostFolders.length === 0) return definition;
  const room = dataFolder === undefined ? undefined : roomOfUsers(dataFolder);
  return {
    ...definition,
    async open(addition, context) {
      const data = dataFolder === undefined ? undefined : await realPathOf(dataFolder);
      const allowed = await Promise.all(filesFolders.map(realPathOf));
      const isOwn = (real: string) => data !== undefined && (isInside(real, data) || isInside(data, real));
      for (const [item, folder] of foldersOf(definition, addition)) {
        const real = await realPathOf(folder);
        if (allowed.some((files) => isInside(real, files))) continue;
        if (!isOwn(real) && !(await showsMarked(real))) continue;
        throw new AppError(
          'PERMISSION_DENIED',
          `${item} ${folder} would show Wharf's own data folder with its secrets; choose a folder that neither holds it nor lies in it`,
        );
      }
      const driver = await definition.open(addition, context);
      if (room === undefined) return driver;
      const shared = await Promise.all(foldersOf(definition, addition).map(([, folder]) => room.holds(folder)));
      return shared.includes(true) ? withDiskReserve(driver, room) : driver;
    },
  };
}

/** Whether a folder is a data folder that was marked, lies in one, or has one right in it. */
async function showsMarked(real: string): Promise<boolean> {
  let inner = real;
  for (let at = real; ; inner = at, at = dirname(at)) {
    if (await isMarked(at)) return at === real || basename(inner) !== FILES_FOLDER;
    if (dirname(at) === at) break;
  }
  const marks = await Promise.all((await foldersIn(real)).map((name) => isMarked(join(real, name))));
  return marks.includes(true);
}

/** The first folders in one, which may have hundreds of thousands of names: some are read at a time. */
async function foldersIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: NAMES_AT_A_TIME })) {
      if (entry.isDirectory()) found.push(entry.name);
      if (found.length === MAX_LOOKED_AT) break;
    }
  } catch {
    // What cannot be read is not shown either.
  }
  return found;
}

function isMarked(folder: string): Promise<boolean> {
  return access(join(folder, MARKER)).then(
    () => true,
    () => false,
  );
}
