import { type Accessor, type JSX, Match, type Resource, Switch } from 'solid-js';
import { explain } from '../files/explain.ts';
import { t } from '../i18n/i18n.ts';

/** What was asked of the server, once it is there; before that a sign that it comes, or why it does not. */
export function Loaded<Value>(props: {
  of: Resource<Value>;
  onRetry: () => void;
  children: (value: Accessor<NonNullable<Value>>) => JSX.Element;
}): JSX.Element {
  const value = () => (props.of.state === 'ready' || props.of.state === 'refreshing' ? props.of.latest : undefined);
  return (
    <Switch
      fallback={
        <div class="waiting" role="status">
          <span class="spinner" />
          <span class="unseen">{t('loading')}</span>
        </div>
      }
    >
      <Match when={props.of.state === 'errored'}>
        <div class="waiting" role="alert">
          <p class="problem">{explain(props.of.error)}</p>
          <button type="button" class="button" onClick={() => props.onRetry()}>
            {t('tryAgain')}
          </button>
        </div>
      </Match>
      <Match when={value()}>{(found) => props.children(found)}</Match>
    </Switch>
  );
}
