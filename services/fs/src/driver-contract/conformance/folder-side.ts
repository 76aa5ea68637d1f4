import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { seedLongFolders } from './long-folders.suite.ts';
import type { StorageUnderTest } from './rule.suite.ts';

/** What a test knows of a storage whose files lie in a folder of this machine. */
export function folderSide(folder: string): Required<Pick<StorageUnderTest, 'seed' | 'seedUnlistable' | 'takeRootAway' | 'leftovers'>> {
  return {
    async seed(paths) {
      const files = paths.map((file) => path.join(folder, file));
      // Servers do not let every user rename what is another one's.
      const { uid, gid } = await stat(folder);
      for (const parent of new Set(files.map(path.dirname))) {
        await mkdir(parent, { recursive: true });
        for (let made = parent; made.startsWith(`${folder}/`); made = path.dirname(made)) await chown(made, uid, gid);
      }
      await Promise.all(
        files.map(async (file) => {
          await writeFile(file, '');
          await chown(file, uid, gid);
        }),
      );
    },
    async seedUnlistable(directory) {
      const { uid, gid } = await stat(folder);
      // In Latin-1: no file here has such a name.
      const name = Buffer.from('/caf\xe9.txt', 'latin1');
      const place = Buffer.concat([Buffer.from(path.join(folder, directory)), name]);
      await writeFile(place, 'precious');
      await chown(place, uid, gid);
      return async () => (await readFile(place)).toString();
    },
    async takeRootAway() {
      await rename(folder, `${folder}-away`);
      return async () => {
        // What was made in its place is none of it.
        await rm(folder, { recursive: true, force: true });
        await rename(`${folder}-away`, folder);
      };
    },
    leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-tmp')),
  };
}

/** A folder inside of a server's for a storage that rules only read, made when it is first asked for. It goes with the server. */
export function standingFolder(parent: string): () => Promise<string> {
  let made: Promise<string> | undefined;
  const make = async () => {
    const folder = await mkdtemp(path.join(parent, 'standing-'));
    await chmod(folder, 0o777);
    await seedLongFolders(folderSide(folder).seed);
    return folder;
  };
  return () => {
    made ??= make();
    return made;
  };
}
