import { ContextMenu } from '@kobalte/core/context-menu';
import { createEffect, For, type JSX, on, onCleanup, onMount, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { focusFiles } from '../parts/focus-files.ts';
import { place } from '../router.ts';
import { ActionItems } from './action-menu.tsx';
import { actionOf } from './actions.ts';
import { Cell } from './cell.tsx';
import type { Desk } from './desk.ts';
import { dragEvents } from './drag-entries.ts';
import { GroupHead, GroupHeard, StuckHead } from './group-head.tsx';
import { ListHead } from './list-head.tsx';
import type { Listing } from './listing.ts';
import { look } from './look.ts';
import { moveByKey, typeAhead } from './move-by-key.ts';
import { openMenuAt } from './open-menu.ts';
import { createRowWindow } from './row-window.ts';
import { createRubberBand } from './rubber-band.ts';
import { scrolledHeight, scrollTopToShow } from './shown-window.ts';
import './file-list.css';

/** Where each folder was scrolled to, while the page is open. */
const scrolledTo = new Map<string, number>();

/** The entries of a folder, as rows or as tiles. Only those near the viewport exist, whatever the folder's size. */
export function FileList(props: { desk: Desk }): JSX.Element {
  const { listing, selection } = props.desk;
  let scroller!: HTMLDivElement;
  const { setSize, setScrollTop, rows, shown, lines, pageRows, stuck } = createRowWindow(props.desk);

  const band = createRubberBand(props.desk, { rows, abovePx: () => shown().abovePx }, () => scroller);
  const drags = dragEvents(props.desk);

  onMount(() => {
    const observer = new ResizeObserver(() => setSize({ width: scroller.clientWidth, height: scroller.clientHeight }));
    observer.observe(scroller);
    onCleanup(() => observer.disconnect());
    // A menu that was opened meanwhile would close.
    if (document.querySelector('[role="menu"]') === null) scroller.focus({ preventScroll: true });
  });
  const onScroll = keepScroll(listing, () => scroller, setScrollTop);
  const showRow = (index: number) => {
    const to = scrollTopToShow(rows(), scroller.scrollTop, index);
    if (to !== undefined) scroller.scrollTop = to;
  };

  const activate = (index: number) => {
    selection.setActive(index);
    showRow(index);
  };
  // What was made, renamed or looked at is where keys go on.
  createEffect(
    on([() => selection.chosen(), () => listing.total(), () => place().file] as const, ([chosen, , file]) => {
      const cameFrom = selection.active() < 0 ? props.desk.cameFrom() : undefined;
      const [name] = file === undefined && chosen.size === 1 ? chosen : [file ?? cameFrom];
      const index = name === undefined ? -1 : listing.indexOf(name);
      if (index >= 0 && index !== selection.active()) {
        if (file !== undefined) selection.choose([file]);
        activate(index);
      }
    }),
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target === scroller) keyInList(props.desk, event, scroller, { rows: rows(), pageRows: pageRows(), activate });
  };

  return (
    <ContextMenu modal={false}>
      <ListHead />
      <ContextMenu.Trigger
        as="div"
        ref={scroller}
        class="file-list"
        classList={{ 'is-grid': look.showsTiles(), 'is-gallery': look.layout() === 'gallery' }}
        role="grid"
        tabindex="0"
        aria-label={t('filesIn', { name: listing.path() })}
        aria-multiselectable="true"
        aria-rowcount={listing.total() + listing.groups().length}
        aria-busy={listing.state() === 'loading'}
        aria-activedescendant={selection.active() >= 0 ? `entry-${selection.active()}` : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        // What is pressed in it leaves the keys to it; a name that is written has its own.
        onFocusIn={(event: FocusEvent) => {
          if (event.target instanceof Element && event.target.matches('.cell-check input, .group-head button')) focusFiles();
        }}
        onPointerDown={(event: PointerEvent) => {
          if (event.target === scroller || event.target === scroller.firstElementChild) selection.clear();
          band.onPointerDown(event);
        }}
        {...drags}
        onDragStart={(event: DragEvent) => (band.isDrawing() ? event.preventDefault() : drags.onDragStart(event))}
      >
        <div class="file-list-all" role="presentation" style={{ height: `${scrolledHeight(rows())}px` }}>
          <StuckHead desk={props.desk} group={stuck()?.group} pushedPx={stuck()?.pushedPx ?? 0} />
          <div
            class="file-list-shown"
            role="rowgroup"
            style={{ transform: `translateY(${shown().topPx}px)`, '--columns': rows().columns, '--cell': `${rows().rowPx}px` }}
          >
            <For each={lines()}>
              {(line) =>
                typeof line === 'number' ? <Cell desk={props.desk} index={line} /> : <GroupHead desk={props.desk} group={line} />
              }
            </For>
          </div>
        </div>
      </ContextMenu.Trigger>
      <Show when={band.box()}>
        {(box) => (
          <div
            class="rubber-band"
            style={{ left: `${box().left}px`, top: `${box().top}px`, width: `${box().width}px`, height: `${box().height}px` }}
          />
        )}
      </Show>
      <ContextMenu.Portal>
        <ContextMenu.Content class="menu">
          <ActionItems desk={props.desk} />
        </ContextMenu.Content>
      </ContextMenu.Portal>
      <GroupHeard desk={props.desk} />
      <Show when={listing.progress() !== undefined}>
        <p class="file-list-progress" role="status">
          {t('readingAll', { n: listing.progress() ?? 0, all: listing.total() })}
        </p>
      </Show>
    </ContextMenu>
  );
}

/** Does what a key means while the list has the keys. */
function keyInList(desk: Desk, event: KeyboardEvent, list: HTMLElement, moving: Parameters<typeof moveByKey>[2]): void {
  const entries = desk.chosenEntries();
  const action = actionOf(desk, entries, event);
  if (action) {
    event.preventDefault();
    void action.run(desk, action.on === 'folder' ? [] : entries);
  } else if (moveByKey(desk, event, moving)) event.preventDefault();
  else if ((event.shiftKey && event.key === 'F10') || event.key === 'ContextMenu') {
    event.preventDefault();
    openMenuAt(list.querySelector(`#entry-${desk.selection.active()}`) ?? list);
  } else typeAhead(desk, event, moving.activate);
}

/** Keeps where each folder was scrolled to. @returns the handler of scrolling */
function keepScroll(listing: Listing, listOf: () => HTMLElement, setScrollTop: (top: number) => void): () => void {
  // Back in a folder, the viewer is where the viewer was.
  createEffect(
    on(
      () => [listing.path(), listing.state()] as const,
      ([path, state]) => {
        if (state !== 'ready') return;
        queueMicrotask(() => {
          listOf().scrollTop = scrolledTo.get(path) ?? 0;
          setScrollTop(listOf().scrollTop);
        });
      },
    ),
  );
  return () => {
    // Read once: after the rows have changed, the browser would lay them out in the middle of it.
    const { scrollTop } = listOf();
    if (listing.state() === 'ready') scrolledTo.set(listing.path(), scrollTop);
    setScrollTop(scrollTop);
  };
}
