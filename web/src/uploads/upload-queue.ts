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
  /** A file that an earlier page began to send goes on with it; where that was another file, it is sent beside it. */
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
  const refuse = (upload: Upload, file: File, error: unknown) => {
    change(upload, { state: 'lost', speed: 0, error: undefined, file: undefined });
    const next = given.afterRefusal(file, upload, findLost());
    if (next === 'none') change(upload, { error });
    else if (next !== 'another') enqueue(insert(next.path, file.size, { modifiedMs: file.lastModified }), { file });
  };
  const runs = createRuns(options, change, refuse, () => fill());
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

  const given = createGivenFiles((lost, file) => enqueue(lost, { file }));

  return {
    uploads: () => [...byId.values()],
    add(files) {
      const lostOnes = findLost();
      for (const { file, path } of files)
        if (!given.give(file, path, lostOnes)) enqueue(insert(path, file.size, { modifiedMs: file.lastModified }), { file });
    },
    addUnfinished(unfinished) {
      const known = new Set([...byId.values()].map(({ session }) => session));
      for (const { session, path, sizeBytes, receivedBytes, modifiedMs } of unfinished)
        if (!known.has(session)) insert(path, sizeBytes, { state: 'lost', session, sentBytes: receivedBytes, modifiedMs });
      options.onChange();
    },
    giveFiles(files) {
      const lostOnes = findLost();
      return files.filter((file) => !given.give(file, undefined, lostOnes)).length;
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

/** The uploads that are being sent. @param refuse told of a file that is not the one that the server has a part of. @param onEnd told when there is room for another one */
function createRuns(
  { send, end, hold, onArrival }: UploadQueueOptions,
  change: (upload: Upload, changes: Partial<Upload>) => void,
  refuse: (upload: Upload, file: File, error: unknown) => void,
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
    else if (outcome.state === 'failed' && outcome.error instanceof OtherFile) refuse(upload, file, outcome.error);
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

/** A file that was chosen for lost uploads. */
interface Given {
  /** Where it is to go; undefined: to any that it fits. */
  readonly path: string | undefined;
  readonly refusedBy: Set<Upload>;
}

/** Files that are given to lost uploads. Whether what the server has is of a file it tells later: then the next one that the file fits is asked. */
function createGivenFiles(start: (lost: Upload, file: File) => void) {
  const known = new WeakMap<File, Given>();
  const giveNext = (file: File, given: Given, lostOnes: readonly Upload[]): boolean => {
    // One that was found may have its file by now.
    const fits = (lost: Upload) => lost.state === 'lost' && isSame(lost, file) && isAt(lost, file, given.path);
    const next = lostOnes.find((lost) => !given.refusedBy.has(lost) && fits(lost));
    if (!next) return false;
    known.set(file, given);
    start(next, file);
    return true;
  };
  return {
    /** @returns whether it fits one */
    give: (file: File, path: string | undefined, lostOnes: readonly Upload[]) => giveNext(file, { path, refusedBy: new Set() }, lostOnes),
    /** @returns what it goes on with: another lost one, an upload of its own, or none */
    afterRefusal(file: File, upload: Upload, lostOnes: readonly Upload[]): 'another' | 'none' | { readonly path: string } {
      const given = known.get(file);
      if (!given) return 'none';
      given.refusedBy.add(upload);
      if (giveNext(file, given, lostOnes)) return 'another';
      // Its own upload is the last: where that is refused too, as the file goes on changing, it is told.
      known.delete(file);
      return given.path === undefined ? 'none' : { path: given.path };
    },
  };
}

/** Whether a file may be the one of an upload by its name: by its whole path where that is known, or by that in the folder that was chosen. */
function isAt({ path }: Upload, file: File, wholePath: string | undefined): boolean {
  return wholePath === undefined ? path.endsWith(`/${file.webkitRelativePath || file.name}`) : path === wholePath;
}

/** Whether it may be the same by size and date, as far as that is known; one of two programs may tell seconds alone. Contents are compared later. */
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
