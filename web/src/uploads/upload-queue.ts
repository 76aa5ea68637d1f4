import { newOnceKey } from '../api/once-key.ts';
import { numberedPath } from './numbered-path.ts';
import type { SendFile } from './send-file.ts';
import type { Sending } from './send-job.ts';
import { OtherFile } from './send-parts.ts';

/** A file on its way. */
export interface Upload {
  readonly id: number;
  readonly sizeBytes: number;
  /** Undefined: it has to be chosen again, since the page was opened anew. */
  file: File | undefined;
  /** Where to, in the tree; a choice on a conflict may change it. */
  path: string;
  /** `lost`: the server has a part of it, and this page has not the file. */
  state: 'waiting' | 'sending' | 'paused' | 'lost' | 'done' | 'failed' | 'exists' | 'cancelled';
  sentBytes: number;
  /** Bytes a second over the last moments. */
  speed: number;
  doing: Sending['doing'];
  /** What stopped it; undefined: nothing. */
  error: unknown;
  /** Whether what is there may be replaced. */
  overwrite: boolean;
  /** As a job of sending has it; another one with each choice of the viewer. */
  key: string;
  /** The upload in parts that the server knows it by. */
  session: string | undefined;
  /** When the file was changed last, as far as it is known; milliseconds since 1970. */
  modifiedMs: number | undefined;
}

/** An upload that an earlier page began. */
export interface Unfinished {
  readonly session: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly receivedBytes: number;
  /** As in {@link Upload}. */
  readonly modifiedMs: number | undefined;
}

/** Files that are sent at once. */
const AT_ONCE = 3;

export interface UploadQueue {
  readonly uploads: () => readonly Upload[];
  /** A file that an earlier page began to send goes on with it. */
  add(files: readonly { file: File; path: string }[]): void;
  /** Uploads that earlier pages began. */
  addUnfinished(unfinished: readonly Unfinished[]): void;
  /** Gives lost uploads their files again. @returns how many files fit none of them */
  giveFiles(files: readonly File[]): number;
  pause(id: number): void;
  /** All that wait or are being sent; none of them begins meanwhile. */
  pauseAll(): void;
  resume(id: number): void;
  /** Ends one; what the server has of it goes. */
  cancel(id: number): void;
  /** What becomes of a file whose name is taken. */
  resolve(id: number, choice: 'replace' | 'keep' | 'skip', forAll?: boolean): void;
  /** Takes away what is over. */
  clear(): void;
}

export interface UploadQueueOptions {
  readonly send: SendFile;
  /** Ends an upload at the server. */
  readonly end: (session: string) => void;
  /** Told of an upload at the server whether this page goes on with it. */
  readonly hold: (session: string, isHeld: boolean) => void;
  /** Told the path of each file that is there. */
  readonly onArrival: (path: string) => void;
  /** Something of the uploads changed. */
  readonly onChange: () => void;
}

export function createUploadQueue(options: UploadQueueOptions): UploadQueue {
  // A folder may have tens of thousands of files: what is done for each of them looks through none of the others.
  const byId = new Map<number, Upload>();
  const waiting = new Set<Upload>();
  let nextId = 1;

  const change = (upload: Upload, changes: Partial<Upload>) => {
    Object.assign(upload, changes);
    options.onChange();
  };
  const runs = createRuns(options, change, () => fill());
  const fill = () => {
    while (runs.count() < AT_ONCE) {
      const [next] = waiting;
      if (!next) return;
      waiting.delete(next);
      if (next.state === 'waiting' && next.file) runs.start(next, next.file);
    }
  };
  const insert = (path: string, sizeBytes: number, known: Partial<Upload>) => {
    const upload = newUpload(nextId++, path, sizeBytes, known);
    byId.set(upload.id, upload);
    return upload;
  };
  const findLost = () => [...byId.values()].filter(({ state }) => state === 'lost');
  /** One that was found may have its file by now. */
  const isLost = (upload: Upload, file: File) => upload.state === 'lost' && isSame(upload, file);
  const enqueue = (upload: Upload, changes: Partial<Upload> = {}) => {
    change(upload, { state: 'waiting', error: undefined, ...changes });
    waiting.add(upload);
    fill();
  };
  const stop = (upload: Upload, state: 'paused' | 'cancelled') => {
    waiting.delete(upload);
    change(upload, { state, speed: 0, error: undefined });
    runs.stop(upload);
    fill();
  };

  return {
    uploads: () => [...byId.values()],
    add(files) {
      const lostOnes = findLost();
      for (const { file, path } of files) {
        const lost = lostOnes.find((each) => each.path === path && isLost(each, file));
        enqueue(lost ?? insert(path, file.size, { modifiedMs: file.lastModified }), { file });
      }
    },
    addUnfinished(unfinished) {
      const known = new Set([...byId.values()].map(({ session }) => session));
      for (const { session, path, sizeBytes, receivedBytes, modifiedMs } of unfinished)
        if (!known.has(session)) insert(path, sizeBytes, { state: 'lost', session, sentBytes: receivedBytes, modifiedMs });
      options.onChange();
    },
    giveFiles(files) {
      const lostOnes = findLost();
      const strangers = files.filter((file) => {
        const lost = lostOnes.find((each) => each.path.endsWith(`/${file.name}`) && isLost(each, file));
        if (lost) enqueue(lost, { file });
        return !lost;
      });
      return strangers.length;
    },
    pause(id) {
      const upload = byId.get(id);
      if (upload) stop(upload, 'paused');
    },
    pauseAll() {
      waiting.clear();
      for (const upload of byId.values()) if (upload.state === 'waiting' || upload.state === 'sending') stop(upload, 'paused');
    },
    resume(id) {
      const upload = byId.get(id);
      if (upload) enqueue(upload);
    },
    cancel(id) {
      const upload = byId.get(id);
      if (!upload) return;
      const { session } = upload;
      if (!upload.file) byId.delete(id);
      stop(upload, 'cancelled');
      if (session !== undefined) {
        options.end(session);
        options.hold(session, false);
      }
      change(upload, { session: undefined, sentBytes: 0 });
    },
    resolve(id, choice, forAll = false) {
      for (const upload of [...byId.values()].filter((each) => each.state === 'exists' && (forAll || each.id === id))) {
        if (choice === 'skip') change(upload, { state: 'cancelled' });
        else enqueue(upload, { key: newOnceKey(), ...(choice === 'replace' ? { overwrite: true } : { path: numberedPath(upload.path) }) });
      }
    },
    clear() {
      for (const { id, state } of byId.values()) if (state === 'done' || state === 'cancelled' || state === 'failed') byId.delete(id);
      options.onChange();
    },
  };
}

