import { abortError, storageError } from '../../driver-contract/storage-error.ts';
import type { FtpSession } from './client.ts';
import { isTooMany, toAppError } from './errors.ts';

/** A session does one thing at a time, so each kind of work has sessions of its own: a listing does not wait behind downloads. */
export const LANES = { names: 4, reads: 8, writes: 4 } as const;

/** `back` is for what a call brings back while it holds a session: those who use it wait for no other lane. */
export type Lane = keyof typeof LANES | 'back';

/** A session that nobody uses ends after that long. */
const IDLE_MS = 60_000;

/** A session for one user, to be given back. */
export interface Lease {
  readonly session: FtpSession;
  /** Safe twice. */
  release(): void;
}

interface Waiting {
  resolve(session: FtpSession | undefined): void;
  reject(error: unknown): void;
}

/** The sessions of one lane. */
interface Kept {
  readonly max: number;
  /** With those that are being made. */
  count: number;
  readonly idle: { readonly session: FtpSession; readonly timer: NodeJS.Timeout }[];
  readonly waiting: Set<Waiting>;
}

/** The sessions of one storage: bounded, made when needed, replaced when broken, ended when idle. A server that takes fewer of them is asked for no more. */
export class SessionPool {
  readonly #connect: () => Promise<FtpSession>;
  readonly #track: (work: Promise<unknown>) => void;
  readonly #lanes: Readonly<Record<Lane, Kept>>;
  readonly #open = new Set<FtpSession>();
  readonly #connecting = new Set<Promise<unknown>>();
  #isClosed = false;

  /** @param track what is done behind a call, and waited for when all is closed */
  constructor(connect: () => Promise<FtpSession>, track: (work: Promise<unknown>) => void) {
    this.#connect = connect;
    this.#track = track;
    const lane = (max: number): Kept => ({ max, count: 0, idle: [], waiting: new Set() });
    this.#lanes = { names: lane(LANES.names), reads: lane(LANES.reads), writes: lane(LANES.writes), back: lane(1) };
  }

  /** @throws AppError STORAGE_UNAVAILABLE when closed; what `connect` says */
  async take(lane: Lane, signal?: AbortSignal): Promise<Lease> {
    const kept = this.#lanes[lane];
    const session = await this.#next(kept, signal);
    let isHeld = true;
    return {
      session,
      release: () => {
        if (isHeld) this.#track(this.#giveBack(kept, session));
        isHeld = false;
      },
    };
  }

  /** Ends all sessions, also those that are being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { idle, waiting } of Object.values(this.#lanes)) {
      for (const { timer } of idle.splice(0)) clearTimeout(timer);
      for (const { reject } of waiting) reject(storageError('STORAGE_UNAVAILABLE'));
    }
    for (const session of this.#open) session.end();
    await Promise.allSettled(this.#connecting);
  }

  async #next(kept: Kept, signal: AbortSignal | undefined): Promise<FtpSession> {
    for (;;) {
      if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
      for (let last = kept.idle.pop(); last !== undefined; last = kept.idle.pop()) {
        clearTimeout(last.timer);
        if (!last.session.isEnded) return last.session;
        this.#forget(kept, last.session);
      }
      if (kept.count < kept.max) {
        const made = await this.#make(kept);
        if (made) return made;
      }
      if (kept.idle.length > 0) continue;
      const handed = await this.#wait(kept, signal);
      if (handed) return handed;
    }
  }

  /** Undefined where the server takes no more, and there are others to wait for. */
  async #make(kept: Kept): Promise<FtpSession | undefined> {
    kept.count += 1;
    const connecting = this.#connect();
    this.#connecting.add(connecting);
    try {
      const session = await connecting;
      this.#open.add(session);
      if (!this.#isClosed) return session;
      session.end();
      throw storageError('STORAGE_UNAVAILABLE');
    } catch (error) {
      kept.count -= 1;
      this.#wakeOne(kept);
      if (isTooMany(error) && kept.count > 0) return undefined;
      throw toAppError(error);
    } finally {
      this.#connecting.delete(connecting);
    }
  }

  /** @returns a session, or undefined when there is room for another one */
  async #wait({ waiting }: Kept, signal: AbortSignal | undefined): Promise<FtpSession | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<FtpSession | undefined>();
    const own = { resolve, reject };
    const onAbort = () => {
      waiting.delete(own);
      if (signal) reject(abortError(signal));
    };
    waiting.add(own);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      return await promise;
    } finally {
      waiting.delete(own);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #giveBack(kept: Kept, session: FtpSession): Promise<void> {
    if (!session.isSettled) await session.settle();
    if (session.isEnded || this.#isClosed) {
      session.end();
      this.#forget(kept, session);
      return;
    }
    const [first] = kept.waiting;
    if (first) {
      kept.waiting.delete(first);
      first.resolve(session);
      return;
    }
    const timer = setTimeout(() => {
      const at = kept.idle.findIndex((item) => item.session === session);
      if (at >= 0) kept.idle.splice(at, 1);
      session.end();
      this.#forget(kept, session);
    }, IDLE_MS);
    timer.unref();
    kept.idle.push({ session, timer });
  }

  #forget(kept: Kept, session: FtpSession): void {
    if (this.#open.delete(session)) kept.count -= 1;
    this.#wakeOne(kept);
  }

  #wakeOne(kept: Kept): void {
    const [first] = kept.waiting;
    if (!first) return;
    kept.waiting.delete(first);
    first.resolve(undefined);
  }
}
