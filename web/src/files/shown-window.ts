import { type Group, lastUpTo } from './group-entries.ts';

/** Browsers cap the height of an element: Firefox near 17.8 million pixels, others above 33 million. */
const MAX_HEIGHT_PX = 15_000_000;

/** Rows that follow each other: of all entries, or of a group of them, below its heading. */
export interface Block {
  readonly group: Group | undefined;
  /** The place of its first entry among all. */
  readonly first: number;
  readonly count: number;
  readonly topPx: number;
  /** Rows before it. */
  readonly rowsBefore: number;
}

/** A long list of rows of one height, of which only those near the viewport exist. */
export interface Rows {
  readonly blocks: readonly Block[];
  /** Entries in a row. */
  readonly columns: number;
  readonly rowPx: number;
  /** Of a heading; 0: there are none. */
  readonly headPx: number;
  readonly viewportPx: number;
  /** How high all of them are. */
  readonly wholePx: number;
  readonly rowCount: number;
}

/** What exists of a list: headings of groups, and entries by their places. */
export type Line = number | Group;

/** @param groups none: the `total` entries have no headings */
export function layRows(
  total: number,
  groups: readonly Group[],
  { headPx, ...look }: Pick<Rows, 'columns' | 'rowPx' | 'headPx' | 'viewportPx'>,
): Rows {
  const blocks: Block[] = [];
  let [topPx, rowsBefore] = [0, 0];
  const add = (group: Group | undefined, first: number, count: number) => {
    blocks.push({ group, first, count, topPx, rowsBefore });
    const rows = Math.ceil(count / look.columns);
    rowsBefore += rows;
    topPx += (group ? headPx : 0) + rows * look.rowPx;
  };
  if (groups.length === 0) add(undefined, 0, total);
  for (const group of groups) add(group, group.first, group.count);
  return { ...look, headPx: groups.length === 0 ? 0 : headPx, blocks, wholePx: topPx, rowCount: rowsBefore };
}

/** The height of what is scrolled. Beyond the cap the rows move faster than the scroll bar. */
export function scrolledHeight({ wholePx }: Rows): number {
  return Math.min(wholePx, MAX_HEIGHT_PX);
}

/** How many pixels of rows are above the viewport when it is scrolled to `scrollTop`. */
function offsetAt(rows: Rows, scrollTop: number): number {
  const height = scrolledHeight(rows);
  if (rows.wholePx === height) return scrollTop;
  const range = Math.max(1, height - rows.viewportPx);
  return (Math.min(scrollTop, range) / range) * (rows.wholePx - rows.viewportPx);
}

/** Where to scroll to so that `offset` pixels of rows are above the viewport: the inverse. */
function scrollTopOf(rows: Rows, offset: number): number {
  const height = scrolledHeight(rows);
  if (rows.wholePx === height) return offset;
  return (offset / Math.max(1, rows.wholePx - rows.viewportPx)) * (height - rows.viewportPx);
}

const rowsIn = (block: Block, columns: number) => Math.ceil(block.count / columns);
const blockAtPx = ({ blocks }: Rows, px: number) => lastUpTo(blocks, px, ({ topPx }) => topPx);

/**
 * The lines that are shown, with some rows to spare on both ends; how many pixels of rows are above the first of them, and where it stands in what is
 * scrolled.
 */
export function shownWindow(rows: Rows, scrollTop: number, spare = 8): { lines: readonly Line[]; abovePx: number; topPx: number } {
  const { columns, rowPx, headPx } = rows;
  const offset = offsetAt(rows, scrollTop);
  const fromPx = Math.max(0, offset - spare * rowPx);
  const toPx = offset + rows.viewportPx + spare * rowPx;
  const lines: Line[] = [];
  let startPx: number | undefined;
  for (let at = blockAtPx(rows, fromPx); at < rows.blocks.length; at += 1) {
    const block = rows.blocks[at];
    if (!block || block.topPx >= toPx) break;
    const rowsPx = block.topPx + headPx;
    const firstRow = Math.max(0, Math.floor((fromPx - rowsPx) / rowPx));
    startPx ??= firstRow === 0 ? block.topPx : rowsPx + firstRow * rowPx;
    if (block.group && firstRow === 0) lines.push(block.group);
    const lastRow = Math.min(rowsIn(block, columns), Math.ceil((toPx - rowsPx) / rowPx));
    const last = Math.min(block.count, lastRow * columns);
    for (let index = firstRow * columns; index < last; index += 1) lines.push(block.first + index);
  }
  const abovePx = startPx ?? 0;
  return { lines, abovePx, topPx: scrollTop - (offset - abovePx) };
}

