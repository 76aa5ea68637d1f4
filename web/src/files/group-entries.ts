import { type FileKind, kindOf } from './file-kind.ts';
import { letterOf } from './first-letter.ts';
import { type Entry, names, nextTask, type Order, PIECE, sortEntries } from './sort-entries.ts';

export const GROUPINGS = ['none', 'kind', 'day', 'week', 'month', 'letter', 'size'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** How the entries of a folder stand. */
export interface Arrangement {
  readonly order: Order;
  readonly grouping: Grouping;
}

/** Entries that follow each other and have something in common. */
export interface Group {
  readonly grouping: Exclude<Grouping, 'none'>;
  /** Of kinds a `FileKind`; of days, weeks and months when they begin, as 20261124, 0: the storage does not know; of letters the letter; of sizes the band. */
  readonly key: string | number;
  /** The place of its first entry among all. */
  readonly first: number;
  readonly count: number;
}

/** In the order in which they are shown. */
const KINDS: readonly FileKind[] = [
  ...(['folder', 'image', 'video', 'audio', 'pdf', 'document', 'table', 'slides'] as const),
  ...(['text', 'code', 'archive', 'program', 'font', 'file'] as const),
];

/** Bytes at which a band ends; the first holds what is empty, and after the last there is one more. */
export const BAND_ENDS = [1, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] as const;

const dateOf = (day: Date) => day.getFullYear() * 10_000 + (day.getMonth() + 1) * 100 + day.getDate();

/** When the period begins that a moment is in, in the viewer's zone. @param backOf days that the day is behind the beginning of its period */
const periodOf =
  (backOf: (day: Date) => number) =>
  ({ modified }: Entry): number => {
    const moment = new Date(modified);
    if (!(moment.getTime() > 0)) return 0;
    return dateOf(new Date(moment.getFullYear(), moment.getMonth(), moment.getDate() - backOf(moment)));
  };

/** Monday is 1, as the calendar of the viewer's language has it, where the browser tells. */
function firstDayOfWeek(): number {
  const locale = new Intl.Locale(navigator.language) as Intl.Locale & { getWeekInfo?: () => { firstDay: number } };
  return locale.getWeekInfo?.().firstDay ?? 1;
}

interface Rule {
  readonly keyOf: (entry: Entry) => Group['key'];
  readonly compare: (left: Group['key'], right: Group['key']) => number;
  /** Whether the last group stands first, in this order of entries. */
  readonly isReversed: (order: Order) => boolean;
}

const byNumber = (left: Group['key'], right: Group['key']) => Number(left) - Number(right);
const byTime = (backOf: (day: Date) => number): Rule => ({
  keyOf: periodOf(backOf),
  compare: byNumber,
  // What was changed last is looked for most.
  isReversed: ({ by, isDescending }) => by !== 'modified' || isDescending,
});
/** What is no letter stands before the letters. */
const rankOf = (letter: Group['key']) => (letter === '#' ? 0 : letter === '0' ? 1 : 2);

function ruleOf(grouping: Group['grouping']): Rule {
  const weekBegins = grouping === 'week' ? firstDayOfWeek() : 1;
  const rules: Readonly<Record<Group['grouping'], Rule>> = {
    kind: {
      keyOf: (entry) => KINDS.find((kind) => kind === kindOf(entry)) ?? 'text',
      compare: (left, right) => KINDS.indexOf(left as FileKind) - KINDS.indexOf(right as FileKind),
      isReversed: () => false,
    },
    day: byTime(() => 0),
    week: byTime((day) => (day.getDay() - weekBegins + 7) % 7),
    month: byTime((day) => day.getDate() - 1),
    letter: {
      keyOf: ({ name }) => letterOf(name),
      compare: (left, right) => rankOf(left) - rankOf(right) || names.compare(String(left), String(right)),
      isReversed: ({ by, isDescending }) => by === 'name' && isDescending,
    },
    size: {
      keyOf: ({ size, is_dir }) => (is_dir ? -1 : BAND_ENDS.filter((end) => size >= end).length),
      compare: byNumber,
      isReversed: ({ by, isDescending }) => by === 'size' && isDescending,
    },
  };
  return rules[grouping];
}

/**
 * Sorted copies of the entries, and their groups in the order in which they are shown; none where they are not grouped. Like sorting, in pieces.
 *
 * @param pause lets the page do something else.
 */
export async function arrangeEntries(
  entries: readonly Entry[],
  { order, grouping }: Arrangement,
  pause = nextTask,
): Promise<{ entries: Entry[]; groups: readonly Group[] }> {
  if (grouping === 'none') return { entries: await sortEntries(entries, order, pause), groups: [] };
  const { keyOf, compare, isReversed } = ruleOf(grouping);
  const members = new Map<Group['key'], Entry[]>();
  for (const [index, entry] of entries.entries()) {
    if (index % PIECE === PIECE - 1) await pause();
    const key = keyOf(entry);
    const others = members.get(key);
    if (others) others.push(entry);
    else members.set(key, [entry]);
  }
  const sign = isReversed(order) ? -1 : 1;
  const arranged: Entry[] = [];
  const groups: Group[] = [];
  let sinceLast = 0;
  for (const key of [...members.keys()].sort((left, right) => sign * compare(left, right))) {
    const sorted = await sortEntries(members.get(key) ?? [], order, pause);
    groups.push({ grouping, key, first: arranged.length, count: sorted.length });
    for (const entry of sorted) arranged.push(entry);
    sinceLast += sorted.length;
    if (sinceLast < PIECE) continue;
    await pause();
    sinceLast = 0;
  }
  return { entries: arranged, groups };
}

/** The place of the last of these, which follow each other, that begins at or before a value; 0: none does. */
export function lastUpTo<Item>(items: readonly Item[], value: number, of: (item: Item) => number): number {
  let [low, high] = [0, items.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const item = items[middle];
    if (item !== undefined && of(item) <= value) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}
