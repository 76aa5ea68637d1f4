import { KeptNames } from '../../driver-contract/folding.ts';
import type { SftpSession } from './client.ts';
import { folderPages } from './folder-pages.ts';

/** The names in folders of a server that folds names, as they are spelled there. Names of settled folders are kept. */
export class SpelledNames {
  readonly #kept = new KeptNames();

  /** Whether a folder has a name in just this spelling. @throws RefusedRequest */
  async has(session: SftpSession, folder: string, name: string): Promise<boolean> {
    const { modifiedAt } = await session.stat(folder);
    const version = `${modifiedAt} ${folder}`;
    if (this.#kept.hasAll(version, [name])) return true;
    const present = new Set<string>();
    for await (const page of folderPages(session, folder)) for (const item of page) present.add(item.name);
    // A server that keeps no times of folders says 0.
    if (modifiedAt > 0) this.#kept.keep(version, present, modifiedAt * 1000);
    return present.has(name);
  }
}
