import { boundNames } from '../../driver-contract/bound-names.ts';
import type { ChangedAttrs, Handle, RemoteAttrs, RemoteName, SftpSession } from './client.ts';
import type { Lease } from './session-pool.ts';

/** So many requests for names are on their way: OpenSSH answers each with a hundred at most. */
const READS_AHEAD = 8;
/** An open file of the server, or a folder that is being read, with the connection it is open on. */
export class RemoteFile {
  readonly session: SftpSession;
  readonly handle: Handle;
  readonly #lease: Lease;
  readonly #track: (work: Promise<unknown>) => void;
  #isOpen = true;

  constructor(lease: Lease, handle: Handle, track: (work: Promise<unknown>) => void) {
    this.session = lease.session;
    this.handle = handle;
    this.#lease = lease;
    this.#track = track;
  }

  /** The connection stays. Safe twice. @throws RefusedRequest: what was written may not be there */
  async closeHandle(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.session.close(this.handle);
  }

  /**
   * Makes durable what was written, and closes the file: one round of requests, which are done in their order.
   *
   * @param changed what the file is to have besides. @returns what the server says of it then. @throws RefusedRequest: what was written may not be there
   */
  async seal(changed: ChangedAttrs): Promise<RemoteAttrs> {
    const { session, handle } = this;
    const isChanged = Object.keys(changed).length > 0;
    const [, attrs] = await Promise.all([
      isChanged ? session.fsetstat(handle, changed) : undefined,
      this.fstat(),
      session.extensions.fsync ? session.fsync(handle) : undefined,
      this.closeHandle(),
    ]);
    return attrs;
  }

  /** Closes it and gives back its connection; nobody waits for that. Safe twice. */
  letGo(): void {
    this.#track(this.closeHandle().finally(() => this.#lease.release()));
  }

  fstat(): Promise<RemoteAttrs> {
    return this.session.fstat(this.handle);
  }
}

/** The names of an open folder, with requests ahead where the server is known to answer them in order. */
export class RemoteNames {
  readonly #file: RemoteFile;
  readonly #ahead: Promise<RemoteName[] | undefined>[] = [];
  readonly #depth: number;
  readonly #count = boundNames();

  constructor(file: RemoteFile) {
    this.#file = file;
    this.#depth = file.session.extensions.posixRename ? READS_AHEAD : 1;
  }

  /** The next names; undefined at the end. @throws AppError UNSUPPORTED_OPERATION: there are too many */
  async next(): Promise<RemoteName[] | undefined> {
    while (this.#ahead.length < this.#depth) {
      const asked = this.#file.session.readFolder(this.#file.handle);
      // Whoever asks for it gets its failure; nobody may ask.
      asked.catch(() => undefined);
      this.#ahead.push(asked);
    }
    const page = await this.#ahead.shift();
    this.#count(page?.length);
    return page;
  }

  get session(): SftpSession {
    return this.#file.session;
  }

  letGo(): void {
    this.#file.letGo();
  }
}
