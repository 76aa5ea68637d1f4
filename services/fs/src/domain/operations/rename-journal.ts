import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { EntryName, VirtualPath } from '@wharf/paths';

/** A name that goes from one to another. */
export interface RenameStep {
  readonly from: EntryName;
  readonly to: EntryName;
}

/** Names of one folder that are being changed. */
export interface JournaledRenames {
  readonly id: string;
  readonly storageId: number;
  readonly folder: VirtualPath;
  /** In the order in which they are done. */
  readonly steps: readonly RenameStep[];
  /** Of the steps that close a circle, the last that may have been done, by its index; -1: none. */
  readonly closing: number;
  readonly createdAt: Date;
}

/** Where the journal is kept. Whoever is not the holder any more changes nothing, and is told so by `false`. */
export interface RenameJournalStore {
  init(): Promise<void>;
  insert(renames: JournaledRenames, holder: string, expiresAt: Date): Promise<void>;
  renew(id: string, holder: string, expiresAt: Date): Promise<boolean>;
  setClosing(id: string, holder: string, closing: number): Promise<boolean>;
  remove(id: string, holder: string): Promise<boolean>;
  /** Gives one that expired before `now` another holder. */
  takeExpired(now: Date, holder: string, expiresAt: Date): Promise<JournaledRenames | undefined>;
}

/** What is noted before the first name of several changes: a process that dies in the middle leaves it to others to take the names back. */
export interface RenameJournal {
  /** @throws AppError INVALID_ARGUMENT: too many names */
  begin(renames: Pick<JournaledRenames, 'storageId' | 'folder' | 'steps'>): Promise<JournalEntry>;
  /** One that its process has left in the middle. @param before looks for those that expire earlier than that; by default than now. */
  takeAbandoned(before?: Date): Promise<JournalEntry | undefined>;
}

/** An entry that is ours until it is ended or left. */
export interface JournalEntry {
  readonly renames: JournaledRenames;
  /** To be called before each step. @throws AppError STALE_VERSION: it may be another one's by now */
  requireHeld(): void;
  /** To be called before a step that closes a circle: once it is done, nothing else tells it from one that never began. */
  noteClosing(index: number): Promise<void>;
  /** All names are as they should be. @throws AppError STALE_VERSION: somebody else has taken them back */
  end(): Promise<void>;
  /** Somebody may try again when the lease has run out, or so many milliseconds from now. */
  leave(forMs?: number): Promise<void>;
}

/** How long an entry is its holder's when nothing is heard of him, and how often he is heard of, in milliseconds. */
export const RENAME_LEASE_MS = 20_000;
const RENEW_EVERY_MS = 5_000;
/** Work stops when the lease was not renewed for so long: well before others may take it. */
const HELD_MS = 15_000;
/** Documents of the store have 16 MiB at most. */
const MAX_NAMES_BYTES = 12 * 1024 * 1024;

export function createRenameJournal(store: RenameJournalStore, clock: () => number): RenameJournal {
  const leaseEnd = () => new Date(clock() + RENAME_LEASE_MS);
  const hold = (renames: JournaledRenames, holder: string): JournalEntry => {
    const { id } = renames;
    let closing = renames.closing;
    let renewedAt = performance.now();
    let isLost = false;
    const required = (isHeld: boolean) => {
      if (!isHeld) isLost = true;
      if (isLost) throw lost();
    };
    const renew = async () => {
      const at = performance.now();
      if (await store.renew(id, holder, leaseEnd())) renewedAt = at;
      else isLost = true;
    };
    // One that fails is tried again.
    const renewing = setInterval(() => void renew().catch(() => undefined), RENEW_EVERY_MS);
    renewing.unref();
    return {
      get renames() {
        return { ...renames, closing };
      },
      requireHeld: () => required(performance.now() - renewedAt < HELD_MS),
      async noteClosing(index) {
        required(await store.setClosing(id, holder, index));
        closing = index;
      },
      async end() {
        clearInterval(renewing);
        required(await store.remove(id, holder));
      },
      async leave(forMs) {
        clearInterval(renewing);
        if (forMs !== undefined) await store.renew(id, holder, new Date(clock() + forMs));
      },
    };
  };
  return {
    async begin(wanted) {
      const nameBytes = wanted.steps.reduce((sum, { from, to }) => sum + Buffer.byteLength(from) + Buffer.byteLength(to), 0);
      if (nameBytes > MAX_NAMES_BYTES)
        throw new AppError('INVALID_ARGUMENT', 'too many names to change at once: they may have 12 MiB together');
      const renames = { ...wanted, id: newId(), closing: -1, createdAt: new Date(clock()) };
      const holder = newId();
      await store.insert(renames, holder, leaseEnd());
      return hold(renames, holder);
    },
    async takeAbandoned(before) {
      const holder = newId();
      const renames = await store.takeExpired(before ?? new Date(clock()), holder, leaseEnd());
      return renames && hold(renames, holder);
    },
  };
}

function newId(): string {
  return randomBytes(16).toString('hex');
}

function lost(): AppError {
  return new AppError('STALE_VERSION', 'this took too long, and the names were changed back');
}
