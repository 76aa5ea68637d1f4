import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { TextField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip } from '../pages/rows.tsx';
import { createWork } from '../pages/work.ts';

type Value = (key: string) => string;

interface Tool {
  readonly name: string;
  readonly label: string;
  readonly address: string;
  /** Besides the address. */
  readonly second: string;
  /** Stores what works, and answers the tool's version. */
  save(address: string, second: string): Promise<string>;
}

const TOOLS: readonly Tool[] = [
  {
    ...{ name: 'aria2', label: 'aria2', address: 'rpcdl_uri', second: 'rpcdl_secret' },
    save: (uri, secret) => call('/api/admin/setting/set_aria2', { uri, secret }),
  },
  {
    ...{ name: 'qBittorrent', label: 'qBittorrent', address: 'torrent_url', second: 'torrent_seedtime' },
    save: (url, seedtime) => call('/api/admin/setting/set_qbit', { url, seedtime }),
  },
  {
    ...{ name: 'Transmission', label: 'Transmission', address: 'transmission_uri', second: 'transmission_seedtime' },
    save: (uri, seedtime) => call('/api/admin/setting/set_transmission', { uri, seedtime }),
  },
];

/** The group of settings that the tools are in. */
const GROUP = '5';

/** What fetches files from the network, and whether it answers. */
export function DownloadTools(): JSX.Element {
  const [state, { refetch }] = createResource(async () => {
    const [settings, offered] = await Promise.all([
      call('/api/admin/setting/list', { group: GROUP }),
      call('/api/public/offline_download_tools', {}),
    ]);
    return { settings, offered };
  });
  return (
    <Page title={t('downloadTools')} hint={t('toolsHint')}>
      <Loaded of={state} onRetry={() => void refetch()}>
        {(found) => {
          const value: Value = (key) => found().settings.find((setting) => setting.key === key)?.value ?? '';
          return (
            <>
              <Section title={t('toolOwn')} hint={t('toolOwnHint')} actions={<Chip kind="good">{t('isOn')}</Chip>}>
                <p class="note">{t('toolOwnAlways')}</p>
              </Section>
              <For each={TOOLS}>
                {(tool) => (
                  <ToolForm of={tool} value={value} isOffered={found().offered.includes(tool.name)} onSaved={() => void refetch()} />
                )}
              </For>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function ToolForm(props: { of: Tool; value: Value; isOffered: boolean; onSaved: () => void }): JSX.Element {
  const [address, setAddress] = createSignal(props.value(props.of.address));
  const [second, setSecond] = createSignal(props.value(props.of.second));
  const [version, setVersion] = createSignal('');
  const work = createWork();
  const isSecret = () => props.of.second.endsWith('secret');
  const save = async () => {
    setVersion('');
    if (!(await work.run(async () => setVersion(await props.of.save(address().trim(), second().trim()))))) return;
    props.onSaved();
  };
  return (
    <Section
      title={props.of.label}
      actions={<Chip kind={props.isOffered ? 'good' : 'plain'}>{t(props.isOffered ? 'isOn' : 'toolOff')}</Chip>}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="pair">
          <TextField label={t('toolAddress')} hint={t('toolAddressHint')} isRequired value={address()} onInput={setAddress} />
          <TextField
            label={t(isSecret() ? 'toolSecret' : 'toolSeedTime')}
            hint={t(isSecret() ? 'toolSecretHint' : 'toolSeedHint')}
            type={isSecret() ? 'password' : 'number'}
            value={second()}
            onInput={setSecond}
          />
        </div>
        <div role="status">
          <Show when={work.problem()}>
            <p class="problem">{work.problem()}</p>
          </Show>
          <Show when={version()}>
            <p>{t('toolAnswers', { name: props.of.label, version: version() })}</p>
          </Show>
        </div>
        <div class="form-end">
          <button type="submit" class="button" disabled={work.isBusy()}>
            {t(work.isBusy() ? 'trying' : 'tryAndSave')}
          </button>
        </div>
      </form>
    </Section>
  );
}