/** The uploads that are being sent. @param onEnd told when there is room for another one */
function createRuns(
  { send, end, hold, onArrival }: UploadQueueOptions,
  change: (upload: Upload, changes: Partial<Upload>) => void,
  onEnd: () => void,
) {
  const stops = new Map<Upload, AbortController>();
  const keep = (upload: Upload, file: File, session: string | undefined) => {
    if (upload.session !== undefined && upload.session !== session) hold(upload.session, false);
    // It was cancelled while the server was asked to begin it.
    if (session !== undefined && upload.state === 'cancelled') return end(session);
    if (session !== undefined) hold(session, true);
    change(upload, { session, modifiedMs: file.lastModified });
  };
  const run = async (upload: Upload, file: File, { signal }: AbortController) => {
    const { path, overwrite, session, key } = upload;
    change(upload, { state: 'sending', doing: 'sending', sentBytes: session === undefined ? 0 : upload.sentBytes });
    const speedAt = createSpeed();
    const outcome = await send({
      ...{ file, path, overwrite, session, key, signal },
      isUnproven: session !== undefined && upload.modifiedMs !== file.lastModified,
      tell({ sentBytes = upload.sentBytes, doing, error }) {
        if (!signal.aborted) change(upload, { sentBytes, doing, error, speed: speedAt(sentBytes) });
      },
      keep: (kept) => keep(upload, file, kept),
      askAgain() {
        change(upload, { overwrite: false, key: newOnceKey() });
        return upload.key;
      },
    }).catch((error: unknown) => ({ state: 'failed' as const, error }));
    if (signal.aborted) return;
    if (outcome.state === 'done') change(upload, { state: 'done', speed: 0, sentBytes: upload.sizeBytes, file: undefined });
    else if (outcome.state === 'failed' && outcome.error instanceof OtherFile)
      change(upload, { state: 'lost', speed: 0, error: outcome.error, file: undefined });
    else change(upload, { speed: 0, error: undefined, ...outcome });
    if (outcome.state === 'done') onArrival(path);
  };
  return {
    count: () => stops.size,
    start(upload: Upload, file: File) {
      const stopping = new AbortController();
      stops.set(upload, stopping);
      void run(upload, file, stopping).finally(() => {
        if (stops.get(upload) === stopping) stops.delete(upload);
        onEnd();
      });
    },
    stop(upload: Upload) {
      stops.get(upload)?.abort();
      stops.delete(upload);
    },
  };
}

/**
 * Two files of one name and size are the same where they were changed at the same moment. Where that is not known, or one of two programs tells seconds alone,
 * the server compares.
 */
function isSame({ sizeBytes, modifiedMs }: Upload, file: File): boolean {
  return sizeBytes === file.size && (modifiedMs === undefined || secondOf(modifiedMs) === secondOf(file.lastModified));
}

const secondOf = (ms: number) => Math.floor(ms / 1_000);

function newUpload(id: number, path: string, sizeBytes: number, known: Partial<Upload>): Upload {
  return {
    ...{ id, path, sizeBytes, file: undefined, state: 'waiting', sentBytes: 0, speed: 0, doing: 'sending' },
    ...{ error: undefined, overwrite: false, key: newOnceKey(), session: undefined, modifiedMs: undefined },
    ...known,
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
    return first && at > first.at ? Math.max(0, ((bytes - first.bytes) / (at - first.at)) * 1_000) : 0;
  };
}
