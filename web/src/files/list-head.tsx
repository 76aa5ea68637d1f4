import { ArrowDown, ArrowUp } from 'lucide';
import { For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { look } from './look.ts';
import type { Order } from './sort-entries.ts';

const COLUMNS: readonly { by: Order['by']; class: string; label: 'name' | 'size' | 'modified' }[] = [
  { by: 'name', class: 'cell-name', label: 'name' },
  { by: 'size', class: 'cell-size', label: 'size' },
  { by: 'modified', class: 'cell-time', label: 'modified' },
];

/** The order of the list: a press on a column sorts by it, another one turns it round. */
export function ListHead(): JSX.Element {
  const isBy = (by: Order['by']) => look.order().by === by;
  return (
    <div class="list-head" classList={{ 'is-grid': look.showsTiles() }} role="group" aria-label={t('sorting')}>
      <For each={COLUMNS}>
        {({ by, class: column, label }) => (
          <button
            type="button"
            class={column}
            aria-pressed={isBy(by)}
            aria-label={t(isBy(by) ? (look.order().isDescending ? 'sortedDown' : 'sortedUp') : 'sortBy', { what: t(label) })}
            onClick={() => look.setOrder({ by, isDescending: isBy(by) ? !look.order().isDescending : by !== 'name' })}
          >
            {t(label)}
            <Show when={isBy(by)}>
              <Icon of={look.order().isDescending ? ArrowDown : ArrowUp} size={14} />
            </Show>
          </button>
        )}
      </For>
    </div>
  );
}
