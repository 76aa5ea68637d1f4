import type { TaskRecord } from '@wharf/models';
import { outsideCalls } from '@wharf/pace';
import type { Logger } from '@wharf/service-kit';
import { createPassedOver, type PassedOver } from './passed-over.ts';
import type { StoreClock } from './store-clock.ts';
import type { StoreContact } from './store-contact.ts';
import type { TaskQueue } from './task-queue.ts';
import { createTurns, type Turns } from './turns.ts';
import type { ClosedTo } from './waiting-tasks.ts';
import type { WorkerRuns } from './worker-runs.ts';

/** Users whose tasks are all not yet due that are asked for one by one. Beyond, the queue is gone through by time until there may be new tasks. */
const MOST_WITHOUT_WORK = 16;
/** To look for what is to be put away behind thousands of one user, who has all places for that, takes a twentieth of the time at most. */
const REST_FACTOR = 20;

/** Takes waiting tasks that this replica has room for, one round at a time. */
export interface ClaimRounds {
  /** A run has ended: claims waiting tasks of which it knows. A call during a round causes another round. */
  pump(): void;
  /** Tasks may have been queued, or are due: asks the store for all of them. */
  look(): void;
  /** Resolves when the present round is over, with those that were asked for meanwhile. */
  ended(): Promise<void>;
  /** Returns the tasks of lost workers to the queue, then claims. */
  poll(): Promise<void>;
  /** Stops claiming. Resolves when the present round is over. Tasks that this round still takes are handed back. */
  stop(): Promise<void>;
}

export function createClaimRounds(options: {
  readonly queue: TaskQueue;
  readonly clock: StoreClock;
  readonly contact: StoreContact;
  readonly runs: WorkerRuns;
  /** Names. */
  readonly kinds: readonly string[];
  /** The id of this replica. */
  readonly worker: string;
  readonly logger: Logger;
  /** A task was claimed so long after it was due. */
  readonly onClaim: (kind: string, waitedMs: number) => void;
}): ClaimRounds {
  const { queue, clock, contact, runs, kinds } = options;
  const passedOver = createPassedOver(() => performance.now());
  const turns = createTurns();
  const claims = createClaims({ ...options, passedOver, turns, mayNote: () => !isLook });
  let isStopped = false;
  let isPumping = false;
  let pumpAgain = false;
  let isLook = false;
  let pumping: Promise<void> = Promise.resolve();

  const claimCleanups = createCleanupClaims({ ...options, isStopped: () => isStopped });

  const begin = async (record: TaskRecord): Promise<unknown> => {
    if (isStopped) return queue.passOn(record);
    options.onClaim(record.kind, Math.max(0, clock.now().getTime() - record.run_at.getTime()));
    return runs.begin(record, false);
  };

  const round = async (isWhole: boolean): Promise<void> => {
    await clock.sync();
    if (isWhole) await claimCleanups();
    const open: string[] = [];
    for (const kind of kinds) if ((await runs.freeSlots(kind)) > 0) open.push(kind);
    if (isWhole && !(await queue.hasWork(open))) {
      for (const kind of open) claims.noteNothing(kind, []);
      return;
    }
    for (const kind of open)
      for (let free = await runs.freeSlots(kind); free > 0 && !isStopped; ) {
        const records = await claims.next(kind, free);
        if (records.length === 0) break;
        free -= records.length;
        await allDone(records.map(begin));
      }
  };

  const rounds = async () => {
    while (pumpAgain && !isStopped) {
      pumpAgain = false;
      const isWhole = isLook;
      isLook = false;
      if (isWhole) claims.forget();
      await round(isWhole);
    }
  };
  const mend = (error: unknown) =>
    queue.mend(error).catch((cause) => options.logger.warn({ err: cause }, 'tasks that are stored oddly could not be mended'));
  const pump = () => {
    pumpAgain = true;
    if (isPumping || isStopped || kinds.length === 0) return;
    isPumping = true;
    let isFailed = false;
    // The call that added a task, or whose run made room, has nothing to do with what is begun here.
    pumping = outsideCalls(rounds)
      .catch((error) => {
        isFailed = true;
        options.logger.warn({ err: error }, 'tasks could not be claimed');
        return mend(error);
      })
      .finally(() => {
        isPumping = false;
        // Asked for in the very turn in which the last round ended.
        if (pumpAgain && !isFailed) pump();
      });
  };

  const look = () => {
    turns.look();
    isLook = true;
    pump();
  };

  return {
    pump,
    look,
    ended: () => pumping,
    async poll() {
      const reap = contact.through(async () => {
        await clock.sync();
        return kinds.length > 0 && (await queue.reap(contact.isSteady()));
      });
      const hasReaped = await reap.catch(async (error) => {
        await mend(error);
        throw error;
      });
      if (hasReaped) passedOver.forget();
      look();
    },
    stop() {
      isStopped = true;
      return pumping;
    },
  };
}

