import { History } from 'lucide';
import { createEffect, createResource, createSignal, For, type JSX, on, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { showTime, t } from '../i18n/i18n.ts';
import { SelectField, TextField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Nothing } from '../pages/rows.tsx';
import { ALL } from './records.ts';

type Entry = Answer<'/api/admin/audit/list'>['content'][number];

/** What the trail tells of, as the server names it. */
const ACTIONS = [
  ...['login', 'login_failed', 'logout', 'session_revoked', 'user_created', 'user_updated', 'user_deleted', 'profile_updated'],
  ...['admin_password_reset', 'otp_enabled', 'otp_cancelled', 'recovery_codes_made', 'ssh_key_added', 'ssh_key_deleted'],
  ...['app_password_created', 'app_password_deleted', 'permanent_token_changed'],
] as const;

const PER_PAGE = 50;

/** What the server calls an action, in words where the page has some. */
const actionWords = (action: string): string => t(`did_${action}` as 'did_login') || action;

/** Who logged in, and who changed passwords, keys and rights. */
export function Audit(): JSX.Element {
  const [action, setAction] = createSignal('');
  const [user, setUser] = createSignal('');
  const [address, setAddress] = createSignal('');
  const [page, setPage] = createSignal(1);
  createEffect(on([action, user, address], () => setPage(1), { defer: true }));
  const [users] = createResource(() => call('/api/admin/user/list', ALL));
  const [entries, { refetch }] = createResource(
    () => ({ page: page(), per_page: PER_PAGE, action: action(), user_id: user() === '' ? 0 : Number(user()), address: address().trim() }),
    (asked) => call('/api/admin/audit/list', asked),
  );
  return (
    <Page title={t('audit')} hint={t('auditHint')}>
      <div class="pair">
        <SelectField
          label={t('auditAction')}
          value={action()}
          options={[['', t('everything')], ...ACTIONS.map((each) => [each, actionWords(each)] as const)]}
          onChange={setAction}
        />
        <SelectField
          label={t('person')}
          value={user()}
          options={[
            ['', t('everybody')],
            ...(users.state === 'ready' ? users.latest.content : []).map(({ id, username }) => [String(id), username] as const),
          ]}
          onChange={setUser}
        />
        <TextField label={t('auditAddress')} value={address()} onInput={setAddress} />
      </div>
      <Section title={t('audit')}>
        <Loaded of={entries} onRetry={() => void refetch()}>
          {(found) => (
            <Show when={found().content.length > 0} fallback={<Nothing icon={History} title={t('auditNothing')} />}>
              <ul class="trail" aria-label={t('audit')}>
                <For each={found().content}>{(entry) => <TrailEntry of={entry} />}</For>
              </ul>
              <div class="form-end">
                <button type="button" class="button" disabled={page() === 1} onClick={() => setPage(page() - 1)}>
                  {t('newer')}
                </button>
                <button type="button" class="button" disabled={page() * PER_PAGE >= found().total} onClick={() => setPage(page() + 1)}>
                  {t('older')}
                </button>
                <span class="note">{t('items', { n: found().total })}</span>
              </div>
            </Show>
          )}
        </Loaded>
      </Section>
    </Page>
  );
}

/** One thing that happened; those alike that happened again and again are one. @param props.isShort without what exactly was changed */
export function TrailEntry(props: { of: Entry; isShort?: boolean }): JSX.Element {
  const about = () =>
    [props.of.target === 'api' ? '' : props.of.target, props.isShort ? '' : props.of.detail, props.of.address].filter(Boolean).join(' · ');
  return (
    <li classList={{ 'is-bad': props.of.action === 'login_failed' }}>
      <time datetime={props.of.last_time}>{showTime(props.of.last_time)}</time>
      <p>
        <strong>{props.of.username}</strong> {actionWords(props.of.action)}
        <Show when={props.of.count > 1}> × {props.of.count}</Show>
        <span class="note">{about()}</span>
      </p>
    </li>
  );
}
