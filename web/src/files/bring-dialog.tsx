import { ArrowUp, Folder } from 'lucide';
import { createEffect, createResource, createSignal, For, type JSX, on, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { showName } from '../i18n/show-name.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { Modal } from '../parts/modal.tsx';
import type { Clipboard, OnTaken } from './changes.ts';
import type { Desk } from './desk.ts';
import { explain } from './explain.ts';
import { isWithin, joinPath, nameOf, parentOf } from './tree-path.ts';

const CHOICES: readonly { readonly value: OnTaken; readonly label: 'takenRefuse' | 'takenSkip' | 'takenReplace' }[] = [
  { value: 'refuse', label: 'takenRefuse' },
  { value: 'skip', label: 'takenSkip' },
  { value: 'replace', label: 'takenReplace' },
];

/** Where to copy or move to, and what becomes of names that are taken there. */
export default function BringDialog(props: { desk: Desk; what: Clipboard; onClose: () => void }): JSX.Element {
  const [folder, setFolder] = createSignal(props.what.folder);
  const [onTaken, setOnTaken] = createSignal<OnTaken>('refuse');
  const [folders] = createResource(folder, (path) => call('/api/fs/dirs', { path }));
  let form!: HTMLFormElement;
  // The folder that was opened is gone from the list, and the keys with it: they go on in the next list, else at what ends the dialog.
  createEffect(
    on(
      () => folders.state,
      (state) => {
        if (state !== 'ready' || form.contains(document.activeElement?.closest('button:enabled, input') ?? null)) return;
        for (const part of ['li button:enabled', '[type="submit"]:enabled', 'button:enabled']) {
          const next = form.querySelector<HTMLElement>(part);
          if (next) return next.focus();
        }
      },
      { defer: true },
    ),
  );
  const title = () =>
    t(props.what.verb === 'copy' ? 'copyTitle' : 'moveTitle', { n: props.what.names.length, name: props.what.names[0] ?? '' });
  /** A folder cannot go into itself. */
  const isItself = (path: string) => props.what.names.some((name) => isWithin(path, joinPath(props.what.folder, name)));
  return (
    <Modal title={title()} onClose={props.onClose} isWide>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          props.onClose();
          void props.desk.bring(props.what, folder(), onTaken());
        }}
      >
        <div class="picker">
          <p class="picker-way">
            <IconButton icon={ArrowUp} label={t('up')} isDisabled={folder() === '/'} onPress={() => setFolder(parentOf(folder()))} />
            <span role="status">{showName(folder())}</span>
          </p>
          <ul aria-label={t('foldersIn', { name: nameOf(folder()) || t('allFiles') })} aria-busy={folders.loading}>
            <Show when={!folders.error} fallback={<li class="problem note">{explain(folders.error)}</li>}>
              <For each={folders.latest} fallback={<li class="note">{folders.loading ? t('loading') : t('noFolders')}</li>}>
                {({ name }) => (
                  <li>
                    <button type="button" disabled={isItself(joinPath(folder(), name))} onClick={() => setFolder(joinPath(folder(), name))}>
                      <span class="kind-icon is-folder">
                        <Icon of={Folder} size={20} />
                      </span>
                      {showName(name)}
                    </button>
                  </li>
                )}
              </For>
            </Show>
          </ul>
        </div>
        <fieldset class="choices">
          <legend>{t('takenQuestion')}</legend>
          <For each={CHOICES}>
            {({ value, label }) => (
              <label>
                <input type="radio" name="taken" checked={onTaken() === value} onChange={() => setOnTaken(value)} />
                {t(label)}
              </label>
            )}
          </For>
        </fieldset>
        <div class="dialog-end">
          <button type="button" class="button" onClick={props.onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button is-main" disabled={folder() === props.what.folder}>
            {t(props.what.verb === 'copy' ? 'copyHere' : 'moveHere')}
          </button>
        </div>
      </form>
    </Modal>
  );
}
