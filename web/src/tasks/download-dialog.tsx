import { FileUp } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { explain } from '../files/explain.ts';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { Modal } from '../parts/modal.tsx';
import { notify } from '../parts/notices.tsx';
import { askForFiles } from '../uploads/choose-files.ts';
import { addressesOfFile } from './addresses-of-file.ts';
import { OWN_TOOL, showTool } from './show-tool.ts';
import './download-dialog.css';

const POLICIES = [
  { value: 'delete_on_upload_succeed', label: 'policySucceed' },
  { value: 'delete_on_upload_failed', label: 'policyFailed' },
  { value: 'delete_always', label: 'policyAlways' },
  { value: 'delete_never', label: 'policyNever' },
] as const;

/** Files that the server fetches from the network into a folder. */
export default function DownloadDialog(props: { folder: string; onQueued: () => void; onClose: () => void }): JSX.Element {
  const [text, setText] = createSignal('');
  const [problem, setProblem] = createSignal('');
  const [isBusy, setBusy] = createSignal(false);
  const [tools] = createResource(() => call('/api/public/offline_download_tools', {}).catch(() => [OWN_TOOL]));
  const addresses = () => text().split(/\s+/).filter(Boolean);
  const readFiles = (files: FileList) => {
    void Promise.all([...files].map((file) => addressesOfFile(file).catch(() => []))).then((found) => {
      setText([...addresses(), ...found.flat()].join('\n'));
      setProblem(found.some((each) => each.length === 0) ? t('noAddresses') : '');
    });
  };
  const queue = async (form: HTMLFormElement) => {
    const chosen = new FormData(form);
    setBusy(true);
    try {
      await call('/api/fs/add_offline_download', {
        urls: addresses(),
        path: props.folder,
        tool: String(chosen.get('tool')),
        delete_policy: String(chosen.get('policy')),
      });
      notify(t('downloadQueued', { n: addresses().length }));
      props.onQueued();
    } catch (error) {
      setProblem(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal title={t('offlineDownload')} onClose={props.onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (addresses().length === 0) setProblem(t('addressNeeded'));
          else void queue(event.currentTarget);
        }}
      >
        <p class="note">{t('downloadInto', { path: props.folder })}</p>
        <div class="field">
          <label for="download-addresses">{t('addresses')}</label>
          <textarea
            id="download-addresses"
            class="input download-addresses"
            rows="6"
            spellcheck={false}
            placeholder="https://…&#10;magnet:?xt=…"
            value={text()}
            aria-invalid={problem() !== ''}
            aria-describedby="download-problem"
            onInput={(event) => {
              setText(event.currentTarget.value);
              setProblem('');
            }}
            ref={(field) => queueMicrotask(() => field.focus())}
          />
          <p id="download-problem" class="problem" role="alert">
            {problem()}
          </p>
          <button type="button" class="button download-file" onClick={() => askForFiles({}, readFiles)}>
            <Icon of={FileUp} />
            {t('fromTorrent')}
          </button>
        </div>
        <div class="field">
          <label for="download-tool">{t('downloadTool')}</label>
          <select id="download-tool" name="tool" class="input">
            <For each={tools() ?? []}>{(tool) => <option value={tool}>{showTool(tool)}</option>}</For>
          </select>
        </div>
        <div class="field">
          <label for="download-policy">{t('downloadPolicy')}</label>
          <select id="download-policy" name="policy" class="input">
            <For each={POLICIES}>{({ value, label }) => <option value={value}>{t(label)}</option>}</For>
          </select>
        </div>
        <div class="dialog-end">
          <button type="button" class="button" onClick={props.onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button is-main" disabled={isBusy()}>
            <Show when={addresses().length > 1} fallback={t('download')}>
              {t('downloadN', { n: addresses().length })}
            </Show>
          </button>
        </div>
      </form>
    </Modal>
  );
}
