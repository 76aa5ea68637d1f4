import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { FormDialog } from '../pages/dialogs.tsx';
import { CheckField, SwitchField, TextArea, TextField } from '../pages/fields.tsx';
import { changeRule, withoutShadows } from './change-record.ts';
import { FolderField } from './folder-field.tsx';
import { ALL, ROLE, type Rule, type RuleInput } from './records.ts';
import { RuleEffect } from './rule-effect.tsx';

type Flag = 'p_sub' | 'w_sub' | 'h_sub' | 'r_sub' | 'header_sub' | 'read_users_sub' | 'write_users_sub';

const EMPTY: RuleInput = {
  ...{ id: 0, path: '/', password: '', p_sub: true, write: false, w_sub: true, hide: '', h_sub: true },
  ...{ readme: '', r_sub: false, header: '', header_sub: false },
  ...{ read_users: [], read_users_sub: true, write_users: [], write_users_sub: true },
};

/** A rule, and beside it what it does to whom, before it is saved. */
export function RuleDialog(props: { of: Rule | undefined; onSaved: () => void; onClose: () => void }): JSX.Element {
  const opened = props.of ? withoutShadows(props.of) : EMPTY;
  const [rule, setRule] = createSignal(opened);
  const [looked, setLooked] = createSignal<string>();
  const set = (change: Partial<RuleInput>) => setRule((present) => ({ ...present, ...change }));
  /** Where a statement is made: whether it reaches further down. */
  const below = (flag: Flag, isSaid: boolean) => (
    <Show when={isSaid}>
      <CheckField label={t('andBelow')} isOn={rule()[flag]} onChange={(isOn) => set({ [flag]: isOn })} />
    </Show>
  );
  return (
    <FormDialog
      title={props.of ? t('editNamed', { name: props.of.path }) : t('addRule')}
      send={t(props.of ? 'save' : 'addRule')}
      done={t('saved')}
      isWide
      onSend={async () => {
        if (props.of) await changeRule(opened, rule());
        else await call('/api/admin/meta/create', rule());
        props.onSaved();
      }}
      onClose={props.onClose}
    >
      <FolderField label={t('rulePath')} hint={t('rulePathHint')} value={rule().path} onInput={(path) => set({ path })} />
      <div class="statement">
        <TextField
          label={t('password')}
          hint={t('rulePasswordHint')}
          type="password"
          autocomplete="new-password"
          value={rule().password}
          onInput={(password) => set({ password })}
        />
        {below('p_sub', rule().password !== '')}
      </div>
      <div class="statement">
        <PeopleField
          label={t('ruleReaders')}
          hint={t('ruleReadersHint')}
          value={rule().read_users}
          onChange={(read_users) => set({ read_users })}
        />
        {below('read_users_sub', rule().read_users.length > 0)}
      </div>
      <div class="statement">
        <PeopleField
          label={t('ruleWriters')}
          hint={t('ruleWritersHint')}
          value={rule().write_users}
          onChange={(write_users) => set({ write_users })}
        />
        {below('write_users_sub', rule().write_users.length > 0)}
      </div>
      <div class="statement">
        <SwitchField label={t('ruleWrite')} hint={t('ruleWriteHint')} isOn={rule().write} onChange={(write) => set({ write })} />
        {below('w_sub', rule().write)}
      </div>
      <div class="statement">
        <TextArea label={t('ruleHide')} hint={t('ruleHideHint')} isCode rows={2} value={rule().hide} onInput={(hide) => set({ hide })} />
        {below('h_sub', rule().hide !== '')}
      </div>
      <details class="further">
        <summary>{t('ruleTexts')}</summary>
        <div class="stack">
          <div class="statement">
            <TextArea label={t('header')} hint={t('markdownHint')} value={rule().header} onInput={(header) => set({ header })} />
            {below('header_sub', rule().header !== '')}
          </div>
          <div class="statement">
            <TextArea label={t('readme')} hint={t('markdownHint')} value={rule().readme} onInput={(readme) => set({ readme })} />
            {below('r_sub', rule().readme !== '')}
          </div>
        </div>
      </details>
      <div class="stack">
        <h3 class="effect-title">{t('whatItDoes')}</h3>
        <FolderField label={t('lookAt')} hint={t('lookAtHint')} value={looked() ?? rule().path} onInput={setLooked} />
        <RuleEffect path={looked() ?? rule().path} rule={rule()} />
      </div>
    </FormDialog>
  );
}

/** Some of the people; none chosen means everybody. */
function PeopleField(props: {
  label: string;
  hint: string;
  value: readonly number[];
  onChange: (ids: readonly number[]) => void;
}): JSX.Element {
  const [users] = createResource(() => call('/api/admin/user/list', ALL));
  return (
    <fieldset class="checks is-people">
      <legend>{props.label}</legend>
      <Show when={users.state === 'ready' && users.latest}>
        {(found) => (
          <For each={found().content.filter(({ role }) => role !== ROLE.admin)}>
            {(user) => (
              <CheckField
                label={user.username}
                isOn={props.value.includes(user.id)}
                onChange={(isOn) => props.onChange(isOn ? [...props.value, user.id] : props.value.filter((id) => id !== user.id))}
              />
            )}
          </For>
        )}
      </Show>
      <p class="note">{props.hint}</p>
    </fieldset>
  );
}
