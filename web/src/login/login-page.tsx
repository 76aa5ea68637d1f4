import { ArrowLeft } from 'lucide';
import { createSignal, type JSX, Show } from 'solid-js';
import { ApiError } from '../api/call.ts';
import { explain } from '../files/explain.ts';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { login, settings } from '../session.ts';
import { dropLogin, isLoginAsked } from './ask-login.ts';
import './login-page.css';

/** The name and the password, and the code of the second step where the account has one. */
export function LoginPage(): JSX.Element {
  const [isSecond, setSecond] = createSignal(false);
  const [problem, setProblem] = createSignal('');
  const [isBusy, setBusy] = createSignal(false);
  const submit = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    const read = (name: string) => String(given.get(name) ?? '');
    setBusy(true);
    setProblem('');
    try {
      await login(read('username'), read('password'), read('code').replace(/\s/g, ''));
      dropLogin();
    } catch (error) {
      const code = error instanceof ApiError ? error.code : 0;
      setProblem(
        code === 402 ? (isSecond() ? t('wrongCode') : '') : code === 401 ? t('wrongLogin') : code === 429 ? t('locked') : explain(error),
      );
      setSecond(code === 402);
    } finally {
      setBusy(false);
    }
    const wrong = form.querySelector<HTMLInputElement>(isSecond() ? '[name="code"]' : '[name="password"]');
    wrong?.focus();
    wrong?.select();
  };
  return (
    <main class="login">
      <form
        class="login-card"
        aria-labelledby="login-title"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <img src="/favicon.svg" alt="" width="48" height="48" />
        <h1 id="login-title">{t('loginTo', { site: settings.latest?.['site_title'] ?? 'Wharf' })}</h1>
        <div class="login-fields" hidden={isSecond()}>
          <div class="field">
            <label for="username">{t('username')}</label>
            <input
              id="username"
              name="username"
              class="input"
              autocomplete="username"
              autocapitalize="none"
              spellcheck={false}
              required
              ref={(field) => queueMicrotask(() => field.focus())}
            />
          </div>
          <div class="field">
            <label for="password">{t('password')}</label>
            <input id="password" name="password" class="input" type="password" autocomplete="current-password" />
          </div>
        </div>
        <Show when={isSecond()}>
          <div class="field">
            <label for="code">{t('code')}</label>
            <input
              id="code"
              name="code"
              class="input login-code"
              inputmode="numeric"
              autocomplete="one-time-code"
              aria-describedby="code-hint"
              required
            />
            <p id="code-hint" class="note">
              {t('codeHint')}
            </p>
          </div>
        </Show>
        <p class="problem" role="alert">
          {problem()}
        </p>
        <button type="submit" class="button is-main" disabled={isBusy()}>
          {t(isSecond() ? 'confirm' : 'login')}
        </button>
        <Show when={isSecond()}>
          <button type="button" class="button is-quiet" onClick={() => setSecond(false)}>
            <Icon of={ArrowLeft} />
            {t('otherAccount')}
          </button>
        </Show>
        <Show when={isLoginAsked() && !isSecond()}>
          <button type="button" class="button is-quiet" onClick={dropLogin}>
            {t('stayGuest')}
          </button>
        </Show>
      </form>
    </main>
  );
}
