import { FolderOpen, KeyRound, PlugZap, ShieldAlert } from 'lucide';
import { createEffect, createSignal, type JSX, lazy, Match, onCleanup, Show, Suspense, Switch } from 'solid-js';
import { WELCOME_KEY } from '../admin/welcome-key.ts';
import { t } from '../i18n/i18n.ts';
import { recall } from '../kept.ts';
import { Icon } from '../parts/icon.tsx';
import { Part } from '../parts/part.tsx';
import { closeFile, openFolder, place } from '../router.ts';
import { isAdmin, isGuest, readMe, settings } from '../session.ts';
import { chooseFiles } from '../uploads/choose-files.ts';
import { droppedFiles } from '../uploads/dropped-files.ts';
import { actionOf } from './actions.ts';
import { Bar } from './bar.tsx';
import type { Desk } from './desk.ts';
import { explain } from './explain.ts';
import { FileList } from './file-list.tsx';
import { look } from './look.ts';
import { nameOf, parentOf } from './tree-path.ts';
import './file-view.css';
import { showName } from '../i18n/show-name.ts';

const Details = lazy(() => import('./details.tsx'));
const Viewer = lazy(() => import('../viewer/viewer.tsx'));
const FirstVisit = lazy(() => import('../admin/first-visit.tsx'));
const FolderText = lazy(() => import('./folder-text.tsx'));

const WRITTEN_IN = 'input, textarea, select';

/** Whether what is pressed or pasted is meant for a text, wherever that lies, or for a dialog or a menu. */
function isTakenElsewhere(event: Event): boolean {
  const [target] = event.composedPath();
  const isWritten = target instanceof HTMLElement && (target.isContentEditable || target.matches(WRITTEN_IN));
  return event.defaultPrevented || isWritten || document.querySelector('[role="dialog"], [role="menu"]') !== null;
}

/** A folder, and all that can be done in it. */
export function FileView(props: { desk: Desk }): JSX.Element {
  const { listing } = props.desk;
  let main!: HTMLElement;
  createEffect(() => {
    const name = showName(nameOf(place().file ?? props.desk.folder()));
    document.title = [name, settings.latest?.['site_title'] ?? 'Wharf'].filter(Boolean).join(' · ');
  });
  const onPaste = async (event: ClipboardEvent) => {
    if (!event.clipboardData || event.clipboardData.files.length === 0 || !props.desk.canWrite()) return;
    if (isTakenElsewhere(event)) return;
    event.preventDefault();
    props.desk.uploads.add(await droppedFiles(event.clipboardData, props.desk.folder()));
  };
  const hasList = () => listing.state() === 'ready' && listing.total() > 0;
  // Where there is no list, its place has the keys: those that act on the folder work there as well.
  createEffect(() => {
    if (!hasList() && document.activeElement === document.body) main.focus({ preventScroll: true });
  });
  // What acts on the folder does so wherever the keys are, but where they write or choose from a menu or a dialog.
  const onKeyDown = (event: KeyboardEvent) => {
    const { target } = event;
    if (!(target instanceof HTMLElement) || isTakenElsewhere(event)) return;
    const action = actionOf(props.desk, [], event);
    if (!action && !(event.key === 'Backspace' && target === main)) return;
    event.preventDefault();
    if (action) void action.run(props.desk, []);
    else openFolder(parentOf(props.desk.folder()));
  };
  addEventListener('keydown', onKeyDown);
  onCleanup(() => removeEventListener('keydown', onKeyDown));
  const listen = (event: ClipboardEvent) => void onPaste(event);
  addEventListener('paste', listen);
  onCleanup(() => removeEventListener('paste', listen));

  return (
    <div class="file-view">
      <Bar desk={props.desk} />
      <div class="file-body">
        <main ref={main} class="file-main" tabindex="-1">
          <h1 class="unseen">{showName(nameOf(props.desk.folder())) || t('allFiles')}</h1>
          <Show when={isAdmin() && props.desk.folder() === '/' && recall(WELCOME_KEY) !== 'done'}>
            <Part>
              <Suspense>
                <FirstVisit onStorage={() => void listing.refresh()} />
              </Suspense>
            </Part>
          </Show>
          <Show when={listing.info()?.header}>
            {(text) => (
              <Part>
                <Suspense>
                  <FolderText desk={props.desk} text={text()} isHeader />
                </Suspense>
              </Part>
            )}
          </Show>
          <Switch fallback={<FileList desk={props.desk} />}>
            <Match when={listing.state() === 'loading'}>
              <Waiting />
            </Match>
            <Match when={listing.state() === 'failed'}>
              <Failure desk={props.desk} />
            </Match>
            <Match when={listing.total() === 0}>
              <EmptyFolder desk={props.desk} />
            </Match>
          </Switch>
          <Show when={listing.info()?.readme}>
            {(text) => (
              <Part>
                <Suspense>
                  <FolderText desk={props.desk} text={text()} />
                </Suspense>
              </Part>
            )}
          </Show>
        </main>
        <Show when={look.showsDetails() && place().file === undefined}>
          <Part>
            <Suspense>
              <Details desk={props.desk} />
            </Suspense>
          </Part>
        </Show>
      </div>
      <Show when={place().file}>
        {(name) => (
          <Part onClose={closeFile}>
            <Suspense>
              <Viewer desk={props.desk} name={name()} />
            </Suspense>
          </Part>
        )}
      </Show>
    </div>
  );
}

