import { AnnotationMode, getDocument, PasswordResponses, PDFWorker } from 'pdfjs-dist';
import workerAddress from 'pdfjs-dist/build/pdf.worker.mjs?worker&url';
import { EventBus, LinkTarget, PDFLinkService, PDFViewer } from 'pdfjs-dist/web/pdf_viewer.mjs';
import { createSignal, type JSX, onCleanup, onMount, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import { startWorker } from '../workers.ts';
import 'pdfjs-dist/web/pdf_viewer.css';
import './pdf-view.css';

/** What the reader needs beside its code, under the names that it asks by. */
const DATA: Readonly<Record<string, string>> = import.meta.glob(
  [
    '../../node_modules/pdfjs-dist/cmaps/*.bcmap',
    '../../node_modules/pdfjs-dist/standard_fonts/*.{pfb,ttf}',
    '../../node_modules/pdfjs-dist/wasm/{jbig2,openjpeg,qcms_bg}.wasm',
  ],
  { eager: true, query: '?url', import: 'default' },
);
const ADDRESSES = new Map(Object.entries(DATA).map(([path, address]) => [path.slice(path.lastIndexOf('/') + 1), address]));

/** A page that is made larger than this is less sharp, and takes 64 MiB at most. */
const MAX_PAGE_PIXELS = 2 ** 24;
/** A page as wide as a wide window is too big to be read. */
const MAX_SCALE = 1.25;
const RANGE_BYTES = 256 * 1024;
/** Each takes its place in the page, also one that nobody looks at. A document of 1 KB can say that it has millions. */
const MAX_PAGES = 20_000;

/** Reads what the worker asks for from the files of the build: their names have digests in them. */
class BuiltData {
  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    const address = ADDRESSES.get(filename);
    const answer = address === undefined ? undefined : await fetch(address);
    if (!answer?.ok) throw new Error(`there is no ${filename}`);
    return new Uint8Array(await answer.arrayBuffer());
  }
}

/** A document of pages, of which those are read that are looked at. Its scripts and forms are not run. */
export default function PdfView(props: { address: string; name: string }): JSX.Element {
  const [failure, setFailure] = createSignal<string>();
  const [asks, setAsks] = createSignal<{ isAgain: boolean; give: (password: string) => void }>();
  const [pages, setPages] = createSignal({ at: 0, of: 0 });
  let container!: HTMLDivElement;

  onMount(() => {
    const port = startWorker(workerAddress);
    const eventBus = new EventBus();
    const linkService = new PDFLinkService({ eventBus, externalLinkTarget: LinkTarget.BLANK, externalLinkRel: 'noopener noreferrer' });
    const viewer = new PDFViewer({
      container,
      eventBus,
      linkService,
      annotationMode: AnnotationMode.ENABLE,
      maxCanvasPixels: MAX_PAGE_PIXELS,
    });
    linkService.setViewer(viewer);
    const tell = () => setPages({ at: viewer.currentPageNumber, of: viewer.pagesCount });
    eventBus.on('pagechanging', tell);
    eventBus.on('pagesinit', () => {
      viewer.currentScaleValue = 'page-width';
      if (viewer.currentScale > MAX_SCALE) viewer.currentScale = MAX_SCALE;
      tell();
    });
    const task = getDocument({
      url: props.address,
      worker: PDFWorker.create({ port }),
      rangeChunkSize: RANGE_BYTES,
      disableAutoFetch: true,
      disableStream: true,
      enableXfa: false,
      useWorkerFetch: false,
      BinaryDataFactory: BuiltData,
      cMapUrl: 'cmaps/',
      standardFontDataUrl: 'fonts/',
      wasmUrl: 'wasm/',
    });
    task.onPassword = (give: (password: string) => void, reason: number) =>
      setAsks({ give, isAgain: reason === PasswordResponses.INCORRECT_PASSWORD });
    task.promise.then(
      (document) => {
        setAsks(undefined);
        if (document.numPages > MAX_PAGES) return setFailure(t('tooManyPages', { n: MAX_PAGES }));
        viewer.setDocument(document);
        linkService.setDocument(document);
      },
      (error: unknown) => setFailure(error instanceof Error && error.name === 'InvalidPDFException' ? t('badPdf') : t('errorOffline')),
    );
    const fit = new ResizeObserver(() => viewer.update());
    fit.observe(container);
    onCleanup(() => {
      fit.disconnect();
      viewer.setDocument(null as never);
      void task.destroy().finally(() => port.terminate());
    });
  });

  return (
    <div class="pdf-view">
      <Show when={failure()}>{(text) => <p class="viewer-none">{text()}</p>}</Show>
      <Show when={asks()}>
        {(question) => (
          <form
            class="viewer-none"
            onSubmit={(event) => {
              event.preventDefault();
              question().give(String(new FormData(event.currentTarget).get('password')));
            }}
          >
            <label class="field">
              <span>{question().isAgain ? t('pdfPasswordAgain') : t('pdfPassword')}</span>
              <input type="password" name="password" autocomplete="off" ref={(field) => queueMicrotask(() => field.focus())} />
            </label>
            <button type="submit" class="button is-main">
              {t('open')}
            </button>
          </form>
        )}
      </Show>
      <section aria-label={props.name}>
        <div class="pdf-pages" ref={container} tabindex="0">
          <div class="pdfViewer" />
        </div>
      </section>
      <Show when={pages().of > 0}>
        <p class="pdf-at" role="status">
          {t('pageOf', { at: pages().at, n: pages().of })}
        </p>
      </Show>
    </div>
  );
}
