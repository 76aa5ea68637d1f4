import { createGate, type Gate } from '@wharf/pace';

/** A storage's share of the I/O threads of the process, which are four unless UV_THREADPOOL_SIZE says otherwise. */
const MAX_HELD = 3;

/** Lets one storage hold some of the I/O threads of the process only: when its disk hangs, the rest still reads and writes for the others. */
export const createIoSlots = (): Gate => createGate(MAX_HELD);
