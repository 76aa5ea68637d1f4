import { AppError } from '@wharf/errors';
import type { Logger } from '@wharf/service-kit';
import { z } from 'zod';

/** Whom a task belongs to. */
export interface TaskCreator {
  readonly id: number;
  readonly name: string;
  readonly role: number;
}

/** What a run says about how far it is. What is left out stays as it is. */
export interface TaskProgress {
  readonly doneBytes?: number;
  readonly totalBytes?: number;
  /** 0 to 100; from the bytes when it is never given. */
  readonly percent?: number;
  /** For people. */
  readonly status?: string;
  /** One word for programs, for example `listing`. */
  readonly phase?: string;
}

/** One attempt at a task, as the code of its kind sees it. */
export interface TaskRun<Input, Checkpoint, Chunk> {
  readonly id: string;
  readonly name: string;
  readonly input: Input;
  /** Undefined for a task that belongs to nobody. */
  readonly creator: TaskCreator | undefined;
  /** Different for each worker that takes the task: names made with id and fence are this attempt's own. */
  readonly fence: number;
  /** 1: no worker has begun it before. Workers that are lost count, those that gave it back unbegun do not. */
  readonly attempt: number;
  /** What an earlier attempt, or this one, saved last; undefined: nothing. */
  readonly checkpoint: Checkpoint | undefined;
  /** Aborted by cancel, pause, stop and by a lost lease. The run then throws; in between it may still save a checkpoint. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /**
   * Stores small state for whoever continues.
   * @param isProgress false: nothing was done yet, so a worker that is lost from here on is one more in a row. Default true.
   * @throws AppError CANCELLED: the lease is lost, nothing was written
   */
  saveCheckpoint(checkpoint: Checkpoint, isProgress?: boolean): Promise<void>;
  readonly chunks: TaskChunks<Chunk>;
  /** Costs nothing: written at most once a second. */
  progress(progress: TaskProgress): void;
  /**
   * Asks the store whether this run still holds the task, and renews the lease, unless the store said so within the last second: the lease lasts six. To be
   * called right before a step that cannot be taken back: a rename over a target, the removal of a source.
   * @throws AppError CANCELLED: lost, cancelled, paused or stopping
   */
  assertLease(): Promise<void>;
  /**
   * As `assertLease`, for several such steps or one that is a while away.
   * @returns until when surely nobody else has the task, by `performance.now()`: after that it is to be asked again
   */
  heldUntil(): Promise<number>;
}

/** Durable pieces of a task that are too large for its checkpoint, by index. Each is one document: keep it under a megabyte. */
export interface TaskChunks<Chunk> {
  /** Undefined: there is none. */
  read(index: number): Promise<Chunk | undefined>;
  /** Makes or replaces one. @throws AppError CANCELLED: the lease is lost, nothing was written */
  write(index: number, chunk: Chunk): Promise<void>;
  /** Removes all. */
  clear(): Promise<void>;
}

/** How a task ended that did not succeed. */
export type TaskOutcome = 'canceled' | 'failed';

interface TaskKindDeclaration<Input, Checkpoint, Chunk> {
  /** For example `recursive_move`. */
  readonly name: string;
  /** The list that shows its tasks, where it is not the kind's own. */
  readonly list?: string;
  readonly input: z.ZodType<Input>;
  readonly checkpoint?: z.ZodType<Checkpoint>;
  readonly chunk?: z.ZodType<Chunk>;
  /** Attempts after the first, made by itself. */
  readonly maxRetries: number;
  /** Tasks that are known to be of so many bytes at most are small: several of them have one place together. Absent: none is. */
  readonly smallBytes?: number;
  /**
   * Does the work, or what is left of it. Returning is success, throwing is not: an AppError's message becomes the task's error, and one
   * that never helps to repeat ends it; anything else is logged, and the task says `internal error`.
   */
  readonly run: (run: TaskRun<Input, Checkpoint, Chunk>) => Promise<void>;
  /**
   * Puts away what the attempts left, after a cancel or when no retry is left. Called also for a task that never ran; may be called again
   * by another worker. Its signal is aborted only by a stop or a lost lease.
   */
  readonly onEnd?: (outcome: TaskOutcome, run: TaskRun<Input, Checkpoint, Chunk>) => Promise<void>;
}

