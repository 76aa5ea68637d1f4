import type { TaskModels } from '@wharf/models';
import type { TaskScope } from './task-control.ts';
import { SHOWN, type ShownRecord, shownRecord, wireShown } from './wire-task.ts';

/** What a snapshot has at most of each owner's tasks: of those that have not ended, and of the newest that have. */
const MAX_OPEN = 10_000;
const MAX_DONE = 1_000;
/** Tasks that are read at a time. */
const PAGE = 50;
/** A piece has so many characters at least, but for the last. */
const PIECE_LENGTH = 16 * 1024;

/** A task as JSON text: short, where the names that were read may be long. */
interface Row {
  readonly id: string;
  readonly at: Date;
  readonly json: string;
}

/** Reads what is older than a row; those of its very time that were read already are left out. */
type PageReader = (filter: Readonly<Record<string, unknown>>, before: Date | undefined, known: readonly string[]) => Promise<Row[]>;

export interface TaskSnapshots {
  /**
   * The tasks of a scope as the JSON text of an array, the newest first, in pieces. A page is read when it is asked for, so a slow client
   * makes us hold only a few pages. A task is shown as it was when it was read. A client that watched the feed from before the first piece
   * also gets later changes.
   */
  of(scope: TaskScope): AsyncGenerator<string, void>;
}

export function createTaskSnapshots(sources: readonly TaskModels[]): TaskSnapshots {
  let begun = 0;
  const readers = sources.map(pageReader);

  return {
    async *of({ creatorId }) {
      begun += 1;
      const since = begun;
      const visible = { forget: false, ...(creatorId === undefined ? {} : { creator_id: creatorId }) };
      const parts = readers.flatMap((readerSince) => {
        const read = readerSince(since, () => begun);
        return [newestFirst(read, { ...visible, done: false }, MAX_OPEN), newestFirst(read, { ...visible, done: true }, MAX_DONE)];
      });
      let text = '[';
      let separator = '';
      for await (const { json } of merged(parts)) {
        text += separator + json;
        separator = ',';
        if (text.length < PIECE_LENGTH) continue;
        yield text;
        text = '';
      }
      yield `${text}]`;
    },
  };
}

/**
 * Snapshots of the same scope that are made at the same time read a page once.
 *
 * @returns a reader for a snapshot. One that began when a page was being read does not share it: what changed in between it is not told of
 */
function pageReader({ tasks }: TaskModels): (since: number, now: () => number) => PageReader {
  const reading = new Map<string, { begun: number; page: Promise<Row[]> }>();
  const read: PageReader = async (filter, before, known) => {
    const older = before === undefined ? {} : { created_at: { $lte: before }, _id: { $nin: [...known] } };
    const records = await tasks
      .find({ ...filter, ...older }, SHOWN)
      .sort({ created_at: -1 })
      .limit(PAGE)
      .lean<ShownRecord[]>();
    return records.map(shownRecord).map((record) => ({ id: record._id, at: record.created_at, json: JSON.stringify(wireShown(record)) }));
  };
  return (since, now) => (filter, before, known) => {
    const key = JSON.stringify([filter, before, known]);
    const shared = reading.get(key);
    if (shared && shared.begun >= since) return shared.page;
    const page = read(filter, before, known);
    const entry = { begun: now(), page };
    reading.set(key, entry);
    const forget = () => {
      if (reading.get(key) === entry) reading.delete(key);
    };
    page.then(forget, forget);
    return page;
  };
}

async function* newestFirst(read: PageReader, filter: Readonly<Record<string, unknown>>, limit: number): AsyncGenerator<Row, void> {
  let before: Date | undefined;
  let known: string[] = [];
  for (let left = limit; left > 0; ) {
    const page = await read(filter, before, known);
    for (const row of page.slice(0, left)) {
      if (row.at.getTime() !== before?.getTime()) known = [];
      before = row.at;
      known.push(row.id);
      yield row;
    }
    left -= page.length;
    if (page.length < PAGE) return;
  }
}

/** All rows, the newest first, each once: one that ends meanwhile may be in two parts. */
async function* merged(parts: readonly AsyncGenerator<Row, void>[]): AsyncGenerator<Row, void> {
  const heads = await Promise.all(parts.map(async (part) => ({ part, row: await nextOf(part) })));
  let at: number | undefined;
  let known = new Set<string>();
  for (;;) {
    const first = heads.reduce((best, head) => ((head.row?.at.getTime() ?? -1) > (best.row?.at.getTime() ?? -1) ? head : best));
    const { row } = first;
    if (row === undefined) return;
    first.row = await nextOf(first.part);
    if (row.at.getTime() !== at) known = new Set();
    at = row.at.getTime();
    if (known.has(row.id)) continue;
    known.add(row.id);
    yield row;
  }
}

async function nextOf(rows: AsyncGenerator<Row, void>): Promise<Row | undefined> {
  const next = await rows.next();
  return next.done === true ? undefined : next.value;
}
