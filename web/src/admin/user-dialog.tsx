import { createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { FormDialog } from '../pages/dialogs.tsx';
import { CheckField, SelectField, SwitchField, TextField } from '../pages/fields.tsx';
import { has, RIGHT_GROUPS, ROLES, roleOf } from '../pages/rights.ts';
import { attempt } from '../pages/work.ts';
import { changeUser, type UserFields } from './change-record.ts';
import { FolderField } from './folder-field.tsx';
import { randomPassword } from './random-password.ts';
import { ROLE, type User } from './records.ts';

const GIGABYTE = 1_000_000_000;

/** Somebody: name and password, folder, rights in words, room. A new one gets a password that is shown once. */
export function UserDialog(props: {
  of: User | undefined;
  /** @param made of somebody new */
  onSaved: (made?: { name: string; password: string }) => void;
  onClose: () => void;
}): JSX.Element {
  const user = props.of;
  const [name, setName] = createSignal(user?.username ?? '');
  const [password, setPassword] = createSignal('');
  const [folder, setFolder] = createSignal(user?.base_path ?? '/');
  const [permission, setPermission] = createSignal(user?.permission ?? 0);
  const [gigabytes, setGigabytes] = createSignal(user && user.quota_bytes > 0 ? String(user.quota_bytes / GIGABYTE) : '');
  const [isDisabled, setDisabled] = createSignal(user?.disabled ?? false);
  const isAdmin = user?.role === ROLE.admin;
  const isGuest = user?.role === ROLE.guest;
  const fields = (): UserFields => ({
    username: name().trim(),
    base_path: folder(),
    role: user?.role ?? 0,
    permission: permission(),
    disabled: isDisabled(),
    sso_id: user?.sso_id ?? '',
    allow_ldap: user?.allow_ldap ?? true,
    quota_bytes: Math.round(Number(gigabytes() || 0) * GIGABYTE),
  });
  const opened = fields();
  const save = async () => {
    if (user) {
      await changeUser(user.id, opened, fields(), password());
      return props.onSaved();
    }
    const made = { ...fields(), password: password() || randomPassword() };
    await call('/api/admin/user/create', made);
    props.onSaved({ name: made.username, password: made.password });
  };
  return (
    <FormDialog
      title={user ? t('editNamed', { name: isGuest ? t('guest') : user.username }) : t('invite')}
      send={t(user ? 'save' : 'invite')}
      done={user ? t('saved') : ''}
      isWide
      isIncomplete={name().trim() === ''}
      onSend={save}
      onClose={props.onClose}
    >
      <Show
        when={!isGuest}
        fallback={
          <SwitchField label={t('guestsMayCome')} hint={t('guestsHint')} isOn={!isDisabled()} onChange={(isOn) => setDisabled(!isOn)} />
        }
      >
        <div class="pair">
          <TextField label={t('username')} isRequired value={name()} onInput={setName} />
          <TextField
            label={t(user ? 'newPassword' : 'password')}
            type="password"
            autocomplete="new-password"
            hint={t(user ? 'keepPasswordHint' : 'makePasswordHint')}
            value={password()}
            onInput={setPassword}
          />
        </div>
      </Show>
      <FolderField label={t('theirFolder')} hint={t('theirFolderHint')} value={folder()} onInput={setFolder} />
      <Show when={!isAdmin}>
        <RightsField permission={permission()} onChange={setPermission} />
        <Show when={!isGuest}>
          <TextField label={t('theirRoom')} hint={t('theirRoomHint')} type="number" value={gigabytes()} onInput={setGigabytes} />
          <Show when={user}>
            <SwitchField label={t('lockOut')} hint={t('lockOutHint')} isOn={isDisabled()} onChange={setDisabled} />
          </Show>
        </Show>
      </Show>
      <Show when={user?.otp && user}>
        {(owner) => (
          <div>
            <button
              type="button"
              class="button"
              onClick={() =>
                void attempt(() => call('/api/admin/user/cancel_2fa', { id: owner().id }), t('twoStepIsOff')).then(
                  (isDone) => isDone && props.onSaved(),
                )
              }
            >
              {t('cancelTwoStep')}
            </button>
          </div>
        )}
      </Show>
    </FormDialog>
  );
}

/** What somebody may do: mostly one of a few, else each by itself. */
function RightsField(props: { permission: number; onChange: (permission: number) => void }): JSX.Element {
  const role = () => String(ROLES.find(({ permission }) => permission === props.permission)?.permission ?? '');
  return (
    <>
      <SelectField
        label={t('mayDo')}
        value={role()}
        options={[
          ...ROLES.map(({ permission, label }) => [String(permission), t(label)] as const),
          ...(role() === '' ? [['', t(roleOf(props.permission))] as const] : []),
        ]}
        onChange={(value) => value !== '' && props.onChange(Number(value))}
      />
      <details class="further">
        <summary>{t('eachRight')}</summary>
        <div class="stack">
          <For each={RIGHT_GROUPS}>
            {(group) => (
              <fieldset class="checks">
                <legend>{t(group.label)}</legend>
                <For each={group.rights}>
                  {({ bit, label }) => (
                    <CheckField
                      label={t(label)}
                      isOn={has(props.permission, bit)}
                      onChange={(isOn) => props.onChange(isOn ? props.permission | (1 << bit) : props.permission & ~(1 << bit))}
                    />
                  )}
                </For>
              </fieldset>
            )}
          </For>
        </div>
      </details>
    </>
  );
}
