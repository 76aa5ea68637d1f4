import { PencilLine } from 'lucide';
import { createResource, createSignal, type JSX, lazy, Match, Show, Suspense, Switch } from 'solid-js';
import { explain } from '../files/explain.ts';
import { nameOf, parentOf } from '../files/tree-path.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { breakable } from './long-words.ts';
import { MAX_BYTES, type ReadText, readText } from './read-text.ts';
import { renderMarkdown } from './render-markdown.ts';

const TextEditor = lazy(() => import('./text-editor.tsx'));
const CodeField = lazy(() => import('./code-field.tsx'));

/** A text as it is, or as markdown means it; it may be edited where it can be written back as it was. */
export function TextView(props: {
  address: string;
  path: string;
  form: 'text' | 'code' | 'markdown';
  canEdit: boolean;
  onSaved: () => void;
}): JSX.Element {
  const [read, { refetch }] = createResource(() => props.address, readText);
  /** What is edited: that is as it was read, whatever comes of a later look at the file. */
  const [editing, setEditing] = createSignal<ReadText>();
  const isMarkdown = () => props.form === 'markdown';
  const [rendered] = createResource(
    () => (isMarkdown() && !read.error ? read()?.text : undefined),
    (text) => renderMarkdown(text, parentOf(props.path)),
  );
  const canEdit = () => props.canEdit && read()?.isWhole === true && read()?.form !== undefined && read()?.etag !== '';
  const end = () => {
    setEditing();
    void refetch();
  };
  return (
    <Switch fallback={<p class="viewer-none">{t('loading')}</p>}>
      <Match when={editing()}>
        {(there) => (
          <Suspense>
            <TextEditor path={props.path} read={there()} onSaved={props.onSaved} onClose={end} />
          </Suspense>
        )}
      </Match>
      <Match when={read.error}>
        <p class="viewer-none">{explain(read.error)}</p>
      </Match>
      <Match when={read.latest && !(isMarkdown() && !rendered())}>
        <div class="viewer-text">
          <Show when={canEdit()}>
            <button type="button" class="button viewer-edit" onClick={() => setEditing(read())}>
              <Icon of={PencilLine} />
              {t('edit')}
            </button>
          </Show>
          <Show
            when={isMarkdown() && rendered()}
            fallback={
              <div class="viewer-page" classList={{ 'is-code': props.form === 'code' }}>
                <Show when={read.latest?.isWhole === false}>
                  <p class="note">{t('onlyBeginning', { size: showSize(MAX_BYTES) })}</p>
                </Show>
                <Show
                  when={props.form === 'code' && read.latest}
                  keyed
                  fallback={<pre tabindex="0">{breakable(read.latest?.text ?? '')}</pre>}
                >
                  {(there) => <CodeField text={there.text} name={nameOf(props.path)} label={t('textOf', { name: props.path })} />}
                </Show>
              </div>
            }
          >
            <article class="viewer-page prose" tabindex="0">
              {rendered()}
            </article>
          </Show>
        </div>
      </Match>
    </Switch>
  );
}
