import { X } from 'lucide';
import { createSignal, For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { IconButton } from './icon-button.tsx';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
  readonly action: { readonly label: string; readonly run: () => void } | undefined;
}

/** How long a notice stays; one that says what failed stays until it is put away. */
const STAYS_MS = 5_000;
const [notices, setNotices] = createSignal<readonly Notice[]>([]);
let nextId = 1;

const dismiss = (id: number) => setNotices((list) => list.filter((each) => each.id !== id));

/** Says something that happened, beside what the viewer does. */
export function notify(text: string, options: { isBad?: boolean; action?: Notice['action'] } = {}): void {
  const notice = { id: nextId++, text, isBad: options.isBad ?? false, action: options.action };
  setNotices((list) => [...list.slice(-2), notice]);
  if (!notice.isBad) setTimeout(() => dismiss(notice.id), STAYS_MS);
}

/** Puts all away: they are none of the business of whoever comes next. */
export const dismissAll = (): void => void setNotices([]);

export function Notices(): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      <For each={notices()}>
        {(notice) => (
          <div class="notice" classList={{ 'is-bad': notice.isBad }}>
            <span>{notice.text}</span>
            <Show when={notice.action}>
              {(action) => (
                <button
                  type="button"
                  class="button is-quiet"
                  onClick={() => {
                    dismiss(notice.id);
                    action().run();
                  }}
                >
                  {action().label}
                </button>
              )}
            </Show>
            <IconButton icon={X} label={t('close')} onPress={() => dismiss(notice.id)} />
          </div>
        )}
      </For>
    </div>
  );
}
