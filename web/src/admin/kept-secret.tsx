import { createSignal, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';

/** A secret that is saved: only whether it stays is asked. */
export function KeptSecret(props: { label: string; onReplace: () => void; children: JSX.Element }): JSX.Element {
  const [isReplaced, setReplaced] = createSignal(false);
  let place!: HTMLDivElement;
  const replace = () => {
    props.onReplace();
    setReplaced(true);
    queueMicrotask(() => place.querySelector<HTMLElement>('input, textarea')?.focus());
  };
  return (
    <div ref={place}>
      <Show
        when={isReplaced()}
        fallback={
          <div class="field">
            <span class="label">{props.label}</span>
            <div class="field-line">
              <span class="note">{t('secretKept')}</span>
              <button type="button" class="button" aria-label={t('replaceNamed', { name: props.label })} onClick={replace}>
                {t('replace')}
              </button>
            </div>
          </div>
        }
      >
        {props.children}
      </Show>
    </div>
  );
}