/** Takes what is to be put away, as long as there is room for it here. */
function createCleanupClaims(options: {
  readonly queue: TaskQueue;
  readonly runs: WorkerRuns;
  readonly kinds: readonly string[];
  readonly worker: string;
  readonly isStopped: () => boolean;
}): () => Promise<void> {
  const { queue, runs, kinds, worker, isStopped } = options;
  /** When the tasks of users who have their share are passed over again. */
  let passOverAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    for (let closed = runs.closedToCleanUp(); closed && !isStopped(); closed = runs.closedToCleanUp()) {
      const startedAtMs = performance.now();
      if (closed.length > 0 && startedAtMs < passOverAtMs) return;
      const record = await queue.claimCleanup(kinds, worker, closed);
      if (!record && closed.length > 0) passOverAtMs = performance.now() + REST_FACTOR * (performance.now() - startedAtMs);
      // The task was claimed at the last moment. Its lease runs out, and another worker does the cleanup.
      if (!record || isStopped()) return;
      runs.begin(record, true);
    }
  };
}

interface Claims {
  /** Takes the tasks of a kind whose turn it is, at most so many. Empty: there is none, or none that may be taken now. */
  next(kind: string, most: number): Promise<readonly TaskRecord[]>;
  /** With these keys and users closed nothing was there. */
  noteNothing(kind: string, closed: readonly string[]): void;
  /** There may be something again. */
  forget(): void;
}

/** @param options.mayNote false once somebody has said that tasks may have been queued */
function createClaims(options: {
  readonly queue: TaskQueue;
  readonly clock: StoreClock;
  readonly runs: WorkerRuns;
  readonly worker: string;
  readonly passedOver: PassedOver;
  readonly turns: Turns;
  readonly mayNote: () => boolean;
}): Claims {
  const { queue, clock, runs, worker, passedOver, turns } = options;
  /** By kind: with these closed nothing was there, so with more closed nothing is. */
  const nothing = new Map<string, readonly string[]>();
  const noteNothing = (kind: string, closed: readonly string[]) => {
    if (options.mayNote()) nothing.set(kind, closed);
  };
  const namesOf = ({ keys, creators }: ClosedTo) => [...keys, ...creators.map((id) => `creator ${id}`)];
  const isNothing = (kind: string, names: readonly string[]) => nothing.get(kind)?.every((name) => names.includes(name)) === true;

  /**
   * By the users' order, which costs the same however many tasks each has. @returns 'by time': too many users have nothing that is due
   */
  const claimInTurn = async (kind: string, closed: ClosedTo): Promise<TaskRecord | 'by time' | undefined> => {
    const names = namesOf(closed);
    if (isNothing(kind, names)) return undefined;
    let asked = 0;
    for (const span of turns.spansOf(kind, closed.creators))
      for (let user = await queue.nextUser(kind, span); user !== undefined; user = await queue.nextUser(kind, { ...span, above: user })) {
        const record = await queue.claim(kind, { keys: [], creators: [] }, worker, { user });
        if (record) {
          turns.noteInTurn(kind, user, closed.creators);
          return record;
        }
        asked += 1;
        if (asked === MOST_WITHOUT_WORK) return 'by time';
      }
    noteNothing(kind, names);
    return undefined;
  };
  /** By the order of the queue. */
  const claimFrom = async (kind: string, closed: ClosedTo, most: number): Promise<readonly TaskRecord[]> => {
    const names = namesOf(closed);
    if (isNothing(kind, names)) return [];
    const start = passedOver.start(kind, names);
    const asked = clock.now();
    const records = await queue.claimSome(kind, closed, worker, most, { from: start.from });
    passedOver.note(kind, names, start, records[0]?.run_at, asked);
    for (const record of records) turns.note(kind, record.creator_id);
    if (records.length === 0) noteNothing(kind, names);
    return records;
  };
  return {
    noteNothing,
    forget: () => nothing.clear(),
    async next(kind, most) {
      const { most: mostAtOnce, ...closed } = runs.closedTo(kind);
      // What waits behind closed keys is passed over, for which the order of the queue is known better.
      if (closed.keys.length === 0 && turns.isByUser(kind)) {
        const found = await claimInTurn(kind, closed);
        if (found !== 'by time') return found ? [found] : [];
        turns.goByTime(kind);
      }
      const served = turns.servedOf(kind);
      if (served.length > 0) {
        const records = await claimFrom(kind, { ...closed, creators: [...new Set([...closed.creators, ...served])] }, 1);
        if (records.length > 0) return records;
        turns.end(kind);
      }
      return claimFrom(kind, closed, turns.isAlone(kind) ? Math.min(most, mostAtOnce) : 1);
    },
  };
}

/** Each is carried out, whatever becomes of the others. @throws what the first that failed has thrown */
async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}
