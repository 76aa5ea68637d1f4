import { ContextMenu } from '@kobalte/core/context-menu';
import { createEffect, createMemo, createSignal, For, type JSX, on, onCleanup, onMount, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { place } from '../router.ts';
import { ActionItems } from './action-menu.tsx';
import { actionOf } from './actions.ts';
import { Cell } from './cell.tsx';
import type { Desk } from './desk.ts';
import { dragEvents } from './drag-entries.ts';
import { ListHead } from './list-head.tsx';
import { look } from './look.ts';
import { moveByKey, typeAhead } from './move-by-key.ts';
import { openMenuAt } from './open-menu.ts';
import { scrolledHeight, scrollTopToShow, shownWindow } from './shown-window.ts';
import './file-list.css';

const ROW_PX = 44;
const PHONE_ROW_PX = 60;
const TILE_PX = { width: 168, height: 172 };
const PHONE_TILE_PX = { width: 112, height: 148 };
/** Where each folder was scrolled to, while the page is open. */
const scrolledTo = new Map<string, number>();

/** The entries of a folder, as rows or as tiles. Only those near the viewport exist, whatever the folder's size. */
export function FileList(props: { desk: Desk }): JSX.Element {
  const { listing, selection } = props.desk;
  let scroller!: HTMLDivElement;
  const { setSize, setScrollTop, columns, rows, shown, indexes, pageSize } = createRowWindow(props.desk);

  onMount(() => {
    const observer = new ResizeObserver(() => setSize({ width: scroller.clientWidth, height: scroller.clientHeight }));
    observer.observe(scroller);
    onCleanup(() => observer.disconnect());
    scroller.focus({ preventScroll: true });
  });
  // Back in a folder, the viewer is where the viewer was.
  createEffect(
    on(
      () => [listing.path(), listing.state()] as const,
      ([path, state]) => {
        if (state !== 'ready') return;
        queueMicrotask(() => {
          scroller.scrollTop = scrolledTo.get(path) ?? 0;
          setScrollTop(scroller.scrollTop);
        });
      },
    ),
  );
  const onScroll = () => {
    setScrollTop(scroller.scrollTop);
    if (listing.state() === 'ready') scrolledTo.set(listing.path(), scroller.scrollTop);
  };
  const showRow = (index: number) => {
    const to = scrollTopToShow(rows(), scroller.scrollTop, Math.floor(index / columns()));
    if (to !== undefined) scroller.scrollTop = to;
  };

  const activate = (index: number) => {
    selection.setActive(index);
    showRow(index);
  };
  // What was made, renamed or looked at is where keys go on.
  createEffect(
    on([() => selection.chosen(), () => listing.total(), () => place().file] as const, ([chosen, , file]) => {
      const [name] = file === undefined && chosen.size === 1 ? chosen : [file];
      const index = name === undefined ? -1 : listing.indexOf(name);
      if (index >= 0 && index !== selection.active()) {
        if (file !== undefined) selection.choose([file]);
        activate(index);
      }
    }),
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller) return;
    const entries = props.desk.chosenEntries();
    const action = actionOf(props.desk, entries, event);
    if (action) {
      event.preventDefault();
      const targets = action.on === 'folder' ? [] : entries;
      return void action.run(props.desk, targets);
    }
    if (moveByKey(props.desk, event, { columns: columns(), page: pageSize(), activate })) return event.preventDefault();
    if ((event.shiftKey && event.key === 'F10') || event.key === 'ContextMenu') {
      event.preventDefault();
      openMenuAt(scroller.querySelector(`#entry-${selection.active()}`) ?? scroller);
      return;
    }
    typeAhead(props.desk, event, activate);
  };

  return (
    <ContextMenu modal={false}>
      <ListHead desk={props.desk} />
      <ContextMenu.Trigger
        as="div"
        ref={scroller}
        class="file-list"
        classList={{ 'is-grid': look.layout() === 'grid' }}
        role="grid"
        tabindex="0"
        aria-label={t('filesIn', { name: listing.path() })}
        aria-multiselectable="true"
        aria-rowcount={listing.total()}
        aria-busy={listing.state() === 'loading'}
        aria-activedescendant={selection.active() >= 0 ? `entry-${selection.active()}` : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onPointerDown={(event: PointerEvent) => {
          if (event.target === scroller || event.target === scroller.firstElementChild) selection.clear();
        }}
        {...dragEvents(props.desk)}
      >
        <div class="file-list-all" role="presentation" style={{ height: `${scrolledHeight(rows())}px` }}>
          <div
            class="file-list-shown"
            role="rowgroup"
            style={{ transform: `translateY(${shown().topPx}px)`, '--columns': columns(), '--cell': `${rows().rowPx}px` }}
          >
            <For each={indexes()}>{(index) => <Cell desk={props.desk} index={index} />}</For>
          </div>
        </div>
      </ContextMenu.Trigger>
      <ContextMenu.Portal>
        <ContextMenu.Content class="menu">
          <ActionItems desk={props.desk} />
        </ContextMenu.Content>
      </ContextMenu.Portal>
      <Show when={listing.progress() !== undefined}>
        <p class="file-list-progress" role="status">
          {t('readingAll', { n: listing.progress() ?? 0, all: listing.total() })}
        </p>
      </Show>
    </ContextMenu>
  );
}

/** Which entries are near the viewport, by how it is scrolled and how large it and they are. */
function createRowWindow({ listing }: Desk) {
  const [size, setSize] = createSignal({ width: 800, height: 600 });
  const [scrollTop, setScrollTop] = createSignal(0);
  const tile = () => (look.isPhone() ? PHONE_TILE_PX : TILE_PX);
  const columns = () => (look.layout() === 'grid' ? Math.max(1, Math.floor((size().width - 16) / tile().width)) : 1);
  const rows = createMemo(() => ({
    count: Math.ceil(listing.total() / columns()),
    rowPx: look.layout() === 'grid' ? tile().height : look.isPhone() ? PHONE_ROW_PX : ROW_PX,
    viewportPx: size().height,
  }));
  const shown = createMemo(() => shownWindow(rows(), scrollTop()));
  const indexes = createMemo(
    () => {
      const first = shown().first * columns();
      const last = Math.min(listing.total(), shown().last * columns());
      return Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
    },
    [],
    { equals: (left, right) => left.length === right.length && left[0] === right[0] },
  );
  createEffect(() => {
    const [first] = indexes();
    if (first !== undefined) listing.want(first, first + indexes().length);
  });
  const pageSize = () => Math.max(1, Math.floor(size().height / rows().rowPx) - 1) * columns();
  return { setSize, setScrollTop, columns, rows, shown, indexes, pageSize };
}
