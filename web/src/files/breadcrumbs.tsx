import { ChevronRight, House, PencilLine } from 'lucide';
import { createSignal, For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { openFolder } from '../router.ts';
import type { Desk } from './desk.ts';
import { addressOf, cleanPath, nameOf, waysOf } from './tree-path.ts';
import './breadcrumbs.css';
import { showName } from '../i18n/show-name.ts';

/** The way to the folder; it can be written as well. */
export function Breadcrumbs(props: { desk: Desk }): JSX.Element {
  const [isWriting, setWriting] = createSignal(false);
  return (
    <nav class="breadcrumbs" aria-label={t('wayHere')}>
      <Show when={!isWriting()} fallback={<PathField path={props.desk.folder()} onEnd={() => setWriting(false)} />}>
        <ol>
          <For each={waysOf(props.desk.folder())}>
            {(path) => (
              <li>
                <Show when={path !== '/'}>
                  <Icon of={ChevronRight} size={14} />
                </Show>
                <a
                  href={addressOf(path)}
                  aria-current={path === props.desk.folder() ? 'page' : undefined}
                  aria-label={path === '/' ? t('allFiles') : undefined}
                  onClick={(event) => {
                    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                    event.preventDefault();
                    openFolder(path);
                  }}
                >
                  <Show when={path === '/'} fallback={showName(nameOf(path))}>
                    <Icon of={House} />
                  </Show>
                </a>
              </li>
            )}
          </For>
        </ol>
        <IconButton icon={PencilLine} label={t('writePath')} class="write-path" onPress={() => setWriting(true)} />
      </Show>
    </nav>
  );
}

function PathField(props: { path: string; onEnd: () => void }): JSX.Element {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.querySelector('input');
        props.onEnd();
        openFolder(cleanPath(field?.value ?? '/'));
      }}
    >
      <input
        class="input"
        aria-label={t('path')}
        spellcheck={false}
        value={props.path}
        ref={(field) =>
          queueMicrotask(() => {
            field.focus();
            field.select();
          })
        }
        onBlur={() => props.onEnd()}
        onKeyDown={(event) => event.key === 'Escape' && props.onEnd()}
      />
    </form>
  );
}
