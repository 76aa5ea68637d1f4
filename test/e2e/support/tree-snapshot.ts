import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Everything below a folder as lines `<kind> <path> <content>`, sorted: folders, links with their targets, files with size, time of change
 * and digest. `skip` names folders (relative paths) whose inside is not looked at.
 */
export async function snapshotTree(root: string, skip: readonly string[] = []): Promise<string[]> {
  const lines: string[] = [];
  const visit = async (relative: string): Promise<void> => {
    for (const name of await readdir(join(root, relative))) {
      const path = relative === '' ? name : `${relative}/${name}`;
      const stats = await lstat(join(root, path));
      if (stats.isSymbolicLink()) lines.push(`link ${path} ${await readlink(join(root, path))}`);
      else if (stats.isDirectory()) {
        lines.push(`folder ${path} ${stats.mode.toString(8)}`);
        if (!skip.includes(path)) await visit(path);
      } else {
        const digest = createHash('sha256')
          .update(await readFile(join(root, path)))
          .digest('hex');
        lines.push(`file ${path} ${stats.size} ${stats.mtimeMs} ${digest}`);
      }
    }
  };
  await visit('');
  return lines.sort();
}

/** Paths of all files and folders below a folder, relative, sorted. */
export async function pathsBelow(root: string): Promise<string[]> {
  return (await readdir(root, { recursive: true })).sort();
}
