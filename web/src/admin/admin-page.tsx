import { ShieldAlert } from 'lucide';
import { type JSX, Match, Show, Switch } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Page, Section } from '../pages/page.tsx';
import { Nothing } from '../pages/rows.tsx';
import { page } from '../router.ts';
import { isAdmin } from '../session.ts';
import { Audit } from './audit.tsx';
import { Backup } from './backup.tsx';
import { DownloadTools } from './download-tools.tsx';
import { Overview } from './overview.tsx';
import { Rules } from './rules.tsx';
import { SearchIndex } from './search-index.tsx';
import { Settings } from './settings.tsx';
import { Storages } from './storages.tsx';
import { Users } from './users.tsx';
import './admin.css';

/** What only the admin sees: how things are, and what they are set to. */
export default function AdminPage(): JSX.Element {
  const is = (section: string) => page()?.section === section;
  return (
    <Show when={isAdmin()} fallback={<NotAdmin />}>
      <Switch fallback={<Overview />}>
        <Match when={is('storages')}>
          <Storages />
        </Match>
        <Match when={is('users')}>
          <Users />
        </Match>
        <Match when={is('rules')}>
          <Rules />
        </Match>
        <Match when={is('settings')}>
          <Settings />
        </Match>
        <Match when={is('downloads')}>
          <DownloadTools />
        </Match>
        <Match when={is('search')}>
          <SearchIndex />
        </Match>
        <Match when={is('audit')}>
          <Audit />
        </Match>
        <Match when={is('backup')}>
          <Backup />
        </Match>
      </Switch>
    </Show>
  );
}

function NotAdmin(): JSX.Element {
  return (
    <Page title={t('administration')}>
      <Section title={t('PERMISSION_DENIED')}>
        <Nothing icon={ShieldAlert} title={t('onlyAdmin')} />
      </Section>
    </Page>
  );
}
