import { droppedFiles } from '../uploads/dropped-files.ts';
import { bytesOf } from './actions.ts';
import type { Desk } from './desk.ts';
import { chooseOne } from './move-by-key.ts';
import { joinPath } from './tree-path.ts';

/** Entries of this page, and of no other tab, that are being dragged; what comes from elsewhere are files. */
const OWN = `application/x-wharf-entries-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;

const isFromElsewhere = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
const isOwn = (event: DragEvent) => event.dataTransfer?.types.includes(OWN) === true;

function entryUnder(desk: Desk, event: DragEvent) {
  const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('.cell') : null;
  const index = Number(cell?.dataset['index'] ?? -1);
  return { cell, index, entry: desk.listing.at(index) };
}

/** Events of the list: entries are dragged into a folder of it, files from elsewhere into the folder or one of its folders. */
export function dragEvents(desk: Desk) {
  let marked: HTMLElement | null = null;
  const mark = (element: HTMLElement | null) => {
    marked?.classList.remove('is-target');
    element?.classList.add('is-target');
    marked = element;
  };
  const targetOf = (event: DragEvent): { element: HTMLElement | null; folder: string } | undefined => {
    const { cell, entry } = entryUnder(desk, event);
    const isInto = entry?.is_dir === true && !(isOwn(event) && desk.selection.chosen().has(entry.name));
    if (isInto) return { element: cell, folder: joinPath(desk.folder(), entry.name) };
    if (!isFromElsewhere(event) || !desk.canWrite()) return undefined;
    return { element: event.currentTarget as HTMLElement, folder: desk.folder() };
  };
  return {
    onDragStart(event: DragEvent) {
      const { entry, index } = entryUnder(desk, event);
      if (!entry || !event.dataTransfer) return;
      if (!desk.selection.chosen().has(entry.name)) chooseOne(desk, index);
      event.dataTransfer.setData(OWN, '');
      if (!entry.is_dir && desk.selection.chosen().size === 1) {
        const address = location.origin + bytesOf(desk, entry);
        event.dataTransfer.setData('text/uri-list', address);
        // Chromium stores the file where it is dropped on the desktop; others take the address.
        event.dataTransfer.setData('DownloadURL', `application/octet-stream:${entry.name.replaceAll(':', '_')}:${address}`);
      }
      event.dataTransfer.effectAllowed = 'copyMove';
    },
    onDragOver(event: DragEvent) {
      if (!isOwn(event) && !isFromElsewhere(event)) return;
      const target = targetOf(event);
      mark(target?.element ?? null);
      if (!target) return;
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = isFromElsewhere(event) || event.ctrlKey ? 'copy' : 'move';
    },
    onDragLeave(event: DragEvent) {
      if (!(event.relatedTarget instanceof Node) || !(event.currentTarget as Node).contains(event.relatedTarget)) mark(null);
    },
    async onDrop(event: DragEvent) {
      const target = targetOf(event);
      mark(null);
      if (!target || !event.dataTransfer) return;
      event.preventDefault();
      if (isFromElsewhere(event)) return desk.uploads.add(await droppedFiles(event.dataTransfer, target.folder));
      const verb = event.ctrlKey ? 'copy' : 'move';
      await desk.bring({ verb, folder: desk.folder(), names: [...desk.selection.chosen()] }, target.folder, 'refuse');
    },
  };
}
