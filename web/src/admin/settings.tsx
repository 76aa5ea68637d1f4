import { createSignal, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { ConfirmDialog, SecretDialog } from '../pages/dialogs.tsx';
import { TextField } from '../pages/fields.tsx';
import { Page, Section } from '../pages/page.tsx';
import { SettingsForm } from './settings-form.tsx';

/** All that can be set, by what it is about. */
export function Settings(): JSX.Element {
  const [search, setSearch] = createSignal('');
  const groups = () =>
    [
      { group: 1, title: t('settingsSite') },
      { group: 4, title: t('settingsLinks') },
      { group: 11, title: t('settingsWork') },
      { group: 3, title: t('settingsKinds'), hint: t('settingsOthersHint') },
      { group: 2, title: t('settingsLook'), hint: t('settingsOthersHint') },
      { group: 7, title: t('settingsSso') },
      { group: 8, title: t('settingsLdap') },
    ] as const;
  return (
    <Page title={t('settings')}>
      <TextField label={t('findSetting')} value={search()} onInput={setSearch} />
      <SettingsForm groups={groups()} search={search()} />
      <Show when={search() === ''}>
        <ApiToken />
      </Show>
    </Page>
  );
}

/** The one token that does not end, by which scripts are the admin and links are signed. */
function ApiToken(): JSX.Element {
  const [isAsked, setAsked] = createSignal(false);
  const [token, setToken] = createSignal<string>();
  const show = async () => {
    const answer = await call('/api/admin/setting/get', { key: 'token' });
    if ('value' in answer) setToken(answer.value);
  };
  return (
    <Section title={t('apiToken')} hint={t('apiTokenHint')}>
      <div class="form-end">
        <button type="button" class="button" onClick={() => void show()}>
          {t('showToken')}
        </button>
        <button type="button" class="button" onClick={() => setAsked(true)}>
          {t('renewToken')}
        </button>
      </div>
      <Show when={isAsked()}>
        <ConfirmDialog
          title={t('renewToken')}
          text={t('renewTokenText')}
          confirm={t('renewToken')}
          onConfirm={async () => {
            setToken(await call('/api/admin/setting/reset_token', {}));
          }}
          onClose={() => setAsked(false)}
        />
      </Show>
      <Show when={token()}>
        {(text) => <SecretDialog title={t('apiToken')} hint={t('apiTokenKeep')} secret={text()} onClose={() => setToken()} />}
      </Show>
    </Section>
  );
}
