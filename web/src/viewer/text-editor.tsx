import { createSignal, type JSX, onCleanup, Show } from 'solid-js';
import { ApiError } from '../api/call.ts';
import { explain } from '../files/explain.ts';
import { nameOf } from '../files/tree-path.ts';
import { t } from '../i18n/i18n.ts';
import { createLeaving, LeaveQuestion } from '../pages/leaving.tsx';
import { saveFile } from '../pages/save-file.ts';
import { notify } from '../parts/notices.tsx';
import { numberedPath } from '../uploads/numbered-path.ts';
import { encodePath, putText } from '../uploads/send-bytes.ts';
import CodeField from './code-field.tsx';
import type { ReadText } from './read-text.ts';
import './text-editor.css';

/** What the viewer changes of a text. Nobody else's save is lost: the file is replaced only while it is the one that was read. */
export default function TextEditor(props: {
  path: string;
  read: ReadText;
  onSaved: () => void;
  /** Ends the editing; the text is read again. */
  onClose: () => void;
}): JSX.Element {
  const { mark, lineEnd } = props.read.form ?? { mark: '', lineEnd: '\n' };
  const [text, setText] = createSignal(props.read.text.replaceAll('\r\n', '\n'));
  const [saved, setSaved] = createSignal(text());
  const [etag, setEtag] = createSignal(props.read.etag);
  const [isStale, setStale] = createSignal(false);
  const [isBusy, setBusy] = createSignal(false);
  const isChanged = () => text() !== saved();
  const leaving = createLeaving(isChanged);
  // Whoever shows the editor may have none any more when it goes.
  const name = nameOf(props.path);
  /** Whether the viewer said that what was written may go. */
  let isDiscarded = false;
  const discard = (go: () => void) => {
    isDiscarded = true;
    leaving.end();
    go();
  };

  const put = (path: string, content: string, conditions: Readonly<Record<string, string>>) =>
    putText({ 'File-Path': encodePath(path), 'Content-Type': 'text/plain; charset=utf-8', ...conditions }, content);
  /** @param isBeside the path is the first one of those that are tried: what has its name stays */
  const save = async (wanted: string, match: string | undefined, isBeside = false) => {
    if (isBusy()) return;
    const saving = text();
    const content = mark + saving.replaceAll('\n', lineEnd);
    setBusy(true);
    try {
      const { path, kept } = isBeside
        ? await putBeside(wanted, (path) => put(path, content, { Overwrite: 'false' }))
        : { path: wanted, kept: await put(wanted, content, match === undefined ? {} : { 'If-Match': match }) };
      if (path === props.path) setEtag(kept);
      setSaved(saving);
      setStale(false);
      notify(t('savedTo', { path }));
      props.onSaved();
    } catch (error) {
      if (error instanceof ApiError && error.error === 'STALE_VERSION') setStale(true);
      else notify(explain(error), { isBad: true });
    } finally {
      setBusy(false);
    }
  };
  const close = () => leaving.ask(props.onClose) || props.onClose();
  let editor!: HTMLDivElement;
  const goOn = () => editor.querySelector('.code-field')?.shadowRoot?.querySelector<HTMLElement>('.cm-content')?.focus();
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') {
      event.preventDefault();
      if (isChanged()) void save(props.path, etag());
    }
    // The viewer would close, with all that was written.
    if (event.key === 'Escape' && !isInPanel(event)) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  addEventListener('keydown', onKeyDown, { capture: true });
  onCleanup(() => {
    // It goes without having asked: the login ended, somebody else logged in in another tab, or the page failed.
    if (isChanged() && !isDiscarded) {
      const written = mark + text().replaceAll('\n', lineEnd);
      notify(t('unsavedLeft', { name }), { isBad: true, action: { label: t('saveAsFile'), run: () => saveFile(name, written) } });
    }
    removeEventListener('keydown', onKeyDown, { capture: true });
  });

  return (
    <div ref={editor} class="text-editor">
      <div class="text-editor-bar">
        <span class="note" role="status">
          {isChanged() ? t('unsaved') : t('allSaved')}
        </span>
        <button type="button" class="button" onClick={close}>
          {t('endEditing')}
        </button>
        <button type="button" class="button is-main" disabled={!isChanged() || isBusy()} onClick={() => void save(props.path, etag())}>
          {t('save')}
        </button>
      </div>
      <Show when={isStale()}>
        <div class="text-editor-question" role="alert">
          <p>{t('savedByOthers')}</p>
          <button type="button" class="button" onClick={() => void save(numberedPath(props.path), undefined, true)}>
            {t('saveCopy')}
          </button>
          <button type="button" class="button" onClick={() => void save(props.path, undefined)}>
            {t('replaceTheirs')}
          </button>
          <button type="button" class="button" onClick={() => discard(props.onClose)}>
            {t('showTheirs')}
          </button>
        </div>
      </Show>
      <LeaveQuestion of={leaving} class="text-editor-question" onStay={goOn} onDiscard={discard} />
      <CodeField text={text()} name={nameOf(props.path)} label={t('textOf', { name: props.path })} onInput={setText} />
    </div>
  );
}

/** Puts a file under the first name that is free: what others, or the viewer, put beside the file before is theirs. */
async function putBeside(wanted: string, put: (path: string) => Promise<string>): Promise<{ path: string; kept: string }> {
  for (let path = wanted; ; path = numberedPath(path))
    try {
      return { path, kept: await put(path) };
    } catch (error) {
      if (!(error instanceof ApiError && error.error === 'ENTRY_EXISTS')) throw error;
    }
}

/** The search over a text is closed by the same key. */
function isInPanel(event: KeyboardEvent): boolean {
  return event.composedPath().some((each) => each instanceof Element && each.classList.contains('cm-panel'));
}
