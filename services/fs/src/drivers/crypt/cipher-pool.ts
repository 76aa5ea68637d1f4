import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { storageError } from '../../driver-contract/storage-error.ts';
import { type CipherTask, runTask } from './run-task.ts';

export interface CipherAnswer {
  readonly id: number;
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
}

interface Lane {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<Uint8Array | undefined>>;
}

const MAX_LANES = 4;
/** What takes less than what goes to a thread and comes back: a fraction of a millisecond. */
const SMALL_BYTES = 8 * 1024;
const IDLE_MS = 60_000;

/** Threads that encrypt and decrypt: a MiB takes one of them three milliseconds. They are for all storages, and end when nobody needs them. */
class CipherPool {
  readonly #lanes: Lane[] = [];
  #nextId = 1;
  #idle: NodeJS.Timeout | undefined;

  /** @throws AppError CONTENT_CORRUPT: a block is not what was sealed */
  async run(task: CipherTask): Promise<Uint8Array> {
    if (task.bytes.byteLength <= SMALL_BYTES) return orCorrupt(runTask(task));
    clearTimeout(this.#idle);
    const lane = this.#leastBusy();
    const id = this.#nextId++;
    const answer = Promise.withResolvers<Uint8Array | undefined>();
    lane.waiting.set(id, answer);
    lane.worker.ref();
    lane.worker.postMessage({ id, ...task }, [task.bytes.buffer]);
    return orCorrupt(await answer.promise);
  }

  #endIdle(): void {
    clearTimeout(this.#idle);
    if (this.#lanes.some(({ waiting }) => waiting.size > 0)) return;
    this.#idle = setTimeout(() => {
      for (const { worker } of this.#lanes.splice(0)) void worker.terminate();
    }, IDLE_MS);
    this.#idle.unref();
  }

  #leastBusy(): Lane {
    const [quiet] = [...this.#lanes].sort((left, right) => left.waiting.size - right.waiting.size);
    if (quiet && (quiet.waiting.size === 0 || this.#lanes.length >= Math.min(MAX_LANES, availableParallelism()))) return quiet;
    return this.#addLane();
  }

  #addLane(): Lane {
    const worker = new Worker(new URL('./cipher-worker.ts', import.meta.url), {
      // Not those of the process, which may be meant for its own program, such as `--input-type`.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 },
    });
    const lane: Lane = { worker, waiting: new Map() };
    worker.unref();
    worker.on('message', ({ id, bytes }: CipherAnswer) => {
      const answer = lane.waiting.get(id);
      lane.waiting.delete(id);
      if (lane.waiting.size === 0) worker.unref();
      answer?.resolve(bytes);
      this.#endIdle();
    });
    worker.once('error', (error) => {
      const at = this.#lanes.indexOf(lane);
      if (at !== -1) this.#lanes.splice(at, 1);
      for (const { reject } of lane.waiting.values()) reject(storageError('INTERNAL', error));
    });
    this.#lanes.push(lane);
    return lane;
  }
}

function orCorrupt(bytes: Uint8Array | undefined): Uint8Array {
  if (bytes === undefined) throw storageError('CONTENT_CORRUPT');
  return bytes;
}

export const CIPHERS = new CipherPool();
