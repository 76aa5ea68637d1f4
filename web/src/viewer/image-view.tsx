import { Maximize, ZoomIn, ZoomOut } from 'lucide';
import { createSignal, type JSX, onCleanup, onMount } from 'solid-js';
import { locale, t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';
import { FITTED, keepOnStage, mostScale, type Point, type Zoom, zoomAt } from './zoom.ts';
import './image-view.css';

/** What a key or a button makes larger. */
const STEP = 1.5;
/** Pixels that a key moves a picture that is larger than its stage. */
const KEY_PX = 80;
/** How much of a wheel's pixels makes a picture twice as large, about. */
const WHEEL_PX = 400;
/** A finger that went so far aside wants the next picture. */
const SWIPE_PX = 60;

/**
 * A picture that can be made larger: by the wheel, two fingers, a double click, and the keys `+`, `-` and `0`. While it is, it is moved by the pointer
 * and the arrows; otherwise a finger that goes aside leads to the next one.
 */
export function ImageView(props: { address: string; name: string; onStep: (step: 1 | -1) => void }): JSX.Element {
  let stage!: HTMLDivElement;
  let image!: HTMLImageElement;
  const [zoom, setZoom] = createSignal(FITTED);
  const [ownWidth, setOwnWidth] = createSignal(0);
  const isLarger = () => zoom().scale > 1;
  const most = () => mostScale({ width: image.naturalWidth, height: image.naturalHeight }, fittedSize(image));
  const show = (next: Zoom) => setZoom(keepOnStage(next, fittedSize(image), { width: stage.clientWidth, height: stage.clientHeight }));
  const zoomBy = (factor: number, point: Point = { x: 0, y: 0 }) => show(zoomAt(zoom(), factor, point, most()));
  const move = (x: number, y: number) => show({ ...zoom(), x: zoom().x + x, y: zoom().y + y });
  /** Seen from the middle of the stage. */
  const placeOf = ({ clientX, clientY }: MouseEvent): Point => {
    const box = stage.getBoundingClientRect();
    return { x: clientX - box.left - box.width / 2, y: clientY - box.top - box.height / 2 };
  };
  /** Between what fits and the picture's own pixels; where these fit, twice as large. */
  const toggle = (event: MouseEvent) => {
    const own = image.naturalWidth / Math.max(1, fittedSize(image).width);
    zoomBy(isLarger() ? 0 : own > 1.2 ? own : 2, placeOf(event));
  };

  const keys: Readonly<Record<string, () => void>> = {
    '+': () => zoomBy(STEP),
    '=': () => zoomBy(STEP),
    '-': () => zoomBy(1 / STEP),
    0: () => show(FITTED),
  };
  const arrows: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => move(KEY_PX, 0),
    ArrowRight: () => move(-KEY_PX, 0),
    ArrowUp: () => move(0, KEY_PX),
    ArrowDown: () => move(0, -KEY_PX),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key] ?? (isLarger() ? arrows[event.key] : undefined);
    if (!act) return;
    // The viewer's arrows would go to the next picture.
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  onMount(() => {
    // Before the viewer's own.
    addEventListener('keydown', onKeyDown, { capture: true });
    const observer = new ResizeObserver(() => show(zoom()));
    observer.observe(stage);
    onCleanup(() => {
      removeEventListener('keydown', onKeyDown, { capture: true });
      observer.disconnect();
    });
  });
  const percent = () => (ownWidth() === 0 ? 1 : (fittedSize(image).width * zoom().scale) / ownWidth());

  return (
    <div
      ref={stage}
      class="image-view"
      classList={{ 'is-larger': isLarger() }}
      onWheel={(event) => {
        event.preventDefault();
        // Some count lines or pages.
        const pixels = event.deltaY * (event.deltaMode === 0 ? 1 : 40);
        zoomBy(2 ** (-pixels / (event.ctrlKey ? WHEEL_PX / 4 : WHEEL_PX)), placeOf(event));
      }}
      onDblClick={toggle}
      {...fingers({ isLarger, move, zoomBy, placeOf, swipe: (step) => props.onStep(step) })}
    >
      <img
        ref={image}
        src={props.address}
        alt={props.name}
        draggable={false}
        style={{ transform: `translate(${zoom().x}px, ${zoom().y}px) scale(${zoom().scale})` }}
        onLoad={() => setOwnWidth(image.naturalWidth)}
      />
      <fieldset class="image-tools" aria-label={t('zoom')} onDblClick={(event) => event.stopPropagation()}>
        <IconButton icon={ZoomOut} label={t('zoomOut')} isDisabled={!isLarger()} onPress={() => zoomBy(1 / STEP)} />
        <output>{percent().toLocaleString(locale(), { style: 'percent' })}</output>
        <IconButton icon={ZoomIn} label={t('zoomIn')} onPress={() => zoomBy(STEP)} />
        <IconButton icon={Maximize} label={t('zoomFit')} isDisabled={!isLarger()} onPress={() => show(FITTED)} />
      </fieldset>
    </div>
  );
}

/** Its size before it is made larger. */
const fittedSize = ({ offsetWidth, offsetHeight }: HTMLElement) => ({ width: offsetWidth, height: offsetHeight });

interface Hands {
  readonly isLarger: () => boolean;
  readonly move: (x: number, y: number) => void;
  readonly zoomBy: (factor: number, point: Point) => void;
  readonly placeOf: (event: MouseEvent) => Point;
  readonly swipe: (step: 1 | -1) => void;
}

/** What one pointer and two of them do to the picture. */
function fingers({ isLarger, move, zoomBy, placeOf, swipe }: Hands) {
  const down = new Map<number, Point>();
  let from: Point | undefined;
  const up = (event: PointerEvent) => {
    const last = placeOf(event);
    const isSwipe = from !== undefined && event.pointerType === 'touch' && !isLarger() && Math.abs(last.x - from.x) > SWIPE_PX;
    if (event.type === 'pointerup' && isSwipe && Math.abs(last.y - (from?.y ?? 0)) < SWIPE_PX) swipe(last.x < (from?.x ?? 0) ? 1 : -1);
    down.delete(event.pointerId);
    from = undefined;
  };
  return {
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (event.target instanceof Element && event.target.closest('button')) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      down.set(event.pointerId, placeOf(event));
      from = down.size === 1 ? placeOf(event) : undefined;
    },
    onPointerMove(event: PointerEvent) {
      const before = down.get(event.pointerId);
      if (!before) return;
      const now = placeOf(event);
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      down.set(event.pointerId, now);
      if (!other) return move(now.x - before.x, now.y - before.y);
      const apart = (point: Point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
      zoomBy(apart(now) / apart(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    },
    onPointerUp: up,
    onPointerCancel: up,
  };
}
