import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { AppError } from '@wharf/errors';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';

/**
 * The same driver, but it refuses folders through which Wharf's own secrets could be read or replaced. These are the data folder, every
 * folder above it, and the folders inside it that are not for users' files.
 *
 * @param dataFolder undefined: this process has none. @param filesFolders those inside the data folder that may be shown.
 */
export function guardDataFolder(
  definition: DriverDefinition,
  dataFolder: string | undefined,
  filesFolders: readonly string[],
): DriverDefinition {
  if (definition.hostFolders.length === 0 || dataFolder === undefined) return definition;
  return {
    ...definition,
    async open(addition, context) {
      const data = await realPathOf(dataFolder);
      const allowed = await Promise.all(filesFolders.map(realPathOf));
      for (const [item, folder] of foldersOf(definition, addition)) {
        const real = await realPathOf(folder);
        if (!isInside(real, data) && !isInside(data, real)) continue;
        if (allowed.some((files) => isInside(real, files))) continue;
        throw new AppError(
          'PERMISSION_DENIED',
          `${item} ${folder} would show Wharf's own data folder with its secrets; choose a folder that neither holds it nor lies in it`,
        );
      }
      return definition.open(addition, context);
    },
  };
}

/** @throws AppError INVALID_ARGUMENT */
function foldersOf(definition: DriverDefinition, addition: string): [item: string, folder: string][] {
  const values: unknown = JSON.parse(definition.normaliseAddition(addition));
  if (typeof values !== 'object' || values === null) return [];
  return definition.hostFolders.flatMap(({ name, noFolder }) => {
    const value: unknown = Reflect.get(values, name);
    return typeof value === 'string' && !noFolder.includes(value.trim()) ? [[name, value.trim()]] : [];
  });
}

/** The path with its links resolved. Segments that do not exist yet stay as they are. */
async function realPathOf(path: string): Promise<string> {
  const full = resolve(path);
  try {
    return await realpath(full);
  } catch {
    const parent = dirname(full);
    return parent === full ? full : join(await realPathOf(parent), basename(full));
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
