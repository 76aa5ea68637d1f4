import { createGate } from '@wharf/pace';
import { KeptNames } from '../../driver-contract/folding.ts';
import type { SftpSession } from './client.ts';
import { folderPages } from './folder-pages.ts';

/** Folders that are read at once. */
const PARALLEL = 8;
/** What is kept of one folder, in characters: some 75,000 names. One with more is read each time. */
const MAX_KEPT_LENGTH = 4 * 1024 * 1024;
/** What a name takes beside its text, in characters. */
const NAME_LENGTH = 40;
/** Longer names are not kept: no disk has them. */
const MAX_NAME_LENGTH = 255;

/** The names in folders of a server that folds names, as they are spelled there. Names of settled folders are kept. */
export class SpelledNames {
  readonly #kept = new KeptNames();
  readonly #gate = createGate(PARALLEL);

  /** Whether a folder has a name in just this spelling. @throws RefusedRequest */
  async has(session: SftpSession, folder: string, name: string): Promise<boolean> {
    const { modifiedAt } = await session.stat(folder);
    const version = `${modifiedAt} ${folder}`;
    return this.#kept.hasAll(version, [name]) || this.#gate.run(() => this.#read(session, folder, name, version, modifiedAt));
  }

  async #read(session: SftpSession, folder: string, name: string, version: string, modifiedAt: number): Promise<boolean> {
    const present = new Set<string>();
    let length = 0;
    let isThere = false;
    for await (const page of folderPages(session, folder)) {
      for (const item of page) {
        isThere ||= item.name === name;
        if (item.name.length > MAX_NAME_LENGTH) continue;
        length += NAME_LENGTH + item.name.length;
        if (length <= MAX_KEPT_LENGTH) present.add(item.name);
      }
    }
    // A server that keeps no times of folders says 0.
    if (modifiedAt > 0 && length <= MAX_KEPT_LENGTH) this.#kept.keep(version, present, modifiedAt * 1000);
    return isThere;
  }
}
