import { abortError, throwIfAborted } from './storage-error.ts';

/** What all uploads of the process may hold in parts that are not stored yet. @internal for its test */
export const PART_BUDGET_BYTES = 64 * 1024 * 1024;
/** Buffers that are kept for the next who needs one of their size. The collector may take them. */
const MAX_SPARE = 8;
/** Smaller ones are quickly made. */
const LEAST_SPARE_BYTES = 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

let heldBytes = 0;
const waiting: Waiting[] = [];
const spare: WeakRef<Buffer>[] = [];

/** Memory for one part, with anything in it. */
export interface PartBuffer {
  readonly memory: Buffer;
  /** When nobody looks at the memory any more. Safe twice. */
  release(): void;
}

/**
 * Takes memory from the one budget of the process; where there is no room it waits, first come, first served. Whoever waits for a second part holds
 * the first one only as long as its storage takes it, so that everybody gets on.
 *
 * @param bytes at most PART_BUDGET_BYTES
 * @throws AppError CANCELLED, or the AppError that is the reason of the abort
 */
export async function takePartBuffer(bytes: number, signal: AbortSignal | undefined): Promise<PartBuffer> {
  throwIfAborted(signal);
  if (waiting.length > 0 || heldBytes + bytes > PART_BUDGET_BYTES) await turnOf(bytes, signal);
  else heldBytes += bytes;
  const memory = takeSpare(bytes) ?? Buffer.allocUnsafeSlow(bytes);
  let isReleased = false;
  return {
    memory,
    release() {
      if (isReleased) return;
      isReleased = true;
      heldBytes -= bytes;
      if (bytes >= LEAST_SPARE_BYTES) spare.push(new WeakRef(memory));
      if (spare.length > MAX_SPARE) spare.shift();
      handOn();
    },
  };
}

function turnOf(bytes: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const place = { bytes, begin: resolve };
  waiting.push(place);
  const leave = () => {
    const at = waiting.indexOf(place);
    if (at < 0 || !signal) return;
    waiting.splice(at, 1);
    reject(abortError(signal));
    handOn();
  };
  signal?.addEventListener('abort', leave, { once: true });
  return promise.finally(() => signal?.removeEventListener('abort', leave));
}

function handOn(): void {
  for (let next = waiting[0]; next && heldBytes + next.bytes <= PART_BUDGET_BYTES; next = waiting[0]) {
    waiting.shift();
    heldBytes += next.bytes;
    next.begin();
  }
}

function takeSpare(bytes: number): Buffer | undefined {
  for (let at = spare.length - 1; at >= 0; at--) {
    const memory = spare[at]?.deref();
    if (memory !== undefined && memory.byteLength !== bytes) continue;
    spare.splice(at, 1);
    if (memory !== undefined) return memory;
  }
  return undefined;
}
