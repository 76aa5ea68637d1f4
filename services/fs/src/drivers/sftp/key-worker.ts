import { parentPort, workerData } from 'node:worker_threads';
import type { LockedKey, OpenedKey } from './open-locked-key.ts';
import { withoutPassphrase } from './plain-key.ts';

/** The other end of `open-locked-key.ts`. */
const { text, passphrase } = workerData as LockedKey;
const { default: library } = await import('ssh2');
const parsed = library.utils.parseKey(text, passphrase);
const [key] = [parsed].flat();
const opened: OpenedKey =
  key === undefined || key instanceof Error ? { problem: key?.message ?? 'it is empty' } : { text: withoutPassphrase(key) };
parentPort?.postMessage(opened);
