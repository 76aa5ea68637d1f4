import { type JSX, Match, Show, Switch } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { askLogin } from '../login/ask-login.ts';
import { Page, Section } from '../pages/page.tsx';
import { page } from '../router.ts';
import { isGuest } from '../session.ts';
import { AppPasswords } from './app-passwords.tsx';
import { Profile } from './profile.tsx';
import { Sessions } from './sessions.tsx';
import { SshKeys } from './ssh-keys.tsx';
import { TwoStep } from './two-step.tsx';

/** What somebody has of their own here: name, password, keys, logins. */
export default function AccountPage(): JSX.Element {
  const section = () => page()?.section ?? '';
  return (
    <Show when={!isGuest()} fallback={<NoAccount />}>
      <Switch fallback={<Profile />}>
        <Match when={section() === 'two-step'}>
          <TwoStep />
        </Match>
        <Match when={section() === 'app-passwords'}>
          <AppPasswords />
        </Match>
        <Match when={section() === 'ssh-keys'}>
          <SshKeys />
        </Match>
        <Match when={section() === 'sessions'}>
          <Sessions />
        </Match>
      </Switch>
    </Show>
  );
}

function NoAccount(): JSX.Element {
  return (
    <Page title={t('account')}>
      <Section title={t('guest')} hint={t('guestAccountHint')}>
        <div class="form-end">
          <button type="button" class="button is-main" onClick={askLogin}>
            {t('login')}
          </button>
        </div>
      </Section>
    </Page>
  );
}
