import { ChevronLeft, ChevronRight, Download, Info, X } from 'lucide';
import { createMemo, createResource, createSignal, type JSX, lazy, Match, onCleanup, Show, Suspense, Switch } from 'solid-js';
import { call } from '../api/call.ts';
import { bytesOf, downloadAll } from '../files/actions.ts';
import type { Desk } from '../files/desk.ts';
import { explain } from '../files/explain.ts';
import { viewOf } from '../files/file-kind.ts';
import { KindIcon } from '../files/kind-icon.tsx';
import { look } from '../files/look.ts';
import type { Entry } from '../files/sort-entries.ts';
import { joinPath } from '../files/tree-path.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { Modal } from '../parts/modal.tsx';
import { Part } from '../parts/part.tsx';
import { closeFile, openFile } from '../router.ts';
import { FilmView } from './film-view.tsx';
import { ImageView } from './image-view.tsx';
import { TextView } from './text-view.tsx';
import './viewer.css';
import { showName } from '../i18n/show-name.ts';

const PdfView = lazy(() => import('./pdf-view.tsx'));
const ByteView = lazy(() => import('./byte-view.tsx'));
const FileDetails = lazy(async () => ({ default: (await import('../files/details.tsx')).FileDetails }));

/** One file, over its folder; the arrows go to the next that can be shown. */
export default function Viewer(props: { desk: Desk; name: string }): JSX.Element {
  const { listing } = props.desk;
  // A file that is not on a page that was read is asked for by itself.
  const [alone] = createResource(
    () => (listing.indexOf(props.name) < 0 && listing.state() === 'ready' ? joinPath(props.desk.folder(), props.name) : undefined),
    (path): Promise<Entry> => call('/api/fs/get', { path, password: '' }),
  );
  // It stays what it was where a new look at the folder does not find it: what is written in a file outlives the file.
  let kept: { readonly name: string; readonly entry: Entry } | undefined;
  const entry = createMemo(() => {
    const found = listing.at(listing.indexOf(props.name)) ?? (alone.error ? undefined : alone.latest);
    if (found) kept = { name: props.name, entry: found };
    return kept?.name === props.name ? kept.entry : undefined;
  });
  const neighbour = (step: 1 | -1) => {
    for (let index = listing.indexOf(props.name) + step; index >= 0 && index < listing.total(); index += step) {
      const each = listing.at(index);
      if (!each) return undefined;
      if (viewOf(each)) return each;
    }
    return undefined;
  };
  const go = (step: 1 | -1) => {
    const next = neighbour(step);
    if (next) openFile(props.desk.folder(), next.name);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Players and texts use the arrows themselves.
    if (event.target instanceof Element && event.target.closest('video, audio, input, textarea, pre, .code-field, .pdf-pages')) return;
    if (event.key === 'ArrowRight') go(1);
    if (event.key === 'ArrowLeft') go(-1);
    // As it was opened.
    if (event.key === ' ' && !(event.target instanceof Element && event.target.closest('button, a, summary, .viewer-page'))) {
      event.preventDefault();
      closeFile();
    }
  };
  addEventListener('keydown', onKeyDown);
  onCleanup(() => removeEventListener('keydown', onKeyDown));

  return (
    <Modal title={showName(props.name)} onClose={closeFile} class="viewer" isTitleUnseen>
      <header class="viewer-bar">
        <IconButton icon={X} label={t('close')} onPress={closeFile} />
        <span class="viewer-name">{showName(props.name)}</span>
        <Show when={entry()}>
          {(there) => (
            <button type="button" class="button is-quiet" onClick={() => downloadAll(props.desk, [there()])}>
              <Icon of={Download} />
              {t('download')}
            </button>
          )}
        </Show>
        <IconButton
          icon={Info}
          label={t('details')}
          class="details-toggle"
          isPressed={look.showsDetails()}
          onPress={() => look.setShowsDetails(!look.showsDetails())}
        />
      </header>
      <div class="viewer-body">
        <div class="viewer-stage">
          <Show when={entry()?.name} keyed fallback={<p class="viewer-none">{alone.error ? explain(alone.error) : t('loading')}</p>}>
            {/* By its name: what is done with a file outlives a new look at its folder. */}
            <Show when={entry()}>{(there) => <Stage desk={props.desk} entry={there()} onStep={go} />}</Show>
          </Show>
          <Show when={neighbour(-1)}>
            <IconButton icon={ChevronLeft} label={t('previous')} class="viewer-step is-back" onPress={() => go(-1)} />
          </Show>
          <Show when={neighbour(1)}>
            <IconButton icon={ChevronRight} label={t('next')} class="viewer-step" onPress={() => go(1)} />
          </Show>
        </div>
        <Show when={look.showsDetails() && entry()}>
          {(there) => (
            <Part>
              <Suspense>
                <FileDetails desk={props.desk} entry={there()} />
              </Suspense>
            </Part>
          )}
        </Show>
      </div>
    </Modal>
  );
}

function Stage(props: { desk: Desk; entry: Entry; onStep: (step: 1 | -1) => void }): JSX.Element {
  const address = () => bytesOf(props.desk, props.entry);
  const view = () => viewOf(props.entry);
  return (
    <Switch fallback={<NoView desk={props.desk} entry={props.entry} />}>
      <Match when={view() === 'image'}>
        <ImageView address={address()} name={props.entry.name} onStep={props.onStep} />
      </Match>
      <Match when={view() === 'video'}>
        <FilmView desk={props.desk} entry={props.entry} />
      </Match>
      <Match when={view() === 'audio'}>
        <div class="viewer-none">
          <KindIcon entry={props.entry} size={72} />
          {/* biome-ignore lint/a11y/useMediaCaption: the file is the viewer's own; there are no captions to it that we know of. */}
          <audio src={address()} controls autoplay aria-label={props.entry.name} />
        </div>
      </Match>
      <Match when={view() === 'pdf'}>
        <Suspense fallback={<p class="viewer-none">{t('loading')}</p>}>
          <PdfView address={bytesOf(props.desk, props.entry, 'p')} name={props.entry.name} />
        </Suspense>
      </Match>
      <Match when={view() === 'text' || view() === 'code' || view() === 'markdown'}>
        <TextView
          address={bytesOf(props.desk, props.entry, 'p')}
          path={joinPath(props.desk.folder(), props.entry.name)}
          form={view() as 'text' | 'code' | 'markdown'}
          canEdit={props.desk.canWrite()}
          onSaved={() => void props.desk.listing.refresh()}
        />
      </Match>
    </Switch>
  );
}

function NoView(props: { desk: Desk; entry: Entry }): JSX.Element {
  const [showsBytes, setShowsBytes] = createSignal(false);
  return (
    <Show
      when={showsBytes()}
      fallback={
        <div class="viewer-none">
          <KindIcon entry={props.entry} size={72} />
          <h2>{showName(props.entry.name)}</h2>
          <p class="note">{showSize(props.entry.size)}</p>
          <p class="note">{t('noView')}</p>
          <button type="button" class="button is-main" onClick={() => downloadAll(props.desk, [props.entry])}>
            <Icon of={Download} />
            {t('download')}
          </button>
          <button type="button" class="button" onClick={() => setShowsBytes(true)}>
            {t('showBytes')}
          </button>
        </div>
      }
    >
      <Suspense>
        <ByteView address={bytesOf(props.desk, props.entry, 'p')} name={props.entry.name} />
      </Suspense>
    </Show>
  );
}
