import { createEffect, createMemo, createSignal } from 'solid-js';
import type { Desk } from './desk.ts';
import { look } from './look.ts';
import { type Line, layRows, shownWindow, stuckHead } from './shown-window.ts';

const ROW_PX = { roomy: 44, dense: 32 };
const PHONE_ROW_PX = 60;
const HEAD_PX = 36;
const TILE_PX = { width: 168, height: 172 };
const PHONE_TILE_PX = { width: 112, height: 148 };
/** At least so wide are the squares of a gallery; what is left over widens them. */
const PICTURE_PX = { wide: 168, phone: 108 };
/** What stands on both sides of tiles: `--s2`. */
const SIDES_PX = 16;

/** Which lines of the list are near the viewport, by how it is scrolled and how large it and they are. */
export function createRowWindow({ listing }: Desk) {
  const [size, setSize] = createSignal({ width: 800, height: 600 });
  const [scrollTop, setScrollTop] = createSignal(0);
  const columnsOf = (widthPx: number) => Math.max(1, Math.floor((size().width - SIDES_PX) / widthPx));
  const pictureColumns = () => columnsOf(look.isPhone() ? PICTURE_PX.phone : PICTURE_PX.wide);
  const tile = () => {
    if (look.layout() !== 'gallery') return look.isPhone() ? PHONE_TILE_PX : TILE_PX;
    const width = Math.max(1, Math.floor((size().width - SIDES_PX) / pictureColumns()));
    return { width, height: width };
  };
  const rows = createMemo(() =>
    layRows(listing.total(), listing.groups(), {
      columns: look.showsTiles() ? columnsOf(tile().width) : 1,
      rowPx: look.showsTiles() ? tile().height : look.isPhone() ? PHONE_ROW_PX : ROW_PX[look.density()],
      headPx: HEAD_PX,
      viewportPx: size().height,
    }),
  );
  const shown = createMemo(() => shownWindow(rows(), scrollTop()));
  const lines = createMemo<readonly Line[]>(() => shown().lines, [], {
    equals: (left, right) => left.length === right.length && left.every((line, index) => line === right[index]),
  });
  createEffect(() => {
    const places = lines().filter((line) => typeof line === 'number');
    const [first] = places;
    if (first !== undefined) listing.want(first, first + places.length);
  });
  const pageRows = () => Math.max(1, Math.floor((size().height - rows().headPx) / rows().rowPx) - 1);
  return { setSize, setScrollTop, rows, shown, lines, pageRows, stuck: createMemo(() => stuckHead(rows(), scrollTop())) };
}