/** What the engine gives a kind, before the kind's shapes are known. */
export interface RawRun extends Omit<TaskRun<never, never, never>, 'input' | 'checkpoint' | 'saveCheckpoint' | 'chunks'> {
  /** JSON text. */
  readonly input: string;
  /** JSON text, empty: none. */
  readonly checkpoint: string;
  saveCheckpoint(text: string, isProgress: boolean): Promise<void>;
  readChunk(index: number): Promise<string | undefined>;
  writeChunk(index: number, text: string): Promise<void>;
  clearChunks(): Promise<void>;
}

/** A kind of task. Made by defineTaskKind(). */
export interface TaskKind<Input> {
  readonly name: string;
  readonly list: string;
  readonly maxRetries: number;
  readonly hasCleanup: boolean;
  readonly hasChunks: boolean;
  /** 0: none of its tasks is small. */
  readonly smallBytes: number;
  /** The JSON text of an input. @throws AppError INTERNAL: it has not the kind's shape */
  encodeInput(input: Input): string;
  run(raw: RawRun): Promise<void>;
  end(outcome: TaskOutcome, raw: RawRun): Promise<void>;
}

/** Declares a kind. Shapes must survive JSON: no dates, maps or undefined in them. */
export function defineTaskKind<Input, Checkpoint = null, Chunk = null>(
  declaration: TaskKindDeclaration<Input, Checkpoint, Chunk>,
): TaskKind<Input> {
  const { name, list, input, checkpoint, chunk, maxRetries, smallBytes = 0, run, onEnd } = declaration;
  const typed = (raw: RawRun) => typedRun(raw, { input, checkpoint, chunk });
  return {
    name,
    list: list ?? name,
    maxRetries,
    hasCleanup: onEnd !== undefined,
    hasChunks: chunk !== undefined,
    smallBytes,
    encodeInput: (value) => JSON.stringify(parsed(input, value, `the input of a task of the kind ${name}`)),
    run: async (raw) => run(typed(raw)),
    end: async (outcome, raw) => onEnd?.(outcome, typed(raw)),
  };
}

/** Of kinds that have no such state. */
const NONE = z.never();

function typedRun<Input, Checkpoint, Chunk>(
  raw: RawRun,
  shapes: { input: z.ZodType<Input>; checkpoint: z.ZodType<Checkpoint> | undefined; chunk: z.ZodType<Chunk> | undefined },
): TaskRun<Input, Checkpoint, Chunk> {
  const checkpointShape = shapes.checkpoint ?? NONE;
  const chunkShape = shapes.chunk ?? NONE;
  const decode = <Value>(shape: z.ZodType<Value>, text: string, what: string) =>
    parsed(shape, JSON.parse(text), `${what} of task ${raw.id}`);
  let checkpoint = raw.checkpoint === '' ? undefined : decode<Checkpoint>(checkpointShape, raw.checkpoint, 'the checkpoint');
  return {
    id: raw.id,
    name: raw.name,
    creator: raw.creator,
    fence: raw.fence,
    attempt: raw.attempt,
    signal: raw.signal,
    logger: raw.logger,
    progress: (progress) => raw.progress(progress),
    assertLease: () => raw.assertLease(),
    heldUntil: () => raw.heldUntil(),
    input: decode(shapes.input, raw.input, 'the input'),
    get checkpoint() {
      return checkpoint;
    },
    async saveCheckpoint(value, isProgress = true) {
      await raw.saveCheckpoint(JSON.stringify(parsed<Checkpoint>(checkpointShape, value, `a checkpoint of task ${raw.id}`)), isProgress);
      checkpoint = value;
    },
    chunks: {
      async read(index) {
        const text = await raw.readChunk(index);
        return text === undefined ? undefined : decode<Chunk>(chunkShape, text, `chunk ${index}`);
      },
      write: (index, value) => raw.writeChunk(index, JSON.stringify(parsed<Chunk>(chunkShape, value, `chunk ${index} of task ${raw.id}`))),
      clear: () => raw.clearChunks(),
    },
  };
}

function parsed<Value>(shape: z.ZodType<Value>, value: unknown, what: string): Value {
  const result = shape.safeParse(value);
  if (!result.success)
    throw new AppError('INTERNAL', 'internal error', { cause: new Error(`${what}: ${result.error.message.slice(0, 1_000)}`) });
  return result.data;
}
