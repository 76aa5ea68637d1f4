import { ExternalLink, Link, X } from 'lucide';
import { createMemo, createResource, For, type JSX, lazy, Show, Suspense } from 'solid-js';
import { call } from '../api/call.ts';
import { showSize, showTime, t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { isAdmin } from '../session.ts';
import { type PhotoFacts, readPhotoFacts } from '../viewer/photo-facts.ts';
import { bytesOf, copyLink } from './actions.ts';
import type { Desk } from './desk.ts';
import { viewOf } from './file-kind.ts';
import { KindIcon } from './kind-icon.tsx';
import { look } from './look.ts';
import { SmallPicture } from './small-picture.tsx';
import type { Entry } from './sort-entries.ts';
import { addressOf, joinPath, nameOf } from './tree-path.ts';
import './details.css';
import { showName } from '../i18n/show-name.ts';

const WhoSees = lazy(() => import('./who-sees.tsx'));

/** What is known of what is chosen, or of the folder. */
export default function Details(props: { desk: Desk }): JSX.Element {
  const chosen = createMemo(() => props.desk.chosenEntries());
  const only = () => (chosen().length === 1 ? chosen()[0] : undefined);
  return (
    <Pane>
      <Show when={only()} fallback={<Summary desk={props.desk} chosen={chosen()} />}>
        {(entry) => (
          <>
            <figure class="details-picture">
              <SmallPicture desk={props.desk} entry={entry()} iconSize={72} />
              <figcaption>{showName(entry().name)}</figcaption>
            </figure>
            <Facts desk={props.desk} entry={entry()} />
          </>
        )}
      </Show>
    </Pane>
  );
}

/** What is known of a file that is looked at. */
export function FileDetails(props: { desk: Desk; entry: Entry }): JSX.Element {
  return (
    <Pane>
      <Facts desk={props.desk} entry={props.entry} />
    </Pane>
  );
}

function Pane(props: { children: JSX.Element }): JSX.Element {
  let pane!: HTMLElement;
  // Keys go back to what opens it again: in the viewer its own button, else the bar's.
  const close = () => {
    const toggle = (pane.closest('[role="dialog"]') ?? document).querySelector<HTMLElement>('.details-toggle');
    look.setShowsDetails(false);
    toggle?.focus();
  };
  return (
    <aside ref={pane} class="details" aria-label={t('details')}>
      <div class="details-head">
        <h2>{t('details')}</h2>
        <IconButton icon={X} label={t('closeDetails')} onPress={close} />
      </div>
      {props.children}
    </aside>
  );
}

function Facts(props: { desk: Desk; entry: Entry }): JSX.Element {
  const path = () => joinPath(props.desk.folder(), props.entry.name);
  const [more] = createResource(
    () => path(),
    (asked) => call('/api/fs/get', { path: asked, password: '' }).catch(() => undefined),
  );
  const [photo] = createResource(
    () => (viewOf(props.entry) === 'image' ? bytesOf(props.desk, props.entry, 'p') : undefined),
    (address) => readPhotoFacts(address),
  );
  const hashes = () => more.latest?.hash_info ?? props.entry.hash_info ?? {};
  const storage = () => more.latest?.provider ?? '';
  const facts = (): readonly (readonly [string, string])[] => [
    ...(props.entry.is_dir ? [] : [[t('size'), `${showSize(props.entry.size)} (${t('bytes', { n: props.entry.size })})`] as const]),
    ...Object.entries(photo.latest ?? {}).map(([key, value]) => [t(key as keyof PhotoFacts), value] as const),
    [t('modified'), showTime(props.entry.modified, 'full')],
    ...(props.entry.created === props.entry.modified ? [] : [[t('created'), showTime(props.entry.created, 'full')] as const]),
    [t('folder'), showName(props.desk.folder())],
    ...(storage() === '' || storage() === 'unknown' ? [] : [[t('storage'), storage()] as const]),
    ...Object.entries(hashes()).map(([name, value]) => [name.toUpperCase(), value] as const),
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
      <div>
        <dt>{t('link')}</dt>
        <dd class="details-links">
          <button type="button" class="button" onClick={() => void copyLink(props.desk, [props.entry])}>
            <Icon of={Link} />
            {t('copyLink')}
          </button>
          <a class="button" href={addressOf(path())} target="_blank" rel="noopener">
            <Icon of={ExternalLink} />
            {t('newTab')}
          </a>
        </dd>
      </div>
      <Show when={isAdmin()}>
        <div>
          <dt>{t('whoSees')}</dt>
          <dd>
            <Suspense>
              <WhoSees path={path()} />
            </Suspense>
          </dd>
        </div>
      </Show>
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
          <p>{showName(nameOf(props.desk.folder())) || t('allFiles')}</p>
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
