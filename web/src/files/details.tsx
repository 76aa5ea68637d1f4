import { X } from 'lucide';
import { createMemo, createResource, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { showSize, showTime, t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';
import type { Desk } from './desk.ts';
import { KindIcon } from './kind-icon.tsx';
import { look } from './look.ts';
import { pictureOf } from './picture-of.ts';
import type { Entry } from './sort-entries.ts';
import { joinPath, nameOf } from './tree-path.ts';
import './details.css';

/** What is known of what is chosen, or of the folder. */
export default function Details(props: { desk: Desk }): JSX.Element {
  const chosen = createMemo(() => props.desk.chosenEntries());
  const only = () => (chosen().length === 1 ? chosen()[0] : undefined);
  const [more] = createResource(
    () => only() && { path: joinPath(props.desk.folder(), only()?.name ?? '') },
    (input) => call('/api/fs/get', { ...input, password: '' }).catch(() => undefined),
  );
  return (
    <aside class="details" aria-label={t('details')}>
      <div class="details-head">
        <h2>{t('details')}</h2>
        <IconButton icon={X} label={t('close')} onPress={() => look.setShowsDetails(false)} />
      </div>
      <Show when={only()} fallback={<Summary desk={props.desk} chosen={chosen()} />}>
        {(entry) => (
          <>
            <figure class="details-picture">
              <Show when={pictureOf(props.desk, entry())} fallback={<KindIcon entry={entry()} size={72} />}>
                {(address) => <img src={address()} alt="" />}
              </Show>
              <figcaption>{entry().name}</figcaption>
            </figure>
            <Facts
              entry={entry()}
              folder={props.desk.folder()}
              hashes={more.latest?.hash_info ?? entry().hash_info ?? {}}
              storage={more.latest?.provider ?? ''}
            />
          </>
        )}
      </Show>
    </aside>
  );
}

function Facts(props: { entry: Entry; folder: string; hashes: Readonly<Record<string, string>>; storage: string }): JSX.Element {
  const facts = (): readonly (readonly [string, string])[] => [
    ...(props.entry.is_dir ? [] : [[t('size'), `${showSize(props.entry.size)} (${t('bytes', { n: props.entry.size })})`] as const]),
    [t('modified'), showTime(props.entry.modified, 'full')],
    ...(props.entry.created === props.entry.modified ? [] : [[t('created'), showTime(props.entry.created, 'full')] as const]),
    [t('folder'), props.folder],
    ...(props.storage === '' || props.storage === 'unknown' ? [] : [[t('storage'), props.storage] as const]),
    ...Object.entries(props.hashes).map(([name, value]) => [name.toUpperCase(), value] as const),
  ];
  return (
    <dl class="facts">
      <For each={facts()}>
        {([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )}
      </For>
    </dl>
  );
}

function Summary(props: { desk: Desk; chosen: readonly Entry[] }): JSX.Element {
  const bytes = () => props.chosen.reduce((sum, entry) => sum + (entry.is_dir ? 0 : entry.size), 0);
  return (
    <Show
      when={props.chosen.length > 1}
      fallback={
        <div class="details-summary">
          <KindIcon entry={{ name: '', is_dir: true }} size={72} />
          <p>{nameOf(props.desk.folder()) || t('allFiles')}</p>
          <p class="note">{t('items', { n: props.desk.listing.total() })}</p>
        </div>
      }
    >
      <div class="details-summary">
        <p>{t('chosen', { n: props.chosen.length })}</p>
        <p class="note">{showSize(bytes())}</p>
      </div>
    </Show>
  );
}
