import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';

/** One piece of work; `stored` is absent when `text` is to be hashed. */
export interface HashWork {
  readonly id: number;
  readonly text: string;
  readonly stored?: string | undefined;
}

/** `answer` is the hash, or whether the texts match; absent when the work failed. */
export interface HashDone {
  readonly id: number;
  readonly answer?: string | boolean;
  readonly problem?: string;
}

/**
 * OWASP's minimum for argon2id: 19 MiB of memory, two passes, one lane (Password Storage Cheat Sheet,
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id). Memory is in KiB.
 */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** On Linux a priority belongs to a thread. This thread gets a tenth of a core while others need it, and a whole core otherwise. */
if (process.platform === 'linux') setPriority(10);

parentPort?.on('message', ({ id, text, stored }: HashWork) => {
  let done: HashDone;
  try {
    done = { id, answer: stored === undefined ? hashSync(text, PARAMETERS) : verifySync(stored, text) };
  } catch (error) {
    done = { id, problem: error instanceof Error ? error.message : 'unknown' };
  }
  parentPort?.postMessage(done);
});
