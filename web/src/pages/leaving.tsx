import { type Accessor, createEffect, createSignal, type JSX, onCleanup, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { guardLeaving } from '../router.ts';

export type Leaving = ReturnType<typeof createLeaving>;

/** Has the viewer asked before what was changed and not saved is left, by the page's own ways or by the browser's. */
export function createLeaving(isChanged: Accessor<boolean>) {
  /** Where the viewer wants to go without what was changed. */
  const [where, setWhere] = createSignal<{ readonly go: () => void }>();
  /** True: the viewer is asked, and goes once that may be. */
  const ask = (go: () => void): boolean => {
    if (isChanged()) setWhere({ go });
    return isChanged();
  };
  const end = guardLeaving(ask);
  createEffect(() => !isChanged() && setWhere());
  const onLeave = (event: BeforeUnloadEvent) => isChanged() && event.preventDefault();
  addEventListener('beforeunload', onLeave);
  onCleanup(() => {
    end();
    removeEventListener('beforeunload', onLeave);
  });
  return { ask, end, where, stay: () => void setWhere() };
}

/** The question itself. @param props `onStay`: the keys go on where they were; `onDiscard`: what was changed may go, and `go` leads there */
export function LeaveQuestion(props: {
  of: Leaving;
  class: string;
  onStay?: () => void;
  onDiscard: (go: () => void) => void;
}): JSX.Element {
  const stay = () => {
    props.of.stay();
    props.onStay?.();
  };
  return (
    <Show when={props.of.where()}>
      {(where) => (
        <div class={props.class} role="alert">
          <p>{t('discardQuestion')}</p>
          <button type="button" class="button" onClick={stay}>
            {t('goOnEditing')}
          </button>
          <button type="button" class="button is-danger" onClick={() => props.onDiscard(where().go)}>
            {t('discard')}
          </button>
        </div>
      )}
    </Show>
  );
}
