import { EllipsisVertical } from 'lucide';
import { type JSX, Show } from 'solid-js';
import { showSize, showTime, t } from '../i18n/i18n.ts';
import { showName } from '../i18n/show-name.ts';
import { IconButton } from '../parts/icon-button.tsx';
import type { Desk } from './desk.ts';
import { look } from './look.ts';
import { chooseOne, chooseRange } from './move-by-key.ts';
import { NameField } from './name-field.tsx';
import { openMenuAt } from './open-menu.ts';
import { SmallPicture } from './small-picture.tsx';
import type { Entry } from './sort-entries.ts';
import { addressOf, joinPath } from './tree-path.ts';

/** One entry of the list, as a row or a tile. */
export function Cell(props: { desk: Desk; index: number }): JSX.Element {
  const { listing, selection } = props.desk;
  const entry = () => listing.at(props.index);
  const isChosen = () => selection.chosen().has(entry()?.name ?? '');
  const isCut = () => {
    const held = props.desk.clipboard();
    return held?.verb === 'move' && held.folder === listing.path() && held.names.includes(entry()?.name ?? '');
  };
  return (
    <div
      id={`entry-${props.index}`}
      class="cell"
      classList={{ 'is-chosen': isChosen(), 'is-active': selection.active() === props.index, 'is-cut': isCut() }}
      role="row"
      aria-rowindex={listing.rowIndexOf(props.index)}
      aria-selected={isChosen()}
      draggable={entry() !== undefined && !look.isPhone()}
      data-index={props.index}
      onContextMenu={() => {
        if (!isChosen()) chooseOne(props.desk, props.index);
        selection.setActive(props.index);
      }}
      onClick={(event) => press(props.desk, props.index, event)}
      onDblClick={(event) => {
        const opened = entry();
        if (opened && !isControl(event)) props.desk.open(opened);
      }}
    >
      <Show when={entry()} fallback={<div class="cell-name is-awaited" role="gridcell" aria-label={t('loading')} />}>
        {(there) => <CellParts desk={props.desk} entry={there()} isChosen={isChosen()} index={props.index} />}
      </Show>
    </div>
  );
}

function CellParts(props: { desk: Desk; entry: Entry; isChosen: boolean; index: number }): JSX.Element {
  const size = () => (props.entry.is_dir ? '' : showSize(props.entry.size));
  const isRenaming = () => props.desk.renaming() === props.entry.name;
  return (
    <>
      <div class="cell-check" role="gridcell">
        <input
          type="checkbox"
          tabindex="-1"
          checked={props.isChosen}
          aria-label={t('choose', { name: props.entry.name })}
          onChange={() => {
            props.desk.selection.toggle(props.entry.name);
            props.desk.selection.setActive(props.index);
            props.desk.selection.setAnchor(props.index);
          }}
        />
      </div>
      <div class="cell-name" role="gridcell">
        <span class="cell-picture">
          <SmallPicture desk={props.desk} entry={props.entry} iconSize={look.showsTiles() ? 44 : 22} />
        </span>
        <span class="cell-words">
          <Show when={isRenaming()} fallback={<NameLink desk={props.desk} entry={props.entry} />}>
            <NameField desk={props.desk} entry={props.entry} />
          </Show>
          <span class="cell-note">
            {showTime(props.entry.modified)}
            <Show when={size() !== ''}>
              <span class="cell-note-size"> · {size()}</span>
            </Show>
          </span>
        </span>
      </div>
      <div class="cell-size" role="gridcell">
        {size()}
      </div>
      <div class="cell-time" role="gridcell">
        <time datetime={props.entry.modified} title={showTime(props.entry.modified, 'full')}>
          {showTime(props.entry.modified)}
        </time>
      </div>
      <div class="cell-more" role="gridcell">
        <MoreButton name={props.entry.name} index={props.index} />
      </div>
    </>
  );
}

/** A link, so that it can be opened in a tab of its own; a plain click is the row's. */
function NameLink(props: { desk: Desk; entry: Entry }): JSX.Element {
  return (
    <a
      class="cell-link"
      href={addressOf(joinPath(props.desk.folder(), props.entry.name))}
      tabindex="-1"
      draggable={false}
      title={showName(props.entry.name)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        props.desk.open(props.entry);
      }}
    >
      {showName(props.entry.name)}
    </a>
  );
}

function MoreButton(props: { name: string; index: number }): JSX.Element {
  return (
    <IconButton
      icon={EllipsisVertical}
      label={t('actionsFor', { name: props.name })}
      isByPointer
      onPress={() => {
        const row = document.querySelector(`#entry-${props.index} .cell-more`);
        if (row) openMenuAt(row);
      }}
    />
  );
}

const isControl = (event: Event) => event.target instanceof Element && event.target.closest('input, button, a') !== null;

/** A click chooses, with Ctrl adds or takes away, with the shift key chooses a range. On a phone it opens, until something is chosen. */
function press(desk: Desk, index: number, event: MouseEvent): void {
  if (isControl(event) && !event.ctrlKey && !event.metaKey && !event.shiftKey) return;
  const entry = desk.listing.at(index);
  if (!entry) return;
  if (isControl(event)) event.preventDefault();
  const { selection } = desk;
  if (look.isPhone() && selection.chosen().size === 0) return void desk.open(entry);
  if (event.shiftKey) chooseRange(desk, index);
  else if (event.ctrlKey || event.metaKey || look.isPhone()) {
    selection.toggle(entry.name);
    selection.setAnchor(index);
  } else chooseOne(desk, index);
  selection.setActive(index);
}
