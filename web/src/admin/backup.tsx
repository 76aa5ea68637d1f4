import { Download, FileUp } from 'lucide';
import { createMemo, createSignal, For, type JSX, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { TextField } from '../pages/fields.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip } from '../pages/rows.tsx';
import { saveFile } from '../pages/save-file.ts';
import { createWork } from '../pages/work.ts';
import { Icon } from '../parts/icon.tsx';
import { recordsToTell } from './records-to-tell.ts';

type Report = Answer<'/api/admin/config/import'>;

const KINDS = { created: 'good', updated: 'warn', unchanged: 'plain', skipped: 'plain', failed: 'bad' } as const;

/** The configuration as a file, to keep or to bring to another server. Files are not in it. */
export function Backup(): JSX.Element {
  return (
    <Page title={t('backup')} hint={t('backupHint')}>
      <Export />
      <Import />
    </Page>
  );
}

function Export(): JSX.Element {
  const [passphrase, setPassphrase] = createSignal('');
  const work = createWork();
  const save = () =>
    work.run(async () => {
      const document = await call('/api/admin/config/export', passphrase() === '' ? {} : { passphrase: passphrase() });
      const day = new Date().toISOString().slice(0, 10);
      saveFile(`wharf-${day}.json`, `${JSON.stringify(document, null, 2)}\n`, 'application/json');
    }, t('exported'));
  return (
    <Section title={t('export')} hint={t('exportHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label={t('passphrase')}
          hint={t('exportPassphraseHint')}
          type="password"
          autocomplete="new-password"
          value={passphrase()}
          onInput={setPassphrase}
          problem={work.problem()}
        />
        <div class="form-end">
          <button type="submit" class="button is-main" disabled={work.isBusy()}>
            <Icon of={Download} />
            {t('export')}
          </button>
        </div>
      </form>
    </Section>
  );
}

/** First only looked at: what would come of it is shown before anything is written. */
function Import(): JSX.Element {
  const [file, setFile] = createSignal<File>();
  const [passphrase, setPassphrase] = createSignal('');
  const [report, setReport] = createSignal<Report>();
  const work = createWork();
  const run = (isTrial: boolean) =>
    work.run(async () => {
      const document = await file()?.text();
      if (document === undefined) return;
      setReport(await call('/api/admin/config/import', { document, passphrase: passphrase(), dry_run: isTrial }));
    });
  const changes = () => report()?.records.filter(({ outcome }) => outcome !== 'unchanged').length ?? 0;
  return (
    <Section title={t('import')} hint={t('importHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(true);
        }}
      >
        <div class="field">
          <label for="import-file">{t('importFile')}</label>
          <input
            id="import-file"
            class="input file-input"
            type="file"
            accept=".json,application/json"
            required
            onChange={(event) => {
              setFile(event.currentTarget.files?.[0]);
              setReport();
            }}
          />
        </div>
        <TextField
          label={t('passphrase')}
          hint={t('importPassphraseHint')}
          type="password"
          autocomplete="off"
          value={passphrase()}
          onInput={setPassphrase}
          problem={work.problem()}
        />
        <div class="form-end">
          <button type="submit" class="button" disabled={work.isBusy() || file() === undefined}>
            <Icon of={FileUp} />
            {t('importLook')}
          </button>
        </div>
      </form>
      <Show when={report()}>
        {(found) => (
          <div class="stack" role="status">
            <p>{t(found().is_written ? 'importDone' : 'importWould', { n: changes() })}</p>
            <Records of={found().records} />
            <Show when={!found().is_written && changes() > 0}>
              <div class="form-end">
                <button type="button" class="button is-main" disabled={work.isBusy()} onClick={() => void run(false)}>
                  {t('import')}
                </button>
              </div>
            </Show>
          </div>
        )}
      </Show>
    </Section>
  );
}

function Records(props: { of: Report['records'] }): JSX.Element {
  const told = createMemo(() => recordsToTell(props.of));
  return (
    <>
      <ul class="records">
        <For each={told().shown}>
          {({ kind, name, outcome, note }) => (
            <li>
              <Chip kind={KINDS[outcome as keyof typeof KINDS] ?? 'plain'}>{t(`import_${outcome}` as 'import_created') || outcome}</Chip>
              <span>
                {t(`record_${kind}` as 'record_user') || kind} <strong>{name}</strong>
                <Show when={note}>
                  <span class="note"> {note}</span>
                </Show>
              </span>
            </li>
          )}
        </For>
      </ul>
      <Show when={told().others > 0}>
        <p class="note">{t('andMore', { n: told().others })}</p>
      </Show>
    </>
  );
}
