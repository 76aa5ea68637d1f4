import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { createGate, type Gate } from '@wharf/pace';
import { abortError, storageError } from '../../driver-contract/storage-error.ts';
import { heldWhileOpen } from '../../driver-contract/while-open.ts';
import type { FtpSession } from './client.ts';
import { isTooMany, toAppError } from './errors.ts';

/** A session does one thing at a time, so each kind of work has a share of them: a listing does not wait behind downloads. */
export const LANES = { names: 4, reads: 8, writes: 12 } as const;

/** `back` is for what a call brings back while it holds a session: those who use it wait for no other lane. */
export type Lane = keyof typeof LANES | 'back';

const MAX_HELD: Readonly<Record<Lane, number>> = { ...LANES, back: 1 };

/** A session that nobody uses ends after that long. */
const IDLE_MS = 60_000;
/** How long it counts that a server takes no more sessions. */
const FULL_MS = 60_000;

/** Between asking a server again that had no session for us, while other storages of this process may have some there. */
const PAUSES_MS: readonly number[] = [50, 250, 1_000];

/** The pools of this process by their server: several storages may be on one, and one that is saved anew stays open beside itself for a while. */
const poolsOf = new Map<string, Set<SessionPool>>();

/** A session for one user, to be given back. */
export interface Lease {
  readonly session: FtpSession;
  /** Safe twice. */
  release(): void;
}

/** A session whose user waits for what may need one itself. */
interface Lent {
  readonly session: FtpSession;
  /** It does one thing at a time. */
  readonly gate: Gate;
  isOver: boolean;
}

interface Waiting {
  readonly lane: Lane;
  /** As of {@link heldWhileOpen}: whoever holds another session meanwhile may have the last one, for it would wait for itself. */
  readonly own: ReadonlyMap<object, number> | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * The sessions of one storage: bounded, made when needed, replaced when broken, ended when idle. A server that takes fewer of them is asked for no more
 * for a while; then transfers leave one for names, and one for transfers the other way, as far as there are so many.
 */
export class SessionPool {
  readonly #connect: () => Promise<FtpSession>;
  readonly #track: (work: Promise<unknown>) => void;
  /** How many somebody has, with those that are being made and those that are given back. */
  readonly #held: Record<Lane, number> = { names: 0, reads: 0, writes: 0, back: 0 };
  readonly #idle: { readonly session: FtpSession; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #open = new Set<FtpSession>();
  readonly #connecting = new Set<Promise<unknown>>();
  readonly #lent = new AsyncLocalStorage<Lent>();
  /** How many the server has taken when it took no more, and until when that counts. */
  #full: { readonly sessions: number; readonly untilMs: number } | undefined;
  readonly #server: string;
  #isClosed = false;

  /** @param track what is done behind a call, and waited for when all is closed. @param server by which pools of one server know each other */
  constructor(connect: () => Promise<FtpSession>, track: (work: Promise<unknown>) => void, server: string) {
    this.#connect = connect;
    this.#track = track;
    this.#server = server;
    poolsOf.set(server, (poolsOf.get(server) ?? new Set()).add(this));
  }

  /** @throws AppError STORAGE_UNAVAILABLE when closed; FAILED_PRECONDITION: all that the server takes wait for this one; what `connect` says */
  async take(lane: Lane, signal?: AbortSignal): Promise<Lease> {
    for (;;) {
      const lent = this.#lent.getStore();
      const own = heldWhileOpen.getStore();
      if (lane === 'names' && lent?.isOver === false && !this.#hasRoom(lane, this.#isBeside(own))) return borrow(lent);
      await this.#enter({ lane, own }, signal);
      try {
        const session = this.#findIdle(lane, this.#isBeside(own)) ?? (await this.#make());
        if (session) return this.#leaseOf(lane, session);
      } catch (error) {
        this.#leave(lane);
        throw error;
      }
      this.#leave(lane);
    }
  }

  /** Runs what the user of a session waits for before going on with it: what it asks about names is asked by this session where the server takes no other. */
  async lend<Result>(session: FtpSession, work: () => Promise<Result>): Promise<Result> {
    const lent = { session, gate: createGate(1), isOver: false };
    try {
      return await this.#lent.run(lent, () => heldWhileOpen.run(heldWhileOpen.getStore() ?? new Map(), work));
    } finally {
      lent.isOver = true;
      await lent.gate.run(async () => undefined);
    }
  }

  /** Ends all sessions, also those that are being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const pools = poolsOf.get(this.#server);
    pools?.delete(this);
    if (pools?.size === 0) poolsOf.delete(this.#server);
    this.endIdle();
    for (const { reject } of this.#waiting) reject(storageError('STORAGE_UNAVAILABLE'));
    for (const session of this.#open) session.end();
    await Promise.allSettled(this.#connecting);
  }

  /** Ends what nobody uses. */
  endIdle(): void {
    for (const { session, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      session.end();
      this.#open.delete(session);
    }
  }

  #leaseOf(lane: Lane, session: FtpSession): Lease {
    const own = heldWhileOpen.getStore();
    const count = (more: number) => own?.set(this, (own.get(this) ?? 0) + more);
    let isHeld = true;
    count(1);
    // Who of the same work waits is beside this one now.
    if (own) this.#admit();
    return {
      session,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        count(-1);
        this.#track(this.#giveBack(lane, session));
      },
    };
  }

