import { FileKey, Plus, Trash2 } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { showTime, t } from '../i18n/i18n.ts';
import { ConfirmDialog, FormDialog } from '../pages/dialogs.tsx';
import { TextArea, TextField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Nothing, Row, Rows } from '../pages/rows.tsx';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';

/** Public keys that log in where SSH is spoken. */
export function SshKeys(): JSX.Element {
  const [list, { refetch }] = createResource(() => call('/api/me/sshkey/list', { page: 1, per_page: 0 }));
  const [isAdding, setAdding] = createSignal(false);
  const [removed, setRemoved] = createSignal<{ id: number; title: string }>();
  return (
    <Page
      title={t('sshKeys')}
      hint={t('sshKeysHint')}
      actions={
        <button type="button" class="button is-main" onClick={() => setAdding(true)}>
          <Icon of={Plus} />
          {t('addKey')}
        </button>
      }
    >
      <Section title={t('sshKeysYours')}>
        <Loaded of={list} onRetry={() => void refetch()}>
          {(found) => (
            <Show when={found().content.length > 0} fallback={<Nothing icon={FileKey} title={t('noSshKeys')} hint={t('noSshKeysHint')} />}>
              <Rows label={t('sshKeys')}>
                <For each={found().content}>
                  {(key) => (
                    <Row
                      icon={FileKey}
                      title={key.title}
                      note={
                        <>
                          <code>{key.fingerprint}</code> · {t('addedAt', { time: showTime(key.added_time) })}
                        </>
                      }
                    >
                      <IconButton icon={Trash2} label={t('removeThis', { name: key.title })} onPress={() => setRemoved(key)} />
                    </Row>
                  )}
                </For>
              </Rows>
            </Show>
          )}
        </Loaded>
      </Section>
      <Show when={isAdding()}>
        <AddKey onAdded={() => void refetch()} onClose={() => setAdding(false)} />
      </Show>
      <Show when={removed()}>
        {(key) => (
          <ConfirmDialog
            title={t('removeNamed', { name: key().title })}
            text={t('removeKeyText')}
            confirm={t('remove')}
            done={t('removedNamed', { name: key().title })}
            onConfirm={async () => {
              await call('/api/me/sshkey/delete', { id: key().id });
              void refetch();
            }}
            onClose={() => setRemoved()}
          />
        )}
      </Show>
    </Page>
  );
}

function AddKey(props: { onAdded: () => void; onClose: () => void }): JSX.Element {
  const [title, setTitle] = createSignal('');
  const [key, setKey] = createSignal('');
  /** The comment at the end of a public key is mostly where it is from. */
  const nameIn = (text: string) => text.trim().split(/\s+/)[2] ?? '';
  return (
    <FormDialog
      title={t('addKey')}
      send={t('addKey')}
      done={t('keyAdded')}
      isIncomplete={key().trim() === ''}
      onSend={async () => {
        await call('/api/me/sshkey/add', { title: title().trim() || nameIn(key()) || t('sshKeyUnnamed'), key: key().trim() });
        props.onAdded();
      }}
      onClose={props.onClose}
    >
      <TextArea label={t('publicKey')} hint={t('publicKeyHint')} isRequired isCode rows={4} value={key()} onInput={setKey} />
      <TextField label={t('keyTitle')} placeholder={nameIn(key())} value={title()} onInput={setTitle} />
    </FormDialog>
  );
}
