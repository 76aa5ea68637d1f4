import { ContextMenu } from '@kobalte/core/context-menu';
import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import { EllipsisVertical } from 'lucide';
import { For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { type Action, offeredActions, showKeys } from './actions.ts';
import type { Desk } from './desk.ts';

/** The actions of what is chosen, as items of a menu. */
export function ActionItems(props: { desk: Desk; isFolder?: boolean }): JSX.Element {
  const entries = () => (props.isFolder ? [] : props.desk.chosenEntries());
  return (
    <For each={offeredActions(props.desk, entries())}>
      {(action: Action) => (
        <>
          <Show when={action.isDanger}>
            <hr />
          </Show>
          <ContextMenu.Item
            class={action.isDanger ? 'is-danger' : ''}
            // The menu gives the focus back first; what is opened then keeps it.
            onSelect={() => setTimeout(() => action.run(props.desk, entries()))}
          >
            <Icon of={action.icon} />
            {t(action.id)}
            <Show when={action.keys}>{(keys) => <kbd>{showKeys(keys())}</kbd>}</Show>
          </ContextMenu.Item>
        </>
      )}
    </For>
  );
}

/** A button that opens the actions of what is chosen, or of the folder. */
export function ActionMenuButton(props: { desk: Desk; isFolder?: boolean }): JSX.Element {
  return (
    <DropdownMenu modal={false}>
      <DropdownMenu.Trigger class="button is-quiet is-icon" aria-label={t('moreActions')} title={t('moreActions')}>
        <Icon of={EllipsisVertical} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content class="menu">
          <ActionItems desk={props.desk} isFolder={props.isFolder ?? false} />
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}
