import { Check } from 'lucide';
import { createSignal, For, type JSX, Show } from 'solid-js';
import { call, keepToken } from '../api/call.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { TextField } from '../pages/fields.tsx';
import { Page, Section } from '../pages/page.tsx';
import { has, RIGHT_GROUPS } from '../pages/rights.ts';
import { createWork } from '../pages/work.ts';
import { Icon } from '../parts/icon.tsx';
import { notify } from '../parts/notices.tsx';
import { isAdmin, login, me } from '../session.ts';
import './account.css';

/** Who the viewer is, what the viewer may do, and what the viewer can change of that. */
export function Profile(): JSX.Element {
  const rights = () => RIGHT_GROUPS.flatMap((group) => group.rights).filter(({ bit }) => has(me.latest?.permission ?? 0, bit));
  return (
    <Page title={t('profile')}>
      <Section title={me.latest?.username ?? ''} hint={isAdmin() ? t('youAreAdmin') : t('yourRightsHint')}>
        <dl class="facts-list">
          <dt>{t('yourFolder')}</dt>
          <dd>{me.latest?.base_path}</dd>
          <dt>{t('yourRoom')}</dt>
          <dd>{me.latest?.quota_bytes ? showSize(me.latest.quota_bytes) : t('noLimit')}</dd>
          <dt>{t('twoStep')}</dt>
          <dd>{t(me.latest?.otp ? 'isOn' : 'isOff')}</dd>
        </dl>
        <Show when={!isAdmin()}>
          <ul class="granted" aria-label={t('yourRights')}>
            <For each={rights()} fallback={<li class="note">{t('roleLook')}</li>}>
              {({ label }) => (
                <li>
                  <Icon of={Check} />
                  {t(label)}
                </li>
              )}
            </For>
          </ul>
        </Show>
      </Section>
      <PasswordForm />
      <NameForm />
    </Page>
  );
}

/** All logins end with the password; this browser is logged in again with the new one. */
function PasswordForm(): JSX.Element {
  const [password, setPassword] = createSignal('');
  const work = createWork();
  const save = async () => {
    const username = me.latest?.username ?? '';
    const isDone = await work.run(() => call('/api/me/update', { username, password: password(), sso_id: me.latest?.sso_id ?? '' }));
    if (!isDone) return;
    await login(username, password(), '').catch(() => keepToken(''));
    notify(t('passwordChanged'));
    setPassword('');
  };
  return (
    <Section title={t('password')} hint={t('passwordHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {/* Where a password manager finds whose password it is. */}
        <input class="unseen" autocomplete="username" aria-label={t('username')} value={me.latest?.username} tabindex="-1" readonly />
        <TextField
          label={t('newPassword')}
          type="password"
          autocomplete="new-password"
          isRequired
          value={password()}
          onInput={setPassword}
          problem={work.problem()}
        />
        <div class="form-end">
          <button type="submit" class="button is-main" disabled={work.isBusy() || password() === ''}>
            {t('changePassword')}
          </button>
        </div>
      </form>
    </Section>
  );
}

function NameForm(): JSX.Element {
  const [name, setName] = createSignal(me.latest?.username ?? '');
  const work = createWork();
  const save = async () => {
    const isDone = await work.run(() => call('/api/me/update', { username: name().trim(), password: '', sso_id: me.latest?.sso_id ?? '' }));
    if (!isDone) return;
    notify(t('nameChanged'));
    keepToken('');
  };
  return (
    <Section title={t('username')} hint={t('nameHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField label={t('username')} isRequired value={name()} onInput={setName} problem={work.problem()} />
        <div class="form-end">
          <button type="submit" class="button" disabled={work.isBusy() || name().trim() === '' || name().trim() === me.latest?.username}>
            {t('changeName')}
          </button>
        </div>
      </form>
    </Section>
  );
}
