import { type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import type { Desk } from './desk.ts';
import type { Group } from './group-entries.ts';
import { groupTitle } from './group-title.ts';
import './group-head.css';

/** Above a group of entries: what they have in common, and how many they are. A press chooses them. */
export function GroupHead(props: { desk: Desk; group: Group }): JSX.Element {
  return (
    <div class="group-head" role="row" aria-rowindex={props.desk.listing.rowIndexOf(props.group.first) - 1}>
      <div role="rowheader">
        <HeadWords desk={props.desk} group={props.group} />
      </div>
    </div>
  );
}

/** The heading of what is scrolled out of sight, at the top of the list. */
export function StuckHead(props: { desk: Desk; group: Group | undefined; pushedPx: number }): JSX.Element {
  return (
    <Show when={props.group}>
      {(group) => (
        <div class="group-stuck" aria-hidden="true">
          <div class="group-head" style={{ transform: `translateY(${-props.pushedPx}px)` }}>
            <HeadWords desk={props.desk} group={group()} />
          </div>
        </div>
      )}
    </Show>
  );
}

/** Tells those who hear the list when the keys come into another group. */
export function GroupHeard(props: { desk: Desk }): JSX.Element {
  const { listing, selection } = props.desk;
  const title = () => {
    const group = selection.active() < 0 ? undefined : listing.groupOf(selection.active());
    return group ? groupTitle(group) : '';
  };
  return (
    <Show when={listing.groups().length > 0}>
      <p class="unseen" role="status">
        {title()}
      </p>
    </Show>
  );
}

function HeadWords(props: { desk: Desk; group: Group }): JSX.Element {
  return (
    <button type="button" tabindex="-1" title={t('selectGroup')} onClick={() => props.desk.chooseGroup(props.group)}>
      <span class="group-name">{groupTitle(props.group)}</span> <span class="group-count">{t('items', { n: props.group.count })}</span>
    </button>
  );
}
