import { type Accessor, createEffect, createSignal, on, onCleanup } from 'solid-js';
import { type Answer, ApiError, call } from '../api/call.ts';
import { type Arrangement, arrangeEntries, type Group, lastUpTo } from './group-entries.ts';
import type { Entry } from './sort-entries.ts';

/** Entries that are asked for at once. */
const PAGE = 200;
/** A folder of at most so many entries is read whole, which makes every order immediate. */
const EAGER = 5_000;

/** What a folder says beside its entries. */
export type FolderInfo = Omit<Answer<'/api/fs/list'>, 'content' | 'total'>;

/** The entries of a folder as they are shown. A big folder is read in pages, as they are wanted. */
export interface Listing {
  readonly path: Accessor<string>;
  readonly state: Accessor<'loading' | 'ready' | 'failed'>;
  readonly error: Accessor<ApiError | undefined>;
  readonly info: Accessor<FolderInfo | undefined>;
  readonly total: Accessor<number>;
  /** None: they are not grouped. */
  readonly groups: Accessor<readonly Group[]>;
  /** Entries that are there of a folder that is being read whole; undefined: it is not. */
  readonly progress: Accessor<number | undefined>;
  /** The entry in a place; undefined: it is not there yet. */
  at(index: number): Entry | undefined;
  /** The group of the entry in a place; undefined: it is in none. */
  groupOf(index: number): Group | undefined;
  /** Which row it is for those who hear the list: headings are rows too. */
  rowIndexOf(index: number): number;
  /** Its place; -1: it is not there, or not there yet. */
  indexOf(name: string): number;
  /** Reads what is missing of these places. */
  want(first: number, last: number): void;
  /** Everything, in the order that is shown. */
  all(): Promise<readonly Entry[]>;
  /** Reads the folder again; what is shown stays until it is there. */
  refresh(fromStorage?: boolean): Promise<void>;
}

/** As the server lists them. Any other arrangement takes the whole folder. */
const isFirst = ({ order, grouping }: Arrangement) => order.by === 'name' && !order.isDescending && grouping === 'none';
const isSame = (left: Arrangement, right: Arrangement) =>
  left.grouping === right.grouping && left.order.by === right.order.by && left.order.isDescending === right.order.isDescending;

/**
 * @param password of a folder that a rule protects, as far as it was given.
 * @param arrangement how the entries are to stand; they follow it
 */
export function createListing(path: Accessor<string>, password: (path: string) => string, arrangement: Accessor<Arrangement>): Listing {
  const held = createHeld();
  const { state, setState, setError, setInfo, setProgress, show } = held;
  let isWhole = false;
  let asked = new Set<number>();

  const present = () => held.entries().filter((entry) => entry !== undefined);
  const ask = (page: number, perPage: number, { signal }: AbortController, refresh = false) =>
    call('/api/fs/list', { path: path(), password: password(path()), page, per_page: perPage, refresh }, signal);
  const showWhole = async (whole: readonly Entry[], { signal }: AbortController): Promise<void> => {
    const { entries, groups } = await arrangeByLatest(whole, arrangement, signal);
    isWhole = true;
    show(entries, whole.length, groups);
  };

  const readAll = onceEach(async (from: AbortController): Promise<void> => {
    const whole = await readPages((page) => ask(page, EAGER, from), setProgress);
    from.signal.throwIfAborted();
    await showWhole(whole, from);
    setProgress(undefined);
  });
  const open = async (refresh: boolean, from: AbortController): Promise<void> => {
    const { content, total, ...rest } = await ask(1, PAGE, from, refresh);
    const whole = total <= content.length ? content : total <= EAGER ? (await ask(1, 0, from)).content : undefined;
    from.signal.throwIfAborted();
    asked = new Set([1]);
    setInfo(rest);
    if (whole) await showWhole(whole, from);
    else if (isFirst(arrangement()) || state() !== 'ready') {
      // In a folder that is opened, what is there is shown while the rest of it is read; it stands elsewhere then.
      isWhole = false;
      show(Object.assign(new Array<Entry | undefined>(total), content), total);
    }
    setState('ready');
    if (!whole && !isFirst(arrangement())) await readAll(from);
  };
  const reading = createReading({
    onDone: () => setError(undefined),
    onFailed(thrown) {
      setProgress(undefined);
      setError(thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown)));
      setState('failed');
    },
  });
  const { attempt } = reading;
  const refresh = (fromStorage = false) => reading.begin((from) => open(fromStorage, from));

  createEffect(
    on(path, () => {
      held.clear();
      void refresh();
    }),
  );
  createEffect(
    on(
      arrangement,
      () => {
        if (state() !== 'ready') return;
        if (isWhole) void attempt((from) => showWhole(present(), from));
        else if (!isFirst(arrangement())) void attempt(readAll);
      },
      { defer: true },
    ),
  );
  onCleanup(reading.end);

  const readPage = async (page: number, from: AbortController) => {
    asked.add(page);
    const { content, total } = await ask(page, PAGE, from).catch((thrown: unknown) => {
      asked.delete(page);
      throw thrown;
    });
    if (isWhole || from.signal.aborted) return;
    // Somebody changed the folder: what was read of it may stand elsewhere.
    if (total !== held.total()) return void refresh();
    held.fill((page - 1) * PAGE, content);
  };

  return {
    path,
    ...held,
    refresh,
    want(first, last) {
      if (isWhole || state() !== 'ready' || !isFirst(arrangement())) return;
      for (let page = Math.floor(first / PAGE) + 1; (page - 1) * PAGE < last; page += 1)
        if (!asked.has(page)) void attempt((from) => readPage(page, from));
    },
    async all() {
      if (!isWhole) await attempt(readAll);
      return present();
    },
  };
}

