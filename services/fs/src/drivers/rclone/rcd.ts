import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { answerOf } from './answer-of.ts';
import type { RcdSource } from './client.ts';
import { mostMemory, type RcdProcess, startRcd } from './rcd-process.ts';
import type { ConnectTo } from './web-way.ts';

/** How long it stays when no storage needs it any more. */
const IDLE_MS = 30_000;
/** One that ran for so long was well: its end says nothing about the next one. */
const WELL_MS = 3_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
/** It answers what asks for nothing within some milliseconds; so long it may be kept from it where the machine is busy. */
const ANSWERS_MS = 20_000;
/** After so long it is asked again within that time, where asking itself failed, in milliseconds. */
const ASK_AGAIN_MS = 500;

/**
 * One `rclone rcd`, for all storages that need it. It is started when it is asked for, again when it has ended, and each time later
 * than before where it ends soon.
 *
 * @internal for its test
 */
export class Rcd {
  readonly #start: (connect: ConnectTo) => Promise<RcdProcess>;
  readonly #answersMs: number;
  readonly #users = new Set<{ readonly egress: Egress }>();
  #running: Promise<RcdProcess> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #pauseMs = 0;
  #mayStartAt = 0;
  /** Why it could not be started last time. */
  #failure: unknown;
  #suspected: RcdProcess | undefined;

  /** @param answersMs another time than the standard one is given by tests only */
  constructor(start: (connect: ConnectTo) => Promise<RcdProcess>, answersMs = ANSWERS_MS) {
    this.#start = start;
    this.#answersMs = answersMs;
  }

  /**
   * One more needs it.
   * @param egress the way to the network, one policy for all storages of a process: the child has one proxy
   * @returns to be called once when that is over
   */
  hold(egress: Egress): () => void {
    const user = { egress };
    this.#users.add(user);
    clearTimeout(this.#idle);
    return () => {
      this.#users.delete(user);
      if (this.#users.size > 0) return;
      this.#idle = setTimeout(() => this.#stop(), IDLE_MS);
      this.#idle.unref();
    };
  }

  /** @throws AppError FAILED_PRECONDITION: there is no rclone | STORAGE_UNAVAILABLE: it has ended a moment ago, or does not start */
  get(): Promise<RcdProcess> {
    if (this.#running) return this.#running;
    const waitMs = this.#mayStartAt - performance.now();
    if (waitMs > 0) {
      if (AppError.is(this.#failure, 'FAILED_PRECONDITION')) return Promise.reject(this.#failure);
      const details = { retryAfterMs: Math.ceil(waitMs) };
      return Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'rclone has ended and is about to be started again', { details }));
    }
    const startedAt = performance.now();
    const running = this.#start((host, port, signal) => {
      const [user] = [...this.#users].slice(-1);
      if (!user) throw new AppError('STORAGE_UNAVAILABLE', 'no storage needs it');
      return user.egress.connect({ host, port, signal });
    });
    this.#running = running;
    const onEnd = (failure?: unknown) => {
      this.#failure = failure;
      if (this.#running !== running) return;
      this.#running = undefined;
      const isWell = performance.now() - startedAt > WELL_MS;
      this.#pauseMs = isWell ? 0 : Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2));
      this.#mayStartAt = performance.now() + this.#pauseMs;
    };
    running.then(({ ended }) => (ended.aborted ? onEnd() : ended.addEventListener('abort', () => onEnd(), { once: true })), onEnd);
    return running;
  }

  /**
   * It was waited for in vain. One that does not answer at all, as one that was stopped or stands still by a fault of its own, is ended: its calls fail,
   * and the next one starts another. Servers that are slow are no reason.
   */
  async suspect(process: RcdProcess): Promise<void> {
    if (process.ended.aborted || this.#suspected === process) return;
    this.#suspected = process;
    try {
      if (!(await answersWithin(process, this.#answersMs))) process.kill();
    } finally {
      if (this.#suspected === process) this.#suspected = undefined;
    }
  }

  #stop(): void {
    const running = this.#running;
    this.#running = undefined;
    running?.then(
      (process) => process.kill(),
      () => undefined,
    );
  }
}

/** Asks for nothing, on connections of its own: one that fails at once, as where no file handle is left here, says nothing of the process. */
async function answersWithin({ url, authorization, ended }: RcdProcess, limitMs: number): Promise<boolean> {
  const headers = { Authorization: authorization, 'Content-Length': 0 };
  for (const late = AbortSignal.timeout(limitMs); !late.aborted && !ended.aborted; await delay(ASK_AGAIN_MS)) {
    const request = http.request(`${url}/rc/noop`, { method: 'POST', headers, agent: false, signal: late });
    request.end();
    try {
      (await answerOf(request)).resume();
      return true;
    } catch {
      // Asked again while there is time.
    }
  }
  return false;
}

/** Children beside the common one, at most: one takes some 60 MB at rest. The last of them has all storages for which there is no other. */
const MOST_APART = 2;
/** The part of the memory for children that each of them may take. */
const APART_MEMORY_PART = 0.25;
let apart = 0;
/** The last one, and how many storages have it. */
let shared: { readonly rcd: Rcd; users: number } | undefined;

/** @returns a child apart from the common one, and what is to be called once when its storage needs it no more */
function childApart(start: (connect: ConnectTo) => Promise<RcdProcess>): [Rcd, () => void] {
  if (apart < MOST_APART - (shared ? 0 : 1)) {
    apart += 1;
    const leave = () => {
      apart -= 1;
    };
    return [new Rcd(start), leave];
  }
  if (!shared) apart += 1;
  shared ??= { rcd: new Rcd(start), users: 0 };
  const own = shared;
  own.users += 1;
  const leave = () => {
    own.users -= 1;
    if (own.users > 0) return;
    shared = undefined;
    apart -= 1;
  };
  return [own.rcd, leave];
}

const startWith = (memoryPart: number, connect: ConnectTo) => startRcd(connect, undefined, Math.floor(mostMemory() * memoryPart));
const startApart = (connect: ConnectTo) => startWith(APART_MEMORY_PART, connect);

/** That of this process. Nothing runs before it is asked for. @internal for tests */
export const rcd = new Rcd((connect) => startWith(1 - apart * APART_MEMORY_PART, connect));

/**
 * It as a storage takes it, which may get one of its own.
 * @param common,start others than the standard ones are given by tests only
 */
export function ownRcd(egress: Egress, common = rcd, start = startApart): RcdSource {
  let of = common;
  let release: () => void = () => undefined;
  return {
    hold() {
      release = of.hold(egress);
      return () => release();
    },
    get: () => of.get(),
    suspect: (process) => void of.suspect(process),
    setApart() {
      if (of !== common) return;
      const [child, leave] = childApart(start);
      release();
      of = child;
      const letGo = of.hold(egress);
      release = () => {
        leave();
        letGo();
      };
    },
  };
}