/** The heading that stays above what is scrolled, and how far the next one has pushed it up; undefined: there is none. */
export function stuckHead(rows: Rows, scrollTop: number): { group: Group; pushedPx: number } | undefined {
  const offset = offsetAt(rows, scrollTop);
  const at = blockAtPx(rows, offset);
  const block = rows.blocks[at];
  if (!block?.group) return undefined;
  const nextPx = rows.blocks[at + 1]?.topPx ?? Number.POSITIVE_INFINITY;
  return { group: block.group, pushedPx: Math.max(0, rows.headPx - (nextPx - offset)) };
}

/** The block, the row in it and the column of an entry. */
function placeOf({ blocks, columns }: Rows, index: number) {
  const block = blocks[lastUpTo(blocks, index, ({ first }) => first)];
  const within = index - (block?.first ?? 0);
  return { block, row: Math.floor(within / columns), column: within % columns };
}

/** Where to scroll to so that all of the entry is seen, below the heading that stays; undefined: it is. */
export function scrollTopToShow(rows: Rows, scrollTop: number, index: number): number | undefined {
  const offset = offsetAt(rows, scrollTop);
  const { block, row } = placeOf(rows, index);
  const top = (block?.topPx ?? 0) + rows.headPx + row * rows.rowPx;
  if (top - rows.headPx < offset) return scrollTopOf(rows, top - rows.headPx);
  if (top + rows.rowPx > offset + rows.viewportPx) return scrollTopOf(rows, top + rows.rowPx - rows.viewportPx);
  return undefined;
}

/** The entry so many rows further down, or up, in the same column where the row has one. */
export function movedByRows(rows: Rows, index: number, by: number): number {
  const { block: from, row, column } = placeOf(rows, index);
  const target = Math.min(Math.max((from?.rowsBefore ?? 0) + row + by, 0), rows.rowCount - 1);
  const block = rows.blocks[lastUpTo(rows.blocks, target, ({ rowsBefore }) => rowsBefore)];
  if (!block) return index;
  return block.first + Math.min((target - block.rowsBefore) * rows.columns + column, block.count - 1);
}

/** The first entry of the group so many groups further down, or up. */
export function movedByGroups(rows: Rows, index: number, by: number): number {
  const at = lastUpTo(rows.blocks, index, ({ first }) => first);
  return rows.blocks[Math.min(Math.max(at + by, 0), rows.blocks.length - 1)]?.first ?? index;
}

/** The places of the entries that a rectangle touches, its ends in pixels of rows and in columns. */
export function entriesWithin(rows: Rows, box: { top: number; bottom: number; left: number; right: number }): number[] {
  const { columns, rowPx, headPx } = rows;
  const [left, right] = [Math.max(0, Math.floor(box.left)), Math.min(columns - 1, Math.floor(box.right))];
  const found: number[] = [];
  for (let at = blockAtPx(rows, box.top); at < rows.blocks.length; at += 1) {
    const block = rows.blocks[at];
    if (!block || block.topPx > box.bottom) break;
    const rowOf = (px: number) => Math.floor((px - block.topPx - headPx) / rowPx);
    const last = Math.min(rowsIn(block, columns) - 1, rowOf(box.bottom));
    for (let row = Math.max(0, rowOf(box.top)); row <= last; row += 1)
      for (let column = left; column <= right && row * columns + column < block.count; column += 1)
        found.push(block.first + row * columns + column);
  }
  return found;
}
