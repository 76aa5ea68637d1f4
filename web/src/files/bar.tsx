import { ArrowLeft, Info, Menu, Search, X } from 'lucide';
import { For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { openFolder } from '../router.ts';
import { showSidebar } from '../sidebar.tsx';
import { ActionMenuButton } from './action-menu.tsx';
import { offeredActions } from './actions.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import type { Desk } from './desk.ts';
import { LayoutMenu } from './layout-menu.tsx';
import { look } from './look.ts';
import { nameOf, parentOf } from './tree-path.ts';
import './bar.css';
import { showName } from '../i18n/show-name.ts';

/** Above the files: where the viewer is, or what can be done with what is chosen. */
export function Bar(props: { desk: Desk }): JSX.Element {
  const count = () => props.desk.selection.chosen().size;
  return (
    <header class="bar">
      <Show when={look.isPhone()} fallback={<Breadcrumbs desk={props.desk} />}>
        <PhoneTitle desk={props.desk} />
      </Show>
      <button type="button" class="bar-find" aria-label={t('find')} onClick={() => props.desk.setDialog({ kind: 'find' })}>
        <Icon of={Search} />
        <span>{t('find')}</span>
        <kbd>/</kbd>
      </button>
      <LayoutMenu />
      <IconButton
        icon={Info}
        label={t('details')}
        class="bar-details details-toggle"
        isPressed={look.showsDetails()}
        onPress={() => look.setShowsDetails(!look.showsDetails())}
      />
      <ActionMenuButton desk={props.desk} isFolder={count() === 0} />
      <Show when={count() > 0}>
        <ChosenBar desk={props.desk} />
      </Show>
    </header>
  );
}

/** On a phone: back, and the folder's own name. */
function PhoneTitle(props: { desk: Desk }): JSX.Element {
  return (
    <>
      <Show when={props.desk.folder() !== '/'} fallback={<IconButton icon={Menu} label={t('menu')} onPress={() => showSidebar(true)} />}>
        <IconButton icon={ArrowLeft} label={t('up')} onPress={() => openFolder(parentOf(props.desk.folder()))} />
      </Show>
      <span class="bar-title" aria-hidden="true">
        {showName(nameOf(props.desk.folder())) || t('allFiles')}
      </span>
    </>
  );
}

/** How many of the actions stand on the bar; the others are in its menu. */
const SHOWN = new Set(['download', 'copyLink', 'rename', 'copyTo', 'moveTo', 'remove']);

function ChosenBar(props: { desk: Desk }): JSX.Element {
  const entries = () => props.desk.chosenEntries();
  return (
    <div class="bar-chosen" role="toolbar" aria-label={t('actionsForChosen')}>
      <IconButton icon={X} label={t('chooseNone')} onPress={() => props.desk.selection.choose([])} />
      <span class="bar-count" role="status">
        {t('chosen', { n: props.desk.selection.chosen().size })}
      </span>
      <For each={offeredActions(props.desk, entries()).filter(({ id }) => SHOWN.has(id))}>
        {(action) => (
          <button
            type="button"
            class="button is-quiet"
            classList={{ 'is-warning': action.isDanger ?? false }}
            aria-label={t(action.id)}
            title={t(action.id)}
            onClick={() => action.run(props.desk, entries())}
          >
            <Icon of={action.icon} />
            <span class="bar-word">{t(action.id)}</span>
          </button>
        )}
      </For>
    </div>
  );
}
