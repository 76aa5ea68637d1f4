import { Pencil, Plus, Trash2, UserRound, Users as UsersIcon } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { ConfirmDialog } from '../pages/dialogs.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { roleOf } from '../pages/rights.ts';
import { Chip, Nothing, Row, Rows } from '../pages/rows.tsx';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { InvitedDialog } from './invited-dialog.tsx';
import { ALL, ROLE, type User } from './records.ts';
import { UserDialog } from './user-dialog.tsx';

/** Who may come in, what of the tree they see, and what they may do there. */
export function Users(): JSX.Element {
  const [users, { refetch }] = createResource(() => call('/api/admin/user/list', ALL));
  const [edited, setEdited] = createSignal<User | 'new'>();
  const [invited, setInvited] = createSignal<{ name: string; password: string }>();
  const [removed, setRemoved] = createSignal<User>();
  return (
    <Page
      title={t('users')}
      hint={t('usersHint')}
      actions={
        <button type="button" class="button is-main" onClick={() => setEdited('new')}>
          <Icon of={Plus} />
          {t('invite')}
        </button>
      }
    >
      <Section title={t('usersAll')}>
        <Loaded of={users} onRetry={() => void refetch()}>
          {(found) => (
            <>
              <Rows label={t('users')}>
                <For each={found().content}>
                  {(user) => <UserRow of={user} onEdit={() => setEdited(user)} onRemove={() => setRemoved(user)} />}
                </For>
              </Rows>
              <Show when={found().content.every(({ role }) => role !== ROLE.general)}>
                <Nothing icon={UsersIcon} title={t('nobodyElse')} hint={t('nobodyElseHint')} />
              </Show>
            </>
          )}
        </Loaded>
      </Section>
      <Show when={edited()} keyed>
        {(user) => (
          <UserDialog
            of={user === 'new' ? undefined : user}
            onSaved={(password) => {
              if (password) setInvited(password);
              void refetch();
            }}
            onClose={() => setEdited()}
          />
        )}
      </Show>
      <Show when={invited()}>{(made) => <InvitedDialog of={made()} onClose={() => setInvited()} />}</Show>
      <Show when={removed()}>
        {(user) => (
          <ConfirmDialog
            title={t('removeNamed', { name: user().username })}
            text={t('removeUserText')}
            confirm={t('remove')}
            done={t('removedNamed', { name: user().username })}
            onConfirm={async () => {
              await call('/api/admin/user/delete', { id: user().id });
              void refetch();
            }}
            onClose={() => setRemoved()}
          />
        )}
      </Show>
    </Page>
  );
}

function UserRow(props: { of: User; onEdit: () => void; onRemove: () => void }): JSX.Element {
  const name = () => (props.of.role === ROLE.guest ? t('guest') : props.of.username);
  const note = () =>
    [
      t(props.of.role === ROLE.admin ? 'roleAll' : roleOf(props.of.permission)),
      props.of.base_path === '/' ? t('wholeTree') : props.of.base_path,
      props.of.quota_bytes > 0 ? t('upTo', { size: showSize(props.of.quota_bytes) }) : '',
    ].filter(Boolean);
  return (
    <Row
      icon={UserRound}
      isFaint={props.of.disabled}
      title={name()}
      note={note().join(' · ')}
      state={
        <>
          <Show when={props.of.role === ROLE.admin}>
            <Chip>{t('theAdmin')}</Chip>
          </Show>
          <Show when={props.of.otp}>
            <Chip kind="good">{t('twoStep')}</Chip>
          </Show>
          <Show when={props.of.disabled}>
            <Chip kind="warn">{t(props.of.role === ROLE.guest ? 'isOff' : 'lockedOut')}</Chip>
          </Show>
        </>
      }
    >
      <IconButton icon={Pencil} label={t('editThis', { name: name() })} onPress={props.onEdit} />
      <Show when={props.of.role === ROLE.general}>
        <IconButton icon={Trash2} label={t('removeThis', { name: name() })} onPress={props.onRemove} />
      </Show>
    </Row>
  );
}
