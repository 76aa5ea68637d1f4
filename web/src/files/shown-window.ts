/** Browsers cap the height of an element: Firefox near 17.8 million pixels, others above 33 million. */
const MAX_HEIGHT_PX = 15_000_000;

/** A long list of rows of one height, of which only those near the viewport exist. */
export interface Rows {
  readonly count: number;
  readonly rowPx: number;
  readonly viewportPx: number;
}

/** The height of what is scrolled. Beyond the cap the rows move faster than the scroll bar. */
export function scrolledHeight({ count, rowPx }: Rows): number {
  return Math.min(count * rowPx, MAX_HEIGHT_PX);
}

/** How many pixels of rows are above the viewport when it is scrolled to `scrollTop`. */
function offsetAt(rows: Rows, scrollTop: number): number {
  const whole = rows.count * rows.rowPx;
  const height = scrolledHeight(rows);
  if (whole === height) return scrollTop;
  const range = Math.max(1, height - rows.viewportPx);
  return (Math.min(scrollTop, range) / range) * (whole - rows.viewportPx);
}

/** Where to scroll to so that `offset` pixels of rows are above the viewport: the inverse. */
function scrollTopOf(rows: Rows, offset: number): number {
  const whole = rows.count * rows.rowPx;
  const height = scrolledHeight(rows);
  if (whole === height) return offset;
  return (offset / Math.max(1, whole - rows.viewportPx)) * (height - rows.viewportPx);
}

/** The rows that are shown, with some to spare on both ends, and where the first of them stands in what is scrolled. */
export function shownWindow(rows: Rows, scrollTop: number, spare = 8): { first: number; last: number; topPx: number } {
  const offset = offsetAt(rows, scrollTop);
  const first = Math.max(0, Math.floor(offset / rows.rowPx) - spare);
  const last = Math.min(rows.count, Math.ceil((offset + rows.viewportPx) / rows.rowPx) + spare);
  return { first, last, topPx: scrollTop - (offset - first * rows.rowPx) };
}

/** Where to scroll to so that the whole of row `index` is seen; undefined: it is. */
export function scrollTopToShow(rows: Rows, scrollTop: number, index: number): number | undefined {
  const offset = offsetAt(rows, scrollTop);
  const top = index * rows.rowPx;
  if (top < offset) return scrollTopOf(rows, top);
  if (top + rows.rowPx > offset + rows.viewportPx) return scrollTopOf(rows, top + rows.rowPx - rows.viewportPx);
  return undefined;
}
