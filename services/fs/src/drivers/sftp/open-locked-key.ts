import { Worker } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import { storageError } from '../../driver-contract/storage-error.ts';

/** A private key, and the passphrase that opens it. */
export interface LockedKey {
  readonly text: string;
  readonly passphrase: string;
}

/** The key as a text that needs no passphrase, or why there is none. */
export type OpenedKey = { readonly text: string } | { readonly problem: string };

/** An ordinary key takes a quarter of a second, one that was made with `ssh-keygen -a 1000` twelve. */
const MAX_MS = 30_000;
/** Each may take a whole core. */
const KEYS = createGate(1);

/**
 * Opens a key on a thread of its own: how long that takes is written in the key, up to years.
 *
 * @throws AppError INVALID_ARGUMENT: it cannot be opened, or not in MAX_MS | CANCELLED
 */
export function openLockedKey(key: LockedKey, signal: AbortSignal | undefined): Promise<string> {
  return KEYS.run(async () => {
    if (signal?.aborted) throw storageError('CANCELLED');
    const { promise, resolve, reject } = Promise.withResolvers<OpenedKey>();
    const worker = new Worker(new URL('./key-worker.ts', import.meta.url), {
      workerData: key,
      // Not those of the process, which may be meant for its own program, such as `--input-type`.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    });
    const fail = () => resolve({ problem: 'it cannot be read' });
    worker.once('message', resolve).once('error', fail).once('exit', fail);
    const late = setTimeout(() => resolve({ problem: `it takes more than ${MAX_MS / 1000} s to open` }), MAX_MS);
    const onAbort = () => reject(storageError('CANCELLED'));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const opened = await promise;
      if ('text' in opened) return opened.text;
      throw new AppError('INVALID_ARGUMENT', `private_key cannot be used: ${opened.problem}`);
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', onAbort);
      await worker.terminate();
    }
  });
}
