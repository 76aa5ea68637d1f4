import { Check, Minus } from 'lucide';
import { createResource, For, type JSX } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { Loaded } from '../pages/loaded.tsx';
import { settled } from '../pages/settled.ts';
import { Icon } from '../parts/icon.tsx';
import type { RuleInput } from './records.ts';

type Access = Answer<'/api/admin/meta/explain'>['content'][number];
type Decision = Access['decisions'][number];

const ACTIONS = ['see', 'make', 'rename', 'move', 'copy', 'remove'] as const;
/** What everybody may do at a path, and because of what: by the rules as they are, or with one that is not saved yet. */
export function RuleEffect(props: { path: string; rule?: RuleInput; changes?: number }): JSX.Element {
  const asked = () => ({ path: props.path, rule: props.rule, changes: props.changes });
  const [access, { refetch }] = createResource(settled(asked), ({ path, rule }) =>
    call('/api/admin/meta/explain', rule ? { path, rule } : { path }),
  );
  return (
    <Loaded of={access} onRetry={() => void refetch()}>
      {(found) => (
        // It scrolls by itself where it is too wide; on a phone each person has lines of their own.
        <section class="effect" aria-label={t('whoMayWhat')} tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">{t('person')}</th>
                <For each={ACTIONS}>{(action) => <th scope="col">{t(`may_${action}`)}</th>}</For>
              </tr>
            </thead>
            <tbody>
              <For each={found().content.filter(({ disabled }) => !disabled)}>{(person) => <Person of={person} />}</For>
            </tbody>
          </table>
        </section>
      )}
    </Loaded>
  );
}

function Person(props: { of: Access }): JSX.Element {
  const decision = (action: string) => props.of.decisions.find((each) => each.action === action);
  return (
    <tr>
      <th scope="row">{props.of.username}</th>
      <For each={ACTIONS}>{(action) => <Cell what={t(`may_${action}`)} of={decision(action)} />}</For>
    </tr>
  );
}

function Cell(props: { what: string; of: Decision | undefined }): JSX.Element {
  return (
    <td classList={{ 'is-allowed': props.of?.allowed ?? false }}>
      <Icon of={props.of?.allowed ? Check : Minus} />
      <span class="effect-what" aria-hidden="true">
        {props.what}
      </span>
      <span class="unseen">{t(props.of?.allowed ? 'yes' : 'no')}: </span>
      <span class="effect-why">{reasonOf(props.of)}</span>
    </td>
  );
}

/** Why, in the viewer's words. */
function reasonOf(decision: Decision | undefined): string {
  return decision ? t(`because_${decision.reason}` as 'because_free', { path: decision.rule_path }) : '';
}
