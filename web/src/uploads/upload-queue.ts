import { createSignal } from 'solid-js';
import { createStore, produce } from 'solid-js/store';
import { numberedPath } from './numbered-path.ts';
import type { SendFile } from './send-file.ts';

/** A file on its way. */
export interface Upload {
  readonly id: number;
  readonly file: File;
  /** Where to, in the tree; a choice on a conflict may change it. */
  path: string;
  state: 'waiting' | 'sending' | 'done' | 'failed' | 'exists' | 'cancelled';
  sentBytes: number;
  /** Bytes a second over the last moments. */
  speed: number;
  error: string;
  /** Whether what is there may be replaced. */
  overwrite: boolean;
}

/** Uploads that are sent at once. */
const AT_ONCE = 3;

export interface UploadQueue {
  readonly uploads: readonly Upload[];
  /** Rises with each file that arrived. */
  readonly arrived: () => number;
  add(files: readonly { file: File; path: string }[]): void;
  cancel(id: number): void;
  retry(id: number): void;
  /** What becomes of a file whose name is taken. */
  resolve(id: number, choice: 'replace' | 'keep' | 'skip', forAll?: boolean): void;
  /** Takes away what is over. */
  clear(): void;
}

/** @param onArrival told the path of each file that is there. */
export function createUploadQueue(send: SendFile, onArrival: (path: string) => void = () => undefined): UploadQueue {
  const [uploads, setUploads] = createStore<Upload[]>([]);
  const [arrived, setArrived] = createSignal(0);
  const stops = new Map<number, AbortController>();
  let nextId = 1;

  const change = (id: number, changes: Partial<Upload>) => setUploads((each) => each.id === id, changes);
  const find = (id: number) => uploads.find((each) => each.id === id);
  const fill = () => {
    const waiting = uploads.filter((each) => each.state === 'waiting');
    for (const upload of waiting.slice(0, Math.max(0, AT_ONCE - stops.size))) void run(upload);
  };
  const run = async ({ id, file, path, overwrite }: Upload) => {
    const stop = new AbortController();
    stops.set(id, stop);
    change(id, { state: 'sending', sentBytes: 0, error: '' });
    const speedAt = createSpeed();
    const onProgress = (sentBytes: number) => change(id, { sentBytes, speed: speedAt(sentBytes) });
    const outcome = await send({ file, path, overwrite, onProgress, signal: stop.signal }).catch((error: unknown) => ({
      state: 'failed' as const,
      error: String(error),
    }));
    stops.delete(id);
    if (!stop.signal.aborted) {
      change(id, outcome.state === 'done' ? { state: 'done', sentBytes: file.size } : outcome);
      if (outcome.state === 'done') {
        setArrived((count) => count + 1);
        onArrival(path);
      }
    }
    fill();
  };
  const again = (id: number, changes: Partial<Upload>) => {
    change(id, { state: 'waiting', error: '', ...changes });
    fill();
  };

  return {
    uploads,
    arrived,
    add(files) {
      setUploads(
        produce((list) => {
          for (const { file, path } of files)
            list.push({ id: nextId++, file, path, state: 'waiting', sentBytes: 0, speed: 0, error: '', overwrite: false });
        }),
      );
      fill();
    },
    cancel(id) {
      change(id, { state: 'cancelled', speed: 0 });
      stops.get(id)?.abort();
      fill();
    },
    retry: (id) => again(id, {}),
    resolve(id, choice, forAll = false) {
      const chosen = forAll ? uploads.filter((each) => each.state === 'exists').map((each) => each.id) : [id];
      for (const each of chosen) {
        const path = find(each)?.path ?? '';
        if (choice === 'skip') change(each, { state: 'cancelled' });
        else again(each, choice === 'replace' ? { overwrite: true } : { path: numberedPath(path) });
      }
    },
    clear() {
      setUploads((list) => list.filter((each) => each.state === 'waiting' || each.state === 'sending' || each.state === 'exists'));
    },
  };
}

/** Averages over the last four seconds. */
function createSpeed(now: () => number = () => performance.now()): (bytes: number) => number {
  const looks: { at: number; bytes: number }[] = [];
  return (bytes) => {
    const at = now();
    looks.push({ at, bytes });
    while (looks.length > 2 && at - (looks[0]?.at ?? at) > 4_000) looks.shift();
    const [first] = looks;
    return first && at > first.at ? ((bytes - first.bytes) / (at - first.at)) * 1_000 : 0;
  };
}
