import { createResource, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { renderMarkdown } from '../viewer/render-markdown.ts';
import type { Desk } from './desk.ts';
import './folder-text.css';

/** What a rule says above or below a folder: markdown, or the address of some. */
export default function FolderText(props: { desk: Desk; text: string; isHeader?: boolean }): JSX.Element {
  const [shown] = createResource(
    () => props.text,
    (text) => renderMarkdown(text, props.desk.folder(), true),
  );
  return (
    <section
      class="folder-text prose"
      classList={{ 'is-header': props.isHeader ?? false }}
      aria-label={t(props.isHeader ? 'header' : 'readme')}
    >
      <Show when={shown()}>{(nodes) => nodes()}</Show>
    </section>
  );
}
