import { AppError } from '@wharf/errors';
import type { TaskKind, TaskProgress } from '@wharf/task-engine';
import { pino } from 'pino';

type RawRun = Parameters<TaskKind<never>['run']>[0];

/** A task without an engine: what its attempts save stays for the next one. */
export interface TestRun {
  /** An attempt. */
  begin(input: string): RawRun;
  /** A worker takes it, and gives it back before it begins. */
  passOn(): void;
  readonly progress: TaskProgress[];
  /** How often a checkpoint was written. */
  checkpoints(): number;
  /** Does something at the moment of each checkpoint; the attempt waits for it. */
  onCheckpoint(run: () => void | Promise<void>): void;
  /** From now on the lease is another's, and the attempt is told to end. */
  lose(): void;
}

export function createTestRun({ signal }: { signal: AbortSignal }): TestRun {
  const chunks = new Map<number, string>();
  const progress: TaskProgress[] = [];
  let checkpoint = '';
  let checkpoints = 0;
  let fence = 0;
  let unbegun = 0;
  let lost = new AbortController();
  let onCheckpoint: () => void | Promise<void> = () => {};
  const held = () => lost.signal.throwIfAborted();
  return {
    progress,
    checkpoints: () => checkpoints,
    onCheckpoint(run) {
      onCheckpoint = run;
    },
    lose() {
      lost.abort(new AppError('CANCELLED', 'another worker has this task'));
    },
    passOn() {
      fence += 1;
      unbegun += 1;
    },
    begin(input) {
      fence += 1;
      lost = new AbortController();
      return {
        id: 'task',
        name: 'a task of a test',
        creator: undefined,
        fence,
        attempt: fence - unbegun,
        signal: AbortSignal.any([signal, lost.signal]),
        logger: pino({ level: 'silent' }),
        input,
        checkpoint,
        async saveCheckpoint(text) {
          held();
          checkpoint = text;
          checkpoints += 1;
          await onCheckpoint();
        },
        readChunk: async (index) => chunks.get(index),
        async writeChunk(index, text) {
          held();
          chunks.set(index, text);
        },
        async clearChunks() {
          chunks.clear();
        },
        progress: (news) => progress.push(news),
        async assertLease() {
          signal.throwIfAborted();
          held();
        },
        async heldUntil() {
          signal.throwIfAborted();
          held();
          return Number.POSITIVE_INFINITY;
        },
      };
    },
  };
}
