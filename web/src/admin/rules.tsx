import { Pencil, Plus, ShieldCheck, Trash2 } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { ConfirmDialog } from '../pages/dialogs.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip, Nothing, Row, Rows } from '../pages/rows.tsx';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { FolderField } from './folder-field.tsx';
import { ALL, type Rule } from './records.ts';
import { RuleDialog } from './rule-dialog.tsx';
import { RuleEffect } from './rule-effect.tsx';

/** Who may see and change what, path by path, and what comes of it for whom. */
export function Rules(): JSX.Element {
  const [rules, { refetch }] = createResource(() => call('/api/admin/meta/list', ALL));
  const [edited, setEdited] = createSignal<Rule | 'new'>();
  const [removed, setRemoved] = createSignal<Rule>();
  const [path, setPath] = createSignal('/');
  const [changes, setChanges] = createSignal(0);
  const renew = () => {
    setChanges((count) => count + 1);
    void refetch();
  };
  return (
    <Page
      title={t('rules')}
      hint={t('rulesHint')}
      actions={
        <button type="button" class="button is-main" onClick={() => setEdited('new')}>
          <Icon of={Plus} />
          {t('addRule')}
        </button>
      }
    >
      <Section title={t('rulesAll')}>
        <Loaded of={rules} onRetry={() => void refetch()}>
          {(found) => (
            <Show when={found().content.length > 0} fallback={<Nothing icon={ShieldCheck} title={t('noRules')} hint={t('noRulesHint')} />}>
              <Rows label={t('rules')}>
                <For each={found().content}>
                  {(rule) => (
                    <Row icon={ShieldCheck} title={rule.path} note={<Statements of={rule} />}>
                      <IconButton icon={Pencil} label={t('editThis', { name: rule.path })} onPress={() => setEdited(rule)} />
                      <IconButton icon={Trash2} label={t('removeThis', { name: rule.path })} onPress={() => setRemoved(rule)} />
                    </Row>
                  )}
                </For>
              </Rows>
            </Show>
          )}
        </Loaded>
      </Section>
      <Section title={t('whoMayWhat')} hint={t('whoMayWhatHint')}>
        <FolderField label={t('path')} hint={t('whoPathHint')} value={path()} onInput={setPath} />
        <RuleEffect path={path()} changes={changes()} />
      </Section>
      <Show when={edited()} keyed>
        {(rule) => <RuleDialog of={rule === 'new' ? undefined : rule} onSaved={renew} onClose={() => setEdited()} />}
      </Show>
      <Show when={removed()}>
        {(rule) => (
          <ConfirmDialog
            title={t('removeRule', { path: rule().path })}
            text={t('removeRuleText')}
            confirm={t('remove')}
            done={t('ruleRemoved')}
            onConfirm={async () => {
              await call('/api/admin/meta/delete', { id: rule().id });
              renew();
            }}
            onClose={() => setRemoved()}
          />
        )}
      </Show>
    </Page>
  );
}

/** What a rule says, a word for each statement. */
function Statements(props: { of: Rule }): JSX.Element {
  const words = () =>
    [
      [props.of.password !== '', 'saysPassword'],
      [props.of.hide !== '', 'saysHide'],
      [props.of.read_users.length > 0, 'saysReaders'],
      [props.of.write_users.length > 0, 'saysWriters'],
      [props.of.write, 'saysWrite'],
      [props.of.header !== '' || props.of.readme !== '', 'saysText'],
    ] as const;
  return (
    <span class="chips">
      <For each={words().filter(([isSaid]) => isSaid)} fallback={t('saysNothing')}>
        {([, label]) => <Chip>{t(label)}</Chip>}
      </For>
      <Show when={props.of.shadows.length > 0}>
        <span>{t('insteadOf', { paths: props.of.shadows.join(', ') })}</span>
      </Show>
    </span>
  );
}
