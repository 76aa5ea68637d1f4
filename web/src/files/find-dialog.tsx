import { CornerDownLeft, Search } from 'lucide';
import { createEffect, createMemo, createResource, createSignal, For, type JSX, on, onCleanup, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { showName } from '../i18n/show-name.ts';
import { Icon } from '../parts/icon.tsx';
import { Modal } from '../parts/modal.tsx';
import { openFile, openFolder } from '../router.ts';
import { me } from '../session.ts';
import { offeredActions, showKeys } from './actions.ts';
import type { Desk } from './desk.ts';
import { KindIcon } from './kind-icon.tsx';
import { joinPath } from './tree-path.ts';

type Hit = Answer<'/api/fs/search'>['content'][number];

/** Hits of each kind that are shown. */
const HITS = 30;
/** Somebody who types is not asked about between two letters. */
const PAUSE_MS = 150;

interface Choice {
  readonly group: string;
  readonly hit?: Hit;
  readonly icon?: Parameters<typeof Icon>[0]['of'];
  readonly name: string;
  readonly note: string;
  readonly run: () => unknown;
}

/** Finds files as one types: in the folder at once, everywhere where there is an index; and every action by its name. */
export default function FindDialog(props: { desk: Desk; onClose: () => void }): JSX.Element {
  const [words, setWords] = createSignal('');
  const [asked, setAsked] = createSignal('');
  const [active, setActive] = createSignal(0);
  createEffect(() => {
    const now = words().trim();
    const timer = setTimeout(() => setAsked(now), PAUSE_MS);
    onCleanup(() => clearTimeout(timer));
  });
  const search = (in_folder: boolean) => async (keywords: string) => {
    const parent = in_folder ? props.desk.folder() : '/';
    const answer = await call('/api/fs/search', { parent, keywords, in_folder, page: 1, per_page: HITS, scope: 0 }).catch(() => undefined);
    return answer?.content ?? [];
  };
  const [here] = createResource(asked, search(true));
  const [everywhere] = createResource(asked, search(false));

  const choices = createMemo((): readonly Choice[] => {
    const wanted = words().trim().toLowerCase();
    const near = wanted === '' ? [] : (here.latest ?? []);
    const far =
      wanted === ''
        ? []
        : (everywhere.latest ?? []).filter((hit) => !near.some((each) => each.name === hit.name && each.parent === hit.parent));
    const actions = offeredActions(props.desk, props.desk.chosenEntries()).concat(offeredActions(props.desk, []));
    return [
      ...near.map((hit) => hitChoice(hit, t('inThisFolder'))),
      ...far.map((hit) => hitChoice(hit, t('everywhere'))),
      ...[...new Set(actions)]
        .filter((action) => action.id !== 'find' && t(action.id).toLowerCase().includes(wanted))
        .map((action) => ({
          group: t('actions'),
          icon: action.icon,
          name: t(action.id),
          note: action.keys === undefined ? '' : showKeys(action.keys),
          run: () => action.run(props.desk, action.on === 'folder' ? [] : props.desk.chosenEntries()),
        })),
    ];
  });
  createEffect(on(choices, () => setActive(0), { defer: true }));
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    props.onClose();
    // The dialog gives the focus back first.
    setTimeout(choice.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') run(choices()[active()]);
    else if (step === 0) return;
    event.preventDefault();
    setActive(Math.min(Math.max(active() + step, 0), choices().length - 1));
    document.querySelector(`#choice-${active()}`)?.scrollIntoView({ block: 'nearest' });
  };

  return (
    <Modal title={t('find')} onClose={props.onClose} class="dialog is-wide find" isTitleUnseen>
      <div class="find-field">
        <Icon of={Search} />
        <input
          role="combobox"
          aria-label={t('findHint')}
          aria-expanded="true"
          aria-controls="choices"
          aria-activedescendant={choices().length > 0 ? `choice-${active()}` : undefined}
          placeholder={t('findHint')}
          autocomplete="off"
          spellcheck={false}
          value={words()}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id="choices" role="listbox" aria-label={t('found')} tabindex="-1">
        <For
          each={choices()}
          fallback={<div class="find-none">{here.loading || words().trim() !== asked() ? t('searching') : t('nothingFound')}</div>}
        >
          {(choice, index) => (
            <>
              <Show when={choices()[index() - 1]?.group !== choice.group}>
                <div class="find-group" role="presentation">
                  {choice.group}
                </div>
              </Show>
              <ChoiceRow choice={choice} index={index()} isActive={active() === index()} onRun={() => run(choice)} />
            </>
          )}
        </For>
      </div>
    </Modal>
  );
}

function ChoiceRow(props: { choice: Choice; index: number; isActive: boolean; onRun: () => void }): JSX.Element {
  return (
    <div id={`choice-${props.index}`} role="option" aria-selected={props.isActive} onClick={() => props.onRun()}>
      <Show when={props.choice.hit} fallback={<Icon of={props.choice.icon ?? CornerDownLeft} />}>
        {(hit) => <KindIcon entry={hit()} />}
      </Show>
      <span class="find-name">{props.choice.name}</span>
      <span class="note">{props.choice.note}</span>
    </div>
  );
}

/** Hits are told by their place in the whole tree; the viewer's begins at a folder of it. */
function hitChoice(hit: Hit, group: string): Choice {
  const base = me.latest?.base_path ?? '/';
  const parent = base !== '/' && hit.parent.startsWith(base) ? hit.parent.slice(base.length) || '/' : hit.parent;
  const run = () => (hit.is_dir ? openFolder(joinPath(parent, hit.name)) : showFile(parent, hit.name));
  return { group, hit, name: showName(hit.name), note: showName(parent), run };
}

function showFile(folder: string, name: string): void {
  openFolder(folder);
  openFile(folder, name);
}
