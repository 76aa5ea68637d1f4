import { createLane } from './lane.ts';
import type { CallOptions } from './storage-driver.ts';

const MIB = 1024 * 1024;
/** What all uploads of the process may hold in parts that are not stored yet. @internal for its test */
export const PART_BUDGET_BYTES = 96 * MIB;
/** What the uploads of one caller may hold of that: slow ones keep their parts for as long as they please. */
const SHARE_BYTES = 64 * MIB;
/** What is left to callers that have none: three parts. All tasks are one caller, and what they read may come ever so slowly. */
const LEFT_BYTES = 24 * MIB;
/** Buffers that are kept for the next who needs one of their size. The collector may take them. */
const MAX_SPARE = 8;
/** Smaller ones are quickly made. */
const LEAST_SPARE_BYTES = MIB;

const budget = createLane({ size: PART_BUDGET_BYTES, share: SHARE_BYTES, leftToOthers: LEFT_BYTES });
const spare: WeakRef<Buffer>[] = [];

/** Memory for one part, with anything in it. */
export interface PartBuffer {
  readonly memory: Buffer;
  /** When nobody looks at the memory any more. Safe twice. */
  release(): void;
}

/**
 * Takes memory from the one budget of the process; where there is no room it waits, callers by turns. Whoever waits for a second part holds
 * the first one only as long as its storage takes it, so that everybody gets on.
 *
 * @param bytes at most PART_BUDGET_BYTES
 * @throws AppError CANCELLED, or the AppError that is the reason of the abort
 */
export async function takePartBuffer(bytes: number, options: CallOptions): Promise<PartBuffer> {
  const leave = await budget.enter(options, bytes);
  const memory = takeSpare(bytes) ?? Buffer.allocUnsafeSlow(bytes);
  let isReleased = false;
  return {
    memory,
    release() {
      if (isReleased) return;
      isReleased = true;
      if (bytes >= LEAST_SPARE_BYTES) spare.push(new WeakRef(memory));
      if (spare.length > MAX_SPARE) spare.shift();
      leave();
    },
  };
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
