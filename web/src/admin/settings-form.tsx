import { createMemo, createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { createLeaving, LeaveQuestion } from '../pages/leaving.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Section } from '../pages/page.tsx';
import { createWork } from '../pages/work.ts';
import { notify } from '../parts/notices.tsx';
import { helpOf, ItemField, labelOf } from './item-field.tsx';
import type { Item } from './item-values.ts';

type Setting = Answer<'/api/admin/setting/list'>[number];

const READ_ONLY = 2;
/** Names that other clients have for a setting that is listed under its own as well. */
const ALIASES: ReadonlySet<string> = new Set(['aria2_uri', 'aria2_secret', 'qbittorrent_url', 'qbittorrent_seedtime']);

const itemOf = ({ key, ...setting }: Setting): Item => ({
  ...{ name: key, type: setting.type, default: setting.value, options: setting.options, help: setting.help },
  required: setting.type === 'select' && setting.value !== '',
});

/** The settings of some groups, and of these those that fit what was searched for. What is changed is saved together. */
export function SettingsForm(props: {
  groups: readonly { readonly group: number; readonly title: string; readonly hint?: string }[];
  search?: string;
}): JSX.Element {
  const [settings, { refetch }] = createResource(() =>
    call('/api/admin/setting/list', { groups: props.groups.map(({ group }) => group).join(',') }),
  );
  const [changed, setChanged] = createSignal<Readonly<Record<string, string>>>({});
  const work = createWork();
  const count = createMemo(() => Object.keys(changed()).length);
  const leaving = createLeaving(() => count() > 0);
  const discard = (go: () => void) => {
    setChanged({});
    go();
  };
  const isShown = (setting: Setting) => {
    const words = (props.search ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const text = `${setting.key} ${labelOf(setting.key)} ${helpOf(itemOf(setting))}`.toLowerCase();
    return !ALIASES.has(setting.key) && words.every((word) => text.includes(word));
  };
  const change = (setting: Setting, value: string) =>
    setChanged(({ [setting.key]: _, ...others }) => (value === setting.value ? others : { ...others, [setting.key]: value }));
  const save = async () => {
    const items = (settings.latest ?? []).flatMap((setting) => {
      const value = changed()[setting.key];
      return value === undefined ? [] : [{ ...setting, value }];
    });
    if (!(await work.run(() => call('/api/admin/setting/save', items)))) return;
    setChanged({});
    notify(t('saved'));
    await refetch();
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Loaded of={settings} onRetry={() => void refetch()}>
        {(all) => (
          <>
            <Show when={!all().some(isShown)}>
              <p class="note" role="status">
                {t('nothingFound')}
              </p>
            </Show>
            <For each={props.groups}>
              {({ group, title, hint }) => {
                const shown = createMemo(() => all().filter((setting) => setting.group === group && isShown(setting)));
                return (
                  <Show when={shown().length > 0}>
                    <Section title={title} {...(hint === undefined ? {} : { hint })}>
                      <div class="stack">
                        <For each={shown()}>
                          {(setting) => (
                            <ItemField
                              item={itemOf(setting)}
                              value={changed()[setting.key] ?? setting.value}
                              isDisabled={setting.flag === READ_ONLY}
                              onInput={(value) => change(setting, String(value))}
                            />
                          )}
                        </For>
                      </div>
                    </Section>
                  </Show>
                );
              }}
            </For>
          </>
        )}
      </Loaded>
      <LeaveQuestion of={leaving} class="save-bar" onDiscard={discard} />
      <Show when={count() > 0 && !leaving.where()}>
        <div class="save-bar" role="status">
          <span>{work.problem() || t('notSaved', { n: count() })}</span>
          <button type="button" class="button" onClick={() => setChanged({})}>
            {t('undo')}
          </button>
          <button type="submit" class="button is-main" disabled={work.isBusy()}>
            {t('save')}
          </button>
        </div>
      </Show>
    </form>
  );
}
