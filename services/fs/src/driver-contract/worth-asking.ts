import type { WriteOptions } from './storage-driver.ts';

/** To send so much over a network takes no longer than a question and its answer. */
const SENT_AT_ONCE_BYTES = 256 * 1024;

/** Whether it is asked before a content is sent what will be asked again when it gets its name: a small one is refused then, and costs a question less. */
export function isWorthAsking({ sizeBytes }: WriteOptions): boolean {
  return sizeBytes === undefined || sizeBytes > SENT_AT_ONCE_BYTES;
}
