import { createResource, type JSX, Match, Show, Switch } from 'solid-js';
import { showSize, t } from '../i18n/i18n.ts';
import { decodeText } from './decode-text.ts';
import { renderMarkdown } from './render-markdown.ts';

/** More of a text is for a program that does not hold it at once. */
const MAX_BYTES = 2_000_000;

async function readText(address: string): Promise<{ text: string; isWhole: boolean }> {
  const answer = await fetch(address, { headers: { Range: `bytes=0-${MAX_BYTES - 1}` } });
  // Of an empty file no byte can be asked for.
  if (answer.status === 416) return { text: '', isWhole: true };
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const whole = Number(/\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '')?.[1] ?? 0);
  return { text: decodeText(new Uint8Array(await answer.arrayBuffer())), isWhole: whole <= MAX_BYTES };
}

/** A text as it is, or as markdown means it. */
export function TextView(props: { address: string; name: string; isMarkdown: boolean }): JSX.Element {
  const [read] = createResource(() => props.address, readText);
  const [rendered] = createResource(
    () => (props.isMarkdown && !read.error ? read()?.text : undefined),
    (text) => renderMarkdown(text),
  );
  return (
    <Switch fallback={<p class="viewer-none">{t('loading')}</p>}>
      <Match when={read.error}>
        <p class="viewer-none">{t('errorOffline')}</p>
      </Match>
      <Match when={props.isMarkdown && rendered()}>
        <article class="viewer-page prose" tabindex="0">
          {rendered()?.cloneNode(true)}
        </article>
      </Match>
      <Match when={!props.isMarkdown && read()}>
        {(there) => (
          <div class="viewer-page">
            <Show when={!there().isWhole}>
              <p class="note">{t('onlyBeginning', { size: showSize(MAX_BYTES) })}</p>
            </Show>
            <pre tabindex="0">{there().text}</pre>
          </div>
        )}
      </Match>
    </Switch>
  );
}
