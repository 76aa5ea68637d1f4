import { createSignal, For, type JSX, lazy, Match, Show, Suspense, Switch } from 'solid-js';
import { showSize, t } from '../i18n/i18n.ts';
import { Modal } from '../parts/modal.tsx';
import { ACTIONS, showKeys } from './actions.ts';
import type { Desk, OpenDialog } from './desk.ts';
import { KindIcon } from './kind-icon.tsx';
import type { Entry } from './sort-entries.ts';
import './dialogs.css';
import { showName } from '../i18n/show-name.ts';

const BringDialog = lazy(() => import('./bring-dialog.tsx'));
const RenameDialog = lazy(() => import('./rename-dialog.tsx'));
const FindDialog = lazy(() => import('./find-dialog.tsx'));
const TaskDialog = lazy(() => import('../tasks/task-dialog.tsx'));
const DownloadDialog = lazy(() => import('../tasks/download-dialog.tsx'));

/** The dialog that is open over the files, if one is. */
export function Dialogs(props: { desk: Desk }): JSX.Element {
  const close = () => props.desk.setDialog();
  const is = <Kind extends OpenDialog['kind']>(kind: Kind) => {
    const dialog = props.desk.dialog();
    return dialog?.kind === kind ? (dialog as Extract<OpenDialog, { kind: Kind }>) : undefined;
  };
  return (
    <Suspense>
      <Switch>
        <Match when={is('new-folder')}>
          <NewDialog title={t('newFolder')} make={props.desk.makeFolder} onClose={close} />
        </Match>
        <Match when={is('new-file')}>
          <NewDialog title={t('newFile')} make={props.desk.makeFile} onClose={close} />
        </Match>
        <Match when={is('rename-many')} keyed>
          {(dialog) => <RenameDialog desk={props.desk} entries={dialog.entries} onClose={close} />}
        </Match>
        <Match when={is('remove')} keyed>
          {(dialog) => <RemoveDialog desk={props.desk} entries={dialog.entries} onClose={close} />}
        </Match>
        <Match when={is('bring')} keyed>
          {(dialog) => <BringDialog desk={props.desk} what={dialog} onClose={close} />}
        </Match>
        <Match when={is('find')}>
          <FindDialog desk={props.desk} onClose={close} />
        </Match>
        <Match when={is('tasks')}>
          <TaskDialog feed={props.desk.tasks} onDownload={() => props.desk.setDialog({ kind: 'download' })} onClose={close} />
        </Match>
        <Match when={is('download')}>
          <DownloadDialog folder={props.desk.folder()} onQueued={() => props.desk.setDialog({ kind: 'tasks' })} onClose={close} />
        </Match>
        <Match when={is('help')}>
          <HelpDialog onClose={close} />
        </Match>
      </Switch>
    </Suspense>
  );
}

/** Asks what something is to be called. */
function NewDialog(props: { title: string; make: (name: string) => unknown; onClose: () => void }): JSX.Element {
  const [name, setName] = createSignal('');
  const problem = () => (/[/\\]|^\.{1,2}$/.test(name()) ? t('errorName') : '');
  return (
    <Modal title={props.title} onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name().trim() === '' || problem() !== '') return;
          props.onClose();
          void props.make(name().trim());
        }}
      >
        <div class="field">
          <label for="folder-name">{t('name')}</label>
          <input
            id="folder-name"
            class="input"
            autocomplete="off"
            spellcheck={false}
            value={name()}
            aria-invalid={problem() !== ''}
            aria-describedby="folder-name-problem"
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p id="folder-name-problem" class="problem" role="alert">
            {problem()}
          </p>
        </div>
        <div class="dialog-end">
          <button type="button" class="button" onClick={props.onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button is-main" disabled={name().trim() === '' || problem() !== ''}>
            {t('create')}
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** How many of what goes are named. */
const NAMED = 5;

function RemoveDialog(props: { desk: Desk; entries: readonly Entry[]; onClose: () => void }): JSX.Element {
  const folders = () => props.entries.filter((entry) => entry.is_dir).length;
  const bytes = () => props.entries.reduce((sum, entry) => sum + (entry.is_dir ? 0 : entry.size), 0);
  return (
    <Modal title={t('removeTitle', { n: props.entries.length, name: props.entries[0]?.name ?? '' })} onClose={props.onClose}>
      <ul class="named">
        <For each={props.entries.slice(0, NAMED)}>
          {(entry) => (
            <li>
              <KindIcon entry={entry} />
              <span>{showName(entry.name)}</span>
              <Show when={!entry.is_dir}>
                <span class="note">{showSize(entry.size)}</span>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.entries.length > NAMED}>
        <p class="note">{t('andMore', { n: props.entries.length - NAMED })}</p>
      </Show>
      <p class="dialog-text">
        {folders() > 0 ? t('removeFolders', { n: folders() }) : t('removeFiles', { size: showSize(bytes()) })} {t('removeForGood')}
      </p>
      <div class="dialog-end">
        <button type="button" class="button" onClick={props.onClose}>
          {t('cancel')}
        </button>
        <button
          type="button"
          class="button is-danger"
          onClick={() => {
            props.onClose();
            void props.desk.remove(props.entries);
          }}
        >
          {t('remove')}
        </button>
      </div>
    </Modal>
  );
}

const MOVES = [
  ['↑ ↓', 'keyArrows'],
  ['Shift+↑ ↓', 'keyRange'],
  ['Space', 'keyLook'],
  ['Ctrl+Space', 'keySpace'],
  ['A…Z', 'keyLetters'],
  ['Backspace', 'keyUp'],
  ['Alt+PgDn PgUp', 'keyGroup'],
  ['Shift+F10', 'keyMenu'],
] as const;

function HelpDialog(props: { onClose: () => void }): JSX.Element {
  return (
    <Modal title={t('help')} onClose={props.onClose} isWide>
      <dl class="keys">
        <For each={MOVES}>
          {([keys, label]) => (
            <div>
              <dt>{t(label)}</dt>
              <dd>
                <kbd>{keys}</kbd>
              </dd>
            </div>
          )}
        </For>
        <For each={ACTIONS.filter((action) => action.keys !== undefined)}>
          {(action) => (
            <div>
              <dt>{t(action.id)}</dt>
              <dd>
                <kbd>{showKeys(action.keys ?? '')}</kbd>
              </dd>
            </div>
          )}
        </For>
      </dl>
      <div class="dialog-end">
        <button type="button" class="button is-main" onClick={props.onClose}>
          {t('close')}
        </button>
      </div>
    </Modal>
  );
}
