import { currentOwner, type ProcessOwner } from '@wharf/owned-names';
import { createGate } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { isAbandoned, newBesideName } from '../../driver-contract/temp-names.ts';
import type { Calls } from './calls.ts';
import type { RemoteName, SftpSession } from './client.ts';
import { isRefusal } from './errors.ts';
import type { RemoteRoot } from './remote-root.ts';
import { removeTree } from './remove-tree.ts';
import type { Lease, SessionPool } from './session-pool.ts';

/** What another host left goes after two days without a write: the clocks of hosts and servers differ. */
const OTHERS_MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** So many names of files are kept that could not be removed; so many removals wait for their turn. What is more is found again by the next listing. */
const MAX_LEFT = 1_000;
const PARALLEL_REMOVALS = 4;

/** The files of one storage that have no name of their own yet. They lie beside their targets, under names that tell whose they are. */
export class TempFiles {
  readonly #root: RemoteRoot;
  readonly #calls: Calls;
  readonly #pool: SessionPool;
  readonly #owner: ProcessOwner = currentOwner();
  /** Those that could not be removed because the server was gone. */
  readonly #left = new Set<string>();
  readonly #removals = createGate(PARALLEL_REMOVALS, { max: MAX_LEFT, refusal: 'too much to remove' });

  constructor(root: RemoteRoot, calls: Calls, pool: SessionPool) {
    this.#root = root;
    this.#calls = calls;
    this.#pool = pool;
  }

  /** Where a file that will be in `folder` is put together. */
  newPlace(folder: MountPath): string {
    return this.placeOf(folder, newBesideName(this.#owner));
  }

  placeOf(folder: MountPath, name: string): string {
    const place = this.#root.place(folder);
    return place === '/' ? `/${name}` : `${place}/${name}`;
  }

  /** Removes a file of ours, over another connection where that one is gone. Never rejects: what stays is removed later. */
  async discard(place: string): Promise<void> {
    let lease: Lease | undefined;
    try {
      lease = await this.#pool.take('names');
      await lease.session.removeFile(place);
    } catch (error) {
      if (!isRefusal(error) && this.#left.size < MAX_LEFT) this.#left.add(place);
    } finally {
      lease?.release();
    }
  }

  /** Behind what a connection is made for: removes what could not be removed before. */
  removeLeft(session: SftpSession): void {
    for (const place of this.#left) {
      this.#left.delete(place);
      this.#calls.track(
        this.#removals
          .run(() => session.removeFile(place))
          .catch((error: unknown) => {
            if (!isRefusal(error)) this.#left.add(place);
          }),
      );
    }
  }

  /** Behind a listing: removes a file of ours whose process has ended. */
  sweep(session: SftpSession, folder: MountPath, { name, attrs }: RemoteName): void {
    if (
      (attrs.kind !== 'file' && attrs.kind !== 'link') ||
      !isAbandoned(name, attrs.modifiedAt * 1000, this.#owner, Date.now(), OTHERS_MAX_AGE_MS)
    )
      return;
    const place = this.placeOf(folder, name);
    const remove = () => (attrs.kind === 'folder' ? removeTree(session, place, this.#calls.closing) : session.removeFile(place));
    this.#calls.track(this.#removals.run(remove));
  }
}
