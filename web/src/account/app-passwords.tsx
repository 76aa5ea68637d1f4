import { KeyRound, Plus, Trash2 } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { showTime, t } from '../i18n/i18n.ts';
import { ConfirmDialog, FormDialog, SecretDialog } from '../pages/dialogs.tsx';
import { CheckField, SwitchField, TextField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip, Nothing, Row, Rows } from '../pages/rows.tsx';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';

type AppPassword = Answer<'/api/me/app_password/list'>['content'][number];

const PROTOCOLS = [
  ['webdav', 'WebDAV'],
  ['sftp', 'SFTP'],
  ['ftp', 'FTP'],
] as const;

const nameOfProtocol = (protocol: string) => PROTOCOLS.find(([id]) => id === protocol)?.[1] ?? protocol;

/** Passwords for programs, each for one of them, which can be taken back without changing the others. */
export function AppPasswords(): JSX.Element {
  const [list, { refetch }] = createResource(() => call('/api/me/app_password/list', { page: 1, per_page: 0 }));
  const [isMaking, setMaking] = createSignal(false);
  const [made, setMade] = createSignal<string>();
  const [removed, setRemoved] = createSignal<AppPassword>();
  return (
    <Page
      title={t('appPasswords')}
      hint={t('appPasswordsHint')}
      actions={
        <button type="button" class="button is-main" onClick={() => setMaking(true)}>
          <Icon of={Plus} />
          {t('new')}
        </button>
      }
    >
      <Section title={t('appPasswordsYours')}>
        <Loaded of={list} onRetry={() => void refetch()}>
          {(found) => (
            <Show
              when={found().content.length > 0}
              fallback={<Nothing icon={KeyRound} title={t('noAppPasswords')} hint={t('noAppPasswordsHint')} />}
            >
              <Rows label={t('appPasswords')}>
                <For each={found().content}>{(each) => <AppPasswordRow of={each} onRemove={() => setRemoved(each)} />}</For>
              </Rows>
            </Show>
          )}
        </Loaded>
      </Section>
      <Show when={isMaking()}>
        <NewAppPassword
          onMade={(password) => {
            setMade(password);
            void refetch();
          }}
          onClose={() => setMaking(false)}
        />
      </Show>
      <Show when={made()}>
        {(password) => <SecretDialog title={t('newAppPassword')} hint={t('shownOnce')} secret={password()} onClose={() => setMade()} />}
      </Show>
      <Show when={removed()}>
        {(each) => (
          <ConfirmDialog
            title={t('removeNamed', { name: each().name })}
            text={t('removeAppPasswordText')}
            confirm={t('remove')}
            done={t('removedNamed', { name: each().name })}
            onConfirm={async () => {
              await call('/api/me/app_password/delete', { id: each().id });
              void refetch();
            }}
            onClose={() => setRemoved()}
          />
        )}
      </Show>
    </Page>
  );
}

function AppPasswordRow(props: { of: AppPassword; onRemove: () => void }): JSX.Element {
  const note = () =>
    [
      props.of.path === '/' ? '' : props.of.path,
      showTime(props.of.last_used_time) === '' ? t('neverUsed') : t('lastUsed', { time: showTime(props.of.last_used_time) }),
      showTime(props.of.expires_time) === '' ? '' : t('endsAt', { time: showTime(props.of.expires_time) }),
    ].filter(Boolean);
  return (
    <Row
      icon={KeyRound}
      title={props.of.name}
      note={note().join(' · ')}
      state={
        <>
          <For each={props.of.protocols}>{(protocol) => <Chip>{nameOfProtocol(protocol)}</Chip>}</For>
          <Show when={props.of.read_only}>
            <Chip>{t('readOnly')}</Chip>
          </Show>
        </>
      }
    >
      <IconButton icon={Trash2} label={t('removeThis', { name: props.of.name })} onPress={props.onRemove} />
    </Row>
  );
}

function NewAppPassword(props: { onMade: (password: string) => void; onClose: () => void }): JSX.Element {
  const [name, setName] = createSignal('');
  const [protocols, setProtocols] = createSignal<readonly string[]>(['webdav']);
  const [isReadOnly, setReadOnly] = createSignal(false);
  const [path, setPath] = createSignal('/');
  const [until, setUntil] = createSignal('');
  return (
    <FormDialog
      title={t('newAppPassword')}
      send={t('create')}
      isIncomplete={name().trim() === '' || protocols().length === 0}
      onSend={async () => {
        const { password } = await call('/api/me/app_password/create', {
          name: name().trim(),
          protocols: protocols(),
          read_only: isReadOnly(),
          path: path(),
          expires_time: until() === '' ? '' : new Date(until()).toISOString(),
        });
        props.onMade(password);
      }}
      onClose={props.onClose}
    >
      <TextField label={t('appName')} hint={t('appNameHint')} isRequired value={name()} onInput={setName} />
      <fieldset class="checks">
        <legend>{t('appFor')}</legend>
        <For each={PROTOCOLS}>
          {([id, label]) => (
            <CheckField
              label={label}
              isOn={protocols().includes(id)}
              onChange={(isOn) => setProtocols((list) => (isOn ? [...list, id] : list.filter((each) => each !== id)))}
            />
          )}
        </For>
      </fieldset>
      <TextField label={t('appFolder')} hint={t('appFolderHint')} value={path()} onInput={setPath} />
      <TextField label={t('appUntil')} hint={t('appUntilHint')} type="datetime-local" value={until()} onInput={setUntil} />
      <SwitchField label={t('readOnly')} hint={t('readOnlyHint')} isOn={isReadOnly()} onChange={setReadOnly} />
    </FormDialog>
  );
}