/** Nothing at first: most folders are there before somebody would read that they are coming. */
function Waiting(): JSX.Element {
  const [isLong, setLong] = createSignal(false);
  const timer = setTimeout(() => setLong(true), 250);
  onCleanup(() => clearTimeout(timer));
  return (
    <div class="state" role="status">
      <Show when={isLong()}>
        <span class="spinner" />
        <span class="unseen">{t('loading')}</span>
      </Show>
    </div>
  );
}

function EmptyFolder(props: { desk: Desk }): JSX.Element {
  return (
    <div
      class="state"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (event.dataTransfer && props.desk.canWrite())
          void droppedFiles(event.dataTransfer, props.desk.folder()).then((files) => props.desk.uploads.add(files));
      }}
    >
      <Icon of={FolderOpen} size={48} />
      <h2>{t('emptyFolder')}</h2>
      <Show when={props.desk.canWrite()}>
        <p>{t('emptyFolderHint')}</p>
        <p class="state-actions">
          <button type="button" class="button is-main" onClick={() => chooseFiles(props.desk, false)}>
            {t('uploadFiles')}
          </button>
          <button type="button" class="button" onClick={() => props.desk.setDialog({ kind: 'new-folder' })}>
            {t('newFolder')}
          </button>
        </p>
      </Show>
    </div>
  );
}

function Failure(props: { desk: Desk }): JSX.Element {
  const error = () => props.desk.listing.error();
  const asksPassword = () => error()?.code === 403 && /^password is incorrect/.test(error()?.message ?? '');
  return (
    <Show
      when={asksPassword()}
      fallback={
        <div class="state" role="alert">
          <Icon of={error()?.code === 403 ? ShieldAlert : PlugZap} size={48} />
          <h2>{explain(error())}</h2>
          <p class="state-actions">
            <Show when={error()?.error === 'UNAUTHENTICATED'}>
              {/* Who looks whose the login is finds that it has ended, and asks for another one. */}
              <button type="button" class="button is-main" onClick={() => void readMe()}>
                {t('login')}
              </button>
            </Show>
            <button type="button" class="button" onClick={() => void props.desk.listing.refresh()}>
              {t('tryAgain')}
            </button>
          </p>
        </div>
      }
    >
      <PasswordForm desk={props.desk} />
    </Show>
  );
}

/** A folder that a rule puts behind a password. */
function PasswordForm(props: { desk: Desk }): JSX.Element {
  const [tries, setTries] = createSignal(0);
  return (
    <form
      class="state"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget).get('password');
        void props.desk.givePassword(String(given)).then(() => setTries((count) => count + 1));
      }}
    >
      <Icon of={KeyRound} size={48} />
      <h2>{t('folderPassword')}</h2>
      <p>{t(isGuest() ? 'folderPasswordGuest' : 'folderPasswordHint')}</p>
      <div class="field">
        <label for="folder-password" class="unseen">
          {t('password')}
        </label>
        <input
          id="folder-password"
          name="password"
          class="input"
          type="password"
          autocomplete="off"
          aria-invalid={tries() > 0}
          aria-describedby="folder-password-problem"
          ref={(field) => queueMicrotask(() => field.focus())}
        />
        <p id="folder-password-problem" class="problem" role="alert">
          {tries() > 0 ? t('wrongPassword') : ''}
        </p>
      </div>
      <button type="submit" class="button is-main">
        {t('openFolder')}
      </button>
    </form>
  );
}
