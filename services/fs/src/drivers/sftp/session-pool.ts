import { storageError } from '../../driver-contract/storage-error.ts';
import type { SftpSession } from './client.ts';

/** Names and bytes go over connections of their own: a listing does not wait behind downloads. */
export type Lane = 'names' | 'bytes';

/** `busy`: so many users of each connection bring about another one, up to `max` of them. */
const LANES: Readonly<Record<Lane, { readonly max: number; readonly busy: number }>> = {
  names: { max: 1, busy: Number.POSITIVE_INFINITY },
  bytes: { max: 3, busy: 4 },
};

/** A connection that nobody uses ends after that long. */
const IDLE_MS = 60_000;
/** One that owes answers and gives none ends after that long, when it would be used: longer than any call waits for one answer. */
const SILENT_MS = 360_000;

/** A share in a connection, to be given back. */
export interface Lease {
  readonly session: SftpSession;
  /** Safe twice. */
  release(): void;
}

interface Slot {
  readonly opening: Promise<SftpSession>;
  session: SftpSession | undefined;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/** The connections of one storage: shared, bounded, made when needed, replaced when broken, ended when idle. */
export class SessionPool {
  readonly #connect: () => Promise<SftpSession>;
  readonly #silentMs: number;
  readonly #slots: Readonly<Record<Lane, Set<Slot>>> = { names: new Set(), bytes: new Set() };
  #isClosed = false;

  /** @param silentMs another time than the standard one is given by tests only */
  constructor(connect: () => Promise<SftpSession>, silentMs = SILENT_MS) {
    this.#connect = connect;
    this.#silentMs = silentMs;
  }

  /** @throws AppError STORAGE_UNAVAILABLE when closed; what `connect` says */
  async take(lane: Lane): Promise<Lease> {
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
    const slot = this.#choose(lane);
    slot.users += 1;
    clearTimeout(slot.idle);
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#release(lane, slot);
      isHeld = false;
    };
    try {
      return { session: await slot.opening, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Ends all connections, also those that are being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const slots = Object.values(this.#slots).flatMap((lane) => [...lane]);
    for (const slot of slots) {
      clearTimeout(slot.idle);
      slot.session?.end();
    }
    await Promise.allSettled(slots.map((slot) => slot.opening));
  }

  #choose(lane: Lane): Slot {
    const slots = this.#slots[lane];
    for (const slot of slots) {
      if (slot.session?.isSilentFor(this.#silentMs)) slot.session.end();
      if (slot.session?.isEnded) slots.delete(slot);
    }
    const { max, busy } = LANES[lane];
    const [least] = [...slots].sort((left, right) => left.users - right.users);
    return least !== undefined && (least.users < busy || slots.size >= max) ? least : this.#open(lane);
  }

  #open(lane: Lane): Slot {
    const slots = this.#slots[lane];
    const opening = this.#connect().then((session) => {
      if (!this.#isClosed) return session;
      session.end();
      throw storageError('STORAGE_UNAVAILABLE');
    });
    const slot: Slot = { opening, session: undefined, users: 0, idle: undefined };
    slots.add(slot);
    opening.then(
      (session) => {
        slot.session = session;
      },
      () => slots.delete(slot),
    );
    return slot;
  }

  #release(lane: Lane, slot: Slot): void {
    slot.users -= 1;
    if (slot.users > 0 || this.#isClosed) return;
    slot.idle = setTimeout(() => {
      this.#slots[lane].delete(slot);
      slot.session?.end();
    }, IDLE_MS);
    slot.idle.unref();
  }
}
