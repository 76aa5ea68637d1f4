import { Eye, EyeOff } from 'lucide';
import { createResource, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { addPageMessages, t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { explain } from './explain.ts';

// The reasons are words of the administration.
await addPageMessages();

/** Who sees a path and who does not, and because of which rule. Only the admin may ask. */
export default function WhoSees(props: { path: string }): JSX.Element {
  const [access] = createResource(
    () => props.path,
    (path) => call('/api/admin/meta/explain', { path }),
  );
  const people = () =>
    (access.latest?.content ?? [])
      .filter(({ disabled }) => !disabled)
      .flatMap(({ username, decisions }) => decisions.filter(({ action }) => action === 'see').map((decision) => ({ username, decision })));
  return (
    <Show when={!access.error} fallback={<span class="problem">{explain(access.error)}</span>}>
      <ul class="who-sees">
        <For each={people()}>
          {({ username, decision }) => (
            <li classList={{ 'is-shut': !decision.allowed }}>
              <span class="icon-of">
                <Icon of={decision.allowed ? Eye : EyeOff} size={16} />
              </span>
              <span>
                {username}
                <span class="unseen">: {t(decision.allowed ? 'yes' : 'no')}</span>
              </span>
              <span class="note">{t(`because_${decision.reason}` as 'because_free', { path: decision.rule_path })}</span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
