import { createSignal, onCleanup } from 'solid-js';
import type { Desk } from './desk.ts';
import { entriesWithin, type Rows } from './shown-window.ts';

/** What the band needs to know of the list: how its rows stand, and how many pixels of them are above the first that exists. */
interface Layout {
  readonly rows: () => Rows;
  readonly abovePx: () => number;
}

/** A place in the list: in pixels of its rows, and in columns, of which fractions are within one. */
interface Place {
  readonly px: number;
  readonly column: number;
}

/** Less is a click. */
const BEGIN_PX = 6;
/** How near the edge the list begins to scroll, and by how much for each frame. */
const EDGE_PX = 32;
const EDGE_STEP_PX = 14;

/**
 * Chooses what a rectangle touches that is drawn with the mouse. It begins beside names: what is dragged by its name or picture, or is chosen, is
 * dragged itself.
 *
 * @returns handlers for the list, and where the rectangle is, in pixels of the viewport.
 */
export function createRubberBand(desk: Desk, layout: Layout, listOf: () => HTMLElement) {
  const [box, setBox] = createSignal<{ left: number; top: number; width: number; height: number }>();
  let begun: { place: Place; x: number; y: number; kept: ReadonlySet<string> } | undefined;
  let pointer = { x: 0, y: 0 };
  let frame = 0;

  const shownBox = () => listOf().querySelector('.file-list-shown')?.getBoundingClientRect() ?? new DOMRect();
  const placeAt = (x: number, y: number): Place => {
    const shown = shownBox();
    return { px: layout.abovePx() + (y - shown.top), column: ((x - shown.left) / shown.width) * layout.rows().columns };
  };
  const draw = () => {
    if (!begun) return;
    const shown = shownBox();
    const from = {
      x: shown.left + (begun.place.column / layout.rows().columns) * shown.width,
      y: shown.top + (begun.place.px - layout.abovePx()),
    };
    const frameOf = listOf().getBoundingClientRect();
    const clip = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
    const xs = [from.x, pointer.x].map((x) => clip(x, frameOf.left, frameOf.right));
    const ys = [from.y, pointer.y].map((y) => clip(y, frameOf.top, frameOf.bottom));
    const [left, top] = [Math.min(...xs), Math.min(...ys)];
    setBox({ left, top, width: Math.max(...xs) - left, height: Math.max(...ys) - top });
    desk.selection.choose([...begun.kept, ...namesBetween(desk, layout.rows(), begun.place, placeAt(pointer.x, pointer.y))]);
  };
  const scrollOn = () => {
    const list = listOf();
    const { top, bottom } = list.getBoundingClientRect();
    const by = pointer.y < top + EDGE_PX ? -EDGE_STEP_PX : pointer.y > bottom - EDGE_PX ? EDGE_STEP_PX : 0;
    if (by !== 0) {
      list.scrollTop += by;
      draw();
    }
    frame = requestAnimationFrame(scrollOn);
  };
  const onMove = (event: PointerEvent) => {
    if (!begun) return;
    pointer = { x: event.clientX, y: event.clientY };
    if (!box() && Math.hypot(pointer.x - begun.x, pointer.y - begun.y) < BEGIN_PX) return;
    if (!box()) frame = requestAnimationFrame(scrollOn);
    draw();
  };
  const end = () => {
    // The click that ends it chooses nothing by itself.
    if (box()) addEventListener('click', stopClick, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', stopClick, { capture: true }));
    cancelAnimationFrame(frame);
    begun = undefined;
    setBox();
    removeEventListener('pointermove', onMove);
    removeEventListener('pointerup', end);
    removeEventListener('pointercancel', end);
  };
  onCleanup(end);

  return {
    box,
    isDrawing: () => begun !== undefined,
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0 || event.pointerType !== 'mouse' || !canBegin(desk, event)) return;
      const isAdding = event.ctrlKey || event.metaKey || event.shiftKey;
      const kept = isAdding ? desk.selection.chosen() : new Set<string>();
      begun = { place: placeAt(event.clientX, event.clientY), x: event.clientX, y: event.clientY, kept };
      addEventListener('pointermove', onMove);
      addEventListener('pointerup', end);
      addEventListener('pointercancel', end);
    },
  };
}

const stopClick = (event: Event) => {
  event.preventDefault();
  event.stopPropagation();
};

function canBegin(desk: Desk, event: PointerEvent): boolean {
  const list = event.currentTarget as HTMLElement;
  // What stands beside the content is the scroll bar.
  if (event.clientX - list.getBoundingClientRect().left >= list.clientLeft + list.clientWidth) return false;
  const target = event.target instanceof Element ? event.target : undefined;
  const cell = target?.closest<HTMLElement>('.cell');
  if (!target || !cell) return true;
  const entry = desk.listing.at(Number(cell.dataset['index'] ?? -1));
  const isChosen = entry !== undefined && desk.selection.chosen().has(entry.name);
  return !isChosen && !target.closest('a, button, input, img, svg, .cell-picture');
}

/** Names of the entries that stand in the rectangle between two places, as far as they were read. */
function namesBetween({ listing }: Desk, rows: Rows, one: Place, other: Place): string[] {
  const [top, bottom] = [Math.min(one.px, other.px), Math.max(one.px, other.px)];
  // Where the page goes from right to left, columns do so too.
  const columnOf = ({ column }: Place) => (document.documentElement.dir === 'rtl' ? rows.columns - column : column);
  const [left, right] = [Math.min(columnOf(one), columnOf(other)), Math.max(columnOf(one), columnOf(other))];
  return entriesWithin(rows, { top, bottom, left, right }).flatMap((index) => listing.at(index)?.name ?? []);
}
