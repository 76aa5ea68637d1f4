import { Download, Fingerprint } from 'lucide';
import { createResource, createSignal, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { FormDialog, SecretDialog } from '../pages/dialogs.tsx';
import { TextField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip } from '../pages/rows.tsx';
import { saveFile } from '../pages/save-file.ts';
import { Icon } from '../parts/icon.tsx';
import { me, readMe } from '../session.ts';
import './account.css';

type Open = 'set-up' | 'codes' | undefined;

/** The second step of the login, and the codes for when the phone is lost. */
export function TwoStep(): JSX.Element {
  const [open, setOpen] = createSignal<Open>();
  const isOn = () => me.latest?.otp === true;
  return (
    <Page title={t('twoStep')} hint={t('twoStepHint')}>
      <Section
        title={t('authenticator')}
        hint={t(isOn() ? 'authenticatorOn' : 'authenticatorOff')}
        actions={<Chip kind={isOn() ? 'good' : 'plain'}>{t(isOn() ? 'isOn' : 'isOff')}</Chip>}
      >
        <div class="form-end">
          <button type="button" class="button" classList={{ 'is-main': !isOn() }} onClick={() => setOpen('set-up')}>
            <Icon of={Fingerprint} />
            {t(isOn() ? 'replaceTwoStep' : 'setUpTwoStep')}
          </button>
        </div>
      </Section>
      <Show when={isOn()}>
        <Section title={t('recoveryCodes')} hint={t('recoveryHint')}>
          <div class="form-end">
            <button type="button" class="button" onClick={() => setOpen('codes')}>
              {t('makeRecoveryCodes')}
            </button>
          </div>
        </Section>
      </Show>
      <Show when={open() === 'set-up'}>
        <SetUpDialog onClose={() => setOpen()} onDone={() => setOpen('codes')} />
      </Show>
      <Show when={open() === 'codes'}>
        <RecoveryDialog onClose={() => setOpen()} />
      </Show>
    </Page>
  );
}

function SetUpDialog(props: { onClose: () => void; onDone: () => void }): JSX.Element {
  const [secret, { refetch }] = createResource(() => call('/api/auth/2fa/generate', {}));
  const [code, setCode] = createSignal('');
  const [present, setPresent] = createSignal('');
  const wasOn = me.latest?.otp === true;
  let isDone = false;
  return (
    <FormDialog
      title={t(wasOn ? 'replaceTwoStep' : 'setUpTwoStep')}
      send={t('confirm')}
      done={t('twoStepIsOn')}
      isIncomplete={code().trim() === '' || secret.state !== 'ready'}
      onSend={async () => {
        await call('/api/auth/2fa/verify', { secret: secret()?.secret ?? '', code: code().replace(/\s/g, ''), otp_code: present().trim() });
        await readMe();
        isDone = true;
      }}
      onClose={() => (isDone ? props.onDone() : props.onClose())}
    >
      <Loaded of={secret} onRetry={() => void refetch()}>
        {(made) => (
          <div class="stack">
            <p>{t('scanHint')}</p>
            <img class="qr" src={made().qr} alt={t('qrAlt')} width="192" height="192" />
            <p class="note">{t('secretHint')}</p>
            <pre class="qr-secret">{made().secret.replace(/(.{4})(?=.)/g, '$1 ')}</pre>
            <CodeField label={t('newCode')} value={code()} onInput={setCode} />
            <Show when={wasOn}>
              <TextField label={t('presentCode')} hint={t('codeHint')} isRequired isCode value={present()} onInput={setPresent} />
            </Show>
          </div>
        )}
      </Loaded>
    </FormDialog>
  );
}

/** A code that the authenticator app shows. */
function CodeField(props: { label: string; value: string; onInput: (value: string) => void }): JSX.Element {
  return <TextField {...props} inputmode="numeric" autocomplete="one-time-code" isRequired isCode />;
}

/** A code makes them, and each code is good once: so it is the next one that the app shows. */
function RecoveryDialog(props: { onClose: () => void }): JSX.Element {
  const [code, setCode] = createSignal('');
  const [codes, setCodes] = createSignal<readonly string[]>();
  const text = () => (codes() ?? []).join('\n');
  return (
    <Show
      when={codes()}
      fallback={
        <FormDialog
          title={t('recoveryCodes')}
          send={t('makeRecoveryCodes')}
          isIncomplete={code().trim() === ''}
          onSend={async () => {
            setCodes((await call('/api/auth/2fa/recovery_codes', { code: code().replace(/\s/g, '') })).codes);
          }}
          onClose={() => codes() === undefined && props.onClose()}
        >
          <p class="dialog-words">{t('recoveryNextCode')}</p>
          <CodeField label={t('code')} value={code()} onInput={setCode} />
        </FormDialog>
      }
    >
      <SecretDialog title={t('recoveryCodes')} hint={t('recoveryKeep')} secret={text()} onClose={props.onClose}>
        <button type="button" class="button" onClick={() => saveFile('wharf-recovery-codes.txt', `${text()}\n`)}>
          <Icon of={Download} />
          {t('saveAsFile')}
        </button>
      </SecretDialog>
    </Show>
  );
}