/** The reading that goes on: another one ends it. */
function createReading(on: { onDone: () => void; onFailed: (thrown: unknown) => void }) {
  let from = new AbortController();
  const attempt = async (work: (from: AbortController) => Promise<void>): Promise<void> => {
    const own = from;
    try {
      await work(own);
      if (!own.signal.aborted) on.onDone();
    } catch (thrown) {
      if (!own.signal.aborted) on.onFailed(thrown);
    }
  };
  return {
    attempt,
    begin(work: (from: AbortController) => Promise<void>): Promise<void> {
      from.abort();
      from = new AbortController();
      return attempt(work);
    },
    end: () => from.abort(),
  };
}

/** Has work done once for each `Key` at a time, whoever asks for it meanwhile. */
function onceEach<Key extends object>(work: (key: Key) => Promise<void>): (key: Key) => Promise<void> {
  const begun = new WeakMap<Key, Promise<void>>();
  return (key) => {
    const running = begun.get(key) ?? work(key).finally(() => begun.delete(key));
    begun.set(key, running);
    return running;
  };
}

/** Arranges them again where another arrangement was chosen meanwhile. */
async function arrangeByLatest(whole: readonly Entry[], arrangement: Accessor<Arrangement>, signal: AbortSignal) {
  for (;;) {
    const by = arrangement();
    const arranged = await arrangeEntries(whole, by);
    signal.throwIfAborted();
    if (isSame(by, arrangement())) return arranged;
  }
}

/** All entries, page by page. */
async function readPages(
  read: (page: number) => Promise<Answer<'/api/fs/list'>>,
  onProgress: (count: number) => void,
): Promise<readonly Entry[]> {
  const whole: Entry[] = [];
  for (let page = 1; ; page += 1) {
    onProgress(whole.length);
    const { content, total } = await read(page);
    whole.push(...content);
    if (content.length === 0 || whole.length >= total) return whole;
  }
}

/** What is there of a folder. Its entries are sparse while it is not whole; a new array for each change would cost more than all the rest. */
function createHeld() {
  const [state, setState] = createSignal<'loading' | 'ready' | 'failed'>('loading');
  const [error, setError] = createSignal<ApiError>();
  const [info, setInfo] = createSignal<FolderInfo>();
  const [progress, setProgress] = createSignal<number>();
  const [shape, setShape] = createSignal({ total: 0, groups: [] as readonly Group[] }, { equals: false });
  let entries: (Entry | undefined)[] = [];
  let places: Map<string, number> | undefined;
  return {
    ...{ state, setState, error, setError, info, setInfo, progress, setProgress },
    total: () => shape().total,
    groups: () => shape().groups,
    entries: () => entries,
    clear() {
      this.show([], 0);
      setInfo(undefined);
      setError(undefined);
      setProgress(undefined);
      setState('loading');
    },
    show(next: (Entry | undefined)[], total: number, groups: readonly Group[] = []) {
      entries = next;
      places = undefined;
      setShape({ total, groups });
    },
    /** More of what is shown already, which costs no more in a big folder than in a small one. */
    fill(first: number, more: readonly Entry[]) {
      for (const [offset, entry] of more.entries()) {
        entries[first + offset] = entry;
        places?.set(entry.name, first + offset);
      }
      setShape((shown) => shown);
    },
    at(index: number) {
      shape();
      return entries[index];
    },
    groupOf(index: number) {
      const { groups } = shape();
      return groups[lastUpTo(groups, index, ({ first }) => first)];
    },
    rowIndexOf(index: number) {
      const { groups } = shape();
      return index + 1 + (groups.length > 0 ? lastUpTo(groups, index, ({ first }) => first) + 1 : 0);
    },
    indexOf(name: string) {
      shape();
      places ??= new Map(entries.flatMap((entry, index) => (entry ? [[entry.name, index] as const] : [])));
      return places.get(name) ?? -1;
    },
  };
}
