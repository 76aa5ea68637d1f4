import { type Accessor, createEffect, createSignal, on, onCleanup } from 'solid-js';
import { type Answer, ApiError, call } from '../api/call.ts';
import { type Entry, type Order, sortEntries } from './sort-entries.ts';

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
  readonly order: Accessor<Order>;
  /** Entries that are there of a folder that is being read whole; undefined: it is not. */
  readonly progress: Accessor<number | undefined>;
  /** The entry in a place; undefined: it is not there yet. */
  at(index: number): Entry | undefined;
  /** Its place; -1: it is not there, or not there yet. */
  indexOf(name: string): number;
  /** Reads what is missing of these places. */
  want(first: number, last: number): void;
  /** Any order but the first by name takes the whole folder. */
  sort(order: Order): Promise<void>;
  /** Everything, in the order that is shown. */
  all(): Promise<readonly Entry[]>;
  /** Reads the folder again; what is shown stays until it is there. */
  refresh(fromStorage?: boolean): Promise<void>;
}

const BY_NAME: Order = { by: 'name', isDescending: false };

/** @param password of a folder that a rule protects, as far as it was given. */
export function createListing(path: Accessor<string>, password: (path: string) => string): Listing {
  const held = createHeld();
  const { state, setState, setError, setInfo, order, setOrder, setProgress, show } = held;
  let isWhole = false;
  let asked = new Set<number>();
  let reading = new AbortController();

  const present = () => held.entries().filter((entry) => entry !== undefined);
  const ask = (page: number, perPage: number, { signal }: AbortController, refresh = false) =>
    call('/api/fs/list', { path: path(), password: password(path()), page, per_page: perPage, refresh }, signal);
  const showWhole = async (whole: readonly Entry[], { signal }: AbortController): Promise<void> => {
    const sorted = await sortByLatest(whole, order, signal);
    isWhole = true;
    show(sorted, whole.length);
  };

  const readAll = async (from: AbortController): Promise<void> => {
    const whole = await readPages((page) => ask(page, EAGER, from), setProgress);
    from.signal.throwIfAborted();
    await showWhole(whole, from);
    setProgress(undefined);
  };
  const open = async (refresh: boolean, from: AbortController): Promise<void> => {
    const { content, total, ...rest } = await ask(1, PAGE, from, refresh);
    const whole = total <= content.length ? content : total <= EAGER ? (await ask(1, 0, from)).content : undefined;
    from.signal.throwIfAborted();
    asked = new Set([1]);
    setInfo(rest);
    if (whole) await showWhole(whole, from);
    else if (order() === BY_NAME) {
      isWhole = false;
      show(Object.assign(new Array<Entry | undefined>(total), content), total);
    } else await readAll(from);
    setState('ready');
  };
  const attempt = async (work: (from: AbortController) => Promise<void>): Promise<void> => {
    const from = reading;
    try {
      await work(from);
      if (!from.signal.aborted) setError(undefined);
    } catch (thrown) {
      if (from.signal.aborted) return;
      setProgress(undefined);
      setError(thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown)));
      setState('failed');
    }
  };
  const refresh = (fromStorage = false) => {
    reading.abort();
    reading = new AbortController();
    return attempt((from) => open(fromStorage, from));
  };

  createEffect(
    on(path, () => {
      held.clear();
      void refresh();
    }),
  );
  onCleanup(() => reading.abort());

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
      if (isWhole || state() !== 'ready' || order() !== BY_NAME) return;
      for (let page = Math.floor(first / PAGE) + 1; (page - 1) * PAGE < last; page += 1)
        if (!asked.has(page)) void attempt((from) => readPage(page, from));
    },
    async sort(next) {
      const isFirst = next.by === BY_NAME.by && next.isDescending === BY_NAME.isDescending;
      setOrder(isFirst ? BY_NAME : next);
      if (state() !== 'ready') return;
      const whole = isWhole ? present() : undefined;
      await attempt((from) => (whole ? showWhole(whole, from) : readAll(from)));
    },
    async all() {
      if (!isWhole) await attempt((from) => readAll(from));
      return present();
    },
  };
}

/** Sorts again where another order was chosen meanwhile. */
async function sortByLatest(whole: readonly Entry[], order: Accessor<Order>, signal: AbortSignal): Promise<Entry[]> {
  for (;;) {
    const by = order();
    const sorted = await sortEntries(whole, by);
    signal.throwIfAborted();
    if (by === order()) return sorted;
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
  const [order, setOrder] = createSignal(BY_NAME);
  const [progress, setProgress] = createSignal<number>();
  const [shape, setShape] = createSignal({ total: 0 }, { equals: false });
  let entries: (Entry | undefined)[] = [];
  let places: Map<string, number> | undefined;
  return {
    ...{ state, setState, error, setError, info, setInfo, order, setOrder, progress, setProgress },
    total: () => shape().total,
    entries: () => entries,
    clear() {
      this.show([], 0);
      setInfo(undefined);
      setError(undefined);
      setProgress(undefined);
      setState('loading');
    },
    show(next: (Entry | undefined)[], total: number) {
      entries = next;
      places = undefined;
      setShape({ total });
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
    indexOf(name: string) {
      shape();
      places ??= new Map(entries.flatMap((entry, index) => (entry ? [[entry.name, index] as const] : [])));
      return places.get(name) ?? -1;
    },
  };
}
