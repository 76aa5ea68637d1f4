import { createComputed, createEffect, createMemo, ErrorBoundary, type JSX, lazy, Match, on, Show, Suspense, Switch } from 'solid-js';
import { createDesk } from './files/desk.ts';
import { Dialogs } from './files/dialogs.tsx';
import { explain } from './files/explain.ts';
import { FileView } from './files/file-view.tsx';
import { look } from './files/look.ts';
import { t } from './i18n/i18n.ts';
import { isLoginAsked } from './login/ask-login.ts';
import { LoginPage } from './login/login-page.tsx';
import { dismissAll, Notices, notify } from './parts/notices.tsx';
import { Part } from './parts/part.tsx';
import { page } from './router.ts';
import { isGuest, me, readMe } from './session.ts';
import { Sidebar } from './sidebar.tsx';
import { UploadPanel } from './uploads/upload-panel.tsx';

const AccountPage = lazy(() => import('./account/account-page.tsx'));
const AdminPage = lazy(() => import('./admin/admin-page.tsx'));

/** The whole page: a login where one is needed, else the files. */
export function App(): JSX.Element {
  createEffect(() => {
    if (look.theme() === 'system') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.dataset['theme'] = look.theme();
  });
  const who = createMemo(() => me.latest?.id);
  // What is there of one user is none of the next one's business. Before their pages go: what was being written then is offered once more.
  createComputed((before: number | undefined) => {
    if (who() === undefined || isGuest()) return before;
    if (before !== undefined && before !== who()) dismissAll();
    return who();
  });
  // What is under way and what was written goes on, as whoever it is of.
  createEffect(
    on(
      () => me.error,
      (error) => {
        if (error === undefined || who() === undefined) return;
        notify(explain(error), { isBad: true, action: { label: t('tryAgain'), run: () => void readMe() } });
      },
    ),
  );
  return (
    <>
      <ErrorBoundary fallback={(error: unknown) => <Unreachable error={error} />}>
        <Switch>
          <Match when={who() === undefined && me.state === 'errored'}>
            <Unreachable error={me.error} />
          </Match>
          <Match when={who() === undefined ? me.state === 'ready' : isGuest() && isLoginAsked()}>
            <LoginPage />
          </Match>
          <Match when={who() !== undefined}>
            <Show when={who()} keyed>
              <Shell />
            </Show>
          </Match>
        </Switch>
      </ErrorBoundary>
      {/* Beside it: what was written when the page failed can be saved from there. */}
      <Notices />
    </>
  );
}

function Shell(): JSX.Element {
  const desk = createDesk();
  return (
    <div class="shell">
      <Sidebar desk={desk} />
      <Suspense fallback={<div class="page" />}>
        <Switch
          fallback={
            <Part>
              <FileView desk={desk} />
            </Part>
          }
        >
          <Match when={page()?.area === 'account'}>
            <Part>
              <AccountPage />
            </Part>
          </Match>
          <Match when={page()?.area === 'admin'}>
            <Part>
              <AdminPage />
            </Part>
          </Match>
        </Switch>
      </Suspense>
      {/* What is on its way goes on, whatever page is shown. */}
      <UploadPanel queue={desk.uploads} />
      <Part onClose={() => desk.setDialog()}>
        <Dialogs desk={desk} />
      </Part>
    </div>
  );
}

function Unreachable(props: { error: unknown }): JSX.Element {
  return (
    <main class="login" role="alert">
      <div class="login-card">
        <h1>{t('somethingFailed')}</h1>
        <p class="note">{explain(props.error)}</p>
        <button type="button" class="button is-main" onClick={() => location.reload()}>
          {t('tryAgain')}
        </button>
      </div>
    </main>
  );
}