  /** Waits for a turn. */
  async #enter({ lane, own }: Pick<Waiting, 'lane' | 'own'>, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
    // Whoever wants it holds the session that would have to be waited for.
    if (lane === 'back' && !this.#hasRoom(lane, false))
      throw storageError('STORAGE_UNAVAILABLE', new Error('the server takes no more sessions'));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { lane, own, resolve, reject };
    const onAbort = () => {
      if (this.#waiting.delete(waiting) && signal) reject(abortError(signal));
    };
    this.#waiting.add(waiting);
    this.#admit();
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      await promise;
    } finally {
      this.#waiting.delete(waiting);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #leave(lane: Lane): void {
    this.#held[lane] -= 1;
    this.#admit();
  }

  /** First come, first served, in each lane. */
  #admit(): void {
    for (const waiting of this.#waiting) {
      const { lane, own } = waiting;
      if (lane !== 'back' && (own?.get(this) ?? 0) >= this.#bound) {
        this.#waiting.delete(waiting);
        waiting.reject(tooFew());
        continue;
      }
      if (this.#held[lane] >= MAX_HELD[lane] || !this.#hasRoom(lane, this.#isBeside(own))) continue;
      this.#waiting.delete(waiting);
      this.#held[lane] += 1;
      waiting.resolve();
    }
  }

  /** How many sessions the server takes, as far as it has said. */
  get #bound(): number {
    return this.#full !== undefined && this.#full.untilMs > performance.now() ? this.#full.sessions : Number.POSITIVE_INFINITY;
  }

  #isBeside(own: Waiting['own']): boolean {
    return (own?.get(this) ?? 0) > 0;
  }

  /** Whether the server has another one for a lane. */
  #hasRoom(lane: Lane, isBeside: boolean): boolean {
    if (lane === 'back') return this.#live - this.#idle.length < this.#bound;
    const empty = (Object.keys(LANES) as Lane[]).filter((other) => other !== lane && this.#held[other] === 0);
    const kept = this.#held[lane] > 0 ? empty.length : Number(lane !== 'names' && empty.includes('names'));
    const { names, reads, writes, back } = this.#held;
    return this.#bound - (names + reads + writes + back) > (isBeside ? 0 : Math.min(kept, this.#bound - 1));
  }

  /** The last one is left to names: where the server takes no more, they would wait for a transfer to end. */
  #findIdle(lane: Lane, isBeside: boolean): FtpSession | undefined {
    const isLeftNone = isBeside || lane === 'names' || lane === 'back' || this.#held.names > 0;
    const left = isLeftNone ? 0 : Math.min(1, this.#bound - 1);
    while (this.#idle.length > left) {
      const { session, timer } = this.#idle.pop() ?? {};
      clearTimeout(timer);
      if (session && !session.isEnded) return session;
      if (session) this.#open.delete(session);
    }
    return undefined;
  }

  /** Undefined where the server takes no more, and there are others to wait for. */
  async #make(): Promise<FtpSession | undefined> {
    const connecting = this.#connectBesideOthers();
    this.#connecting.add(connecting);
    try {
      const session = await connecting;
      this.#open.add(session);
      if (this.#isClosed) {
        session.end();
        throw storageError('STORAGE_UNAVAILABLE');
      }
      // Another one may have been refused while this one logged in.
      if (this.#full && this.#full.sessions < this.#live) {
        this.#full = { ...this.#full, sessions: this.#live };
        this.#admit();
      }
      return session;
    } catch (error) {
      // Those that are being made may be all that the server takes.
      if (isTooMany(error) && this.#live === 0) await Promise.allSettled([...this.#connecting].filter((other) => other !== connecting));
      if (!isTooMany(error) || this.#live === 0) throw toAppError(error);
      this.#full = { sessions: this.#live, untilMs: performance.now() + FULL_MS };
      return undefined;
    } finally {
      this.#connecting.delete(connecting);
    }
  }

  /** Where the server takes no more and this storage has none, those end first that other storages leave idle there. */
  async #connectBesideOthers(): Promise<FtpSession> {
    for (const pauseMs of PAUSES_MS) {
      try {
        return await this.#connect();
      } catch (error) {
        const others = [...(poolsOf.get(this.#server) ?? [])].filter((pool) => pool !== this);
        if (!isTooMany(error) || this.#live > 0 || this.#isClosed || others.length === 0) throw error;
        for (const other of others) other.endIdle();
        await wait(pauseMs);
      }
    }
    return this.#connect();
  }

  get #live(): number {
    return [...this.#open].filter(({ isEnded }) => !isEnded).length;
  }

  async #giveBack(lane: Lane, session: FtpSession): Promise<void> {
    if (!session.isSettled) await session.settle();
    if (session.isEnded || this.#isClosed) {
      session.end();
      this.#open.delete(session);
    } else this.#keep(session);
    this.#leave(lane);
  }

  #keep(session: FtpSession): void {
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((item) => item.session === session);
      if (at >= 0) this.#idle.splice(at, 1);
      session.end();
      this.#open.delete(session);
    }, IDLE_MS);
    timer.unref();
    this.#idle.push({ session, timer });
  }
}

function tooFew(): AppError {
  return new AppError('FAILED_PRECONDITION', 'the server takes too few connections to read a file and do something else meanwhile');
}

function borrow({ session, gate }: Lent): Promise<Lease> {
  const { promise: isBack, resolve: release } = Promise.withResolvers<void>();
  return new Promise(
    (resolve) =>
      void gate.run(async () => {
        resolve({ session, release });
        await isBack;
        // An answer that broke off leaves what the server still says of it.
        if (!session.isSettled) await session.settle();
      }),
  );
}
