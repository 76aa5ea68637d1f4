import { createMemo, createSignal, For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { FormDialog } from '../pages/dialogs.tsx';
import { SwitchField, TextField } from '../pages/fields.tsx';
import type { Desk } from './desk.ts';
import '../pages/page.css';
import { showName } from '../i18n/show-name.ts';
import { type PlannedName, planNames } from './rename-plan.ts';
import type { Entry } from './sort-entries.ts';

/** Shown of a long plan; the rest is counted. */
const SHOWN = 200;

/** Many names at once, by what they have in common. What becomes of each is seen while it is written. */
export default function RenameDialog(props: { desk: Desk; entries: readonly Entry[]; onClose: () => void }): JSX.Element {
  const [find, setFind] = createSignal('');
  const [replace, setReplace] = createSignal('');
  const [isRegex, setRegex] = createSignal(false);
  const [withEnding, setWithEnding] = createSignal(false);
  const { listing } = props.desk;
  const renamed = new Set(props.entries.map(({ name }) => name));
  const others = createMemo(() => {
    const all = Array.from({ length: listing.total() }, (_, index) => listing.at(index)?.name ?? '');
    return new Set(all.filter((name) => !renamed.has(name)));
  });
  const plan = createMemo((): readonly PlannedName[] | undefined => {
    try {
      return planNames(props.entries, { find: find(), replace: replace(), isRegex: isRegex(), withEnding: withEnding() }, others());
    } catch {
      return undefined;
    }
  });
  const changes = () => (plan() ?? []).filter(({ from, to }) => from !== to);
  const hasProblem = () => changes().some(({ problem }) => problem !== undefined);
  return (
    <FormDialog
      title={t('renameMany')}
      send={t('renameN', { n: changes().length })}
      isIncomplete={changes().length === 0 || hasProblem()}
      isWide
      onSend={() => props.desk.renameMany(changes())}
      onClose={props.onClose}
    >
      <div class="rename-fields">
        <TextField
          label={t('renameFind')}
          hint={t('renameFindHint')}
          problem={plan() ? '' : t('renameBadPattern')}
          value={find()}
          onInput={setFind}
        />
        <TextField label={t('renameTo')} hint={t('renameToHint', { n: '{n}', nnn: '{nnn}' })} value={replace()} onInput={setReplace} />
        <SwitchField label={t('renamePattern')} isOn={isRegex()} onChange={setRegex} />
        <SwitchField label={t('renameEnding')} isOn={withEnding()} onChange={setWithEnding} />
      </div>
      <section class="rename-plan" aria-label={t('renamePreview')} tabindex="0">
        <Show when={changes().length > 0} fallback={<p class="note">{t('renameNone')}</p>}>
          <ul>
            <For each={changes().slice(0, SHOWN)}>
              {({ from, to, problem }) => (
                <li>
                  <span class="rename-from">{showName(from)}</span>
                  <span aria-hidden="true">→</span>
                  <span class="rename-to">{showName(to)}</span>
                  <Show when={problem}>
                    <span class="chip is-bad">{t(problem === 'taken' ? 'renameTaken' : 'renameBad')}</span>
                  </Show>
                </li>
              )}
            </For>
          </ul>
          <Show when={changes().length > SHOWN}>
            <p class="note">{t('andMore', { n: changes().length - SHOWN })}</p>
          </Show>
        </Show>
      </section>
    </FormDialog>
  );
}
