import { createSignal, onCleanup } from 'solid-js';
import { isGuest, settings } from '../session.ts';
import { createSendFile, endUpload } from './send-file.ts';
import { holdUpload, unfinishedUploads } from './unfinished-uploads.ts';
import { createUploadQueue, type Upload, type UploadQueue } from './upload-queue.ts';

/** Progress comes many times a second, of each file; the page shows it so often, in milliseconds. */
const LOOK_MS = 100;

/** The uploads of the page. What reads them by `look` is shown anew when something of them changed. */
export type PageUploads = UploadQueue & { readonly look: () => readonly Upload[] };

/** @param onArrival told the path of each file that is there. */
export function createPageUploads(onArrival: (path: string) => void): PageUploads {
  const [changes, setChanges] = createSignal(0);
  let isDue = false;
  const onChange = () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      setChanges((count) => count + 1);
    }, LOOK_MS);
  };
  const queue = createUploadQueue({
    send: createSendFile(() => settings.latest?.['multipart_enabled'] !== 'false'),
    end: (session) => void endUpload(session),
    hold: holdUpload,
    onArrival,
    onChange,
  });
  if (!isGuest())
    unfinishedUploads()
      .then(queue.addUnfinished)
      // What cannot be listed now is there when the page is opened again.
      .catch(() => undefined);
  const onLeave = (event: BeforeUnloadEvent) => {
    if (queue.uploads().some(({ state }) => state === 'waiting' || state === 'sending')) event.preventDefault();
  };
  addEventListener('beforeunload', onLeave);
  let isOver = false;
  onCleanup(() => {
    isOver = true;
    removeEventListener('beforeunload', onLeave);
    queue.pauseAll();
  });
  return {
    ...queue,
    // A folder that is dropped is read for a while; by then the page may be somebody else's.
    add(files) {
      if (!isOver) queue.add(files);
    },
    look() {
      changes();
      return queue.uploads();
    },
  };
}
