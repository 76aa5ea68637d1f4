import type { Desk } from '../files/desk.ts';
import { chosenFiles } from './dropped-files.ts';

/** Asks the browser for files, or for a folder with all that is in it, and uploads them to where the viewer is. */
export function chooseFiles(desk: Desk, isFolder: boolean): void {
  const folder = desk.folder();
  askForFiles({ isFolder }, (files) => desk.uploads.add(chosenFiles(files, folder)));
}

/** Opens the browser's dialog for files. @param onChosen not called where the viewer changed their mind */
export function askForFiles({ isFolder = false }: { isFolder?: boolean }, onChosen: (files: FileList) => void): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = true;
  input.webkitdirectory = isFolder;
  // Some browsers forget a field that is nowhere in the page while its dialog is open.
  input.hidden = true;
  document.body.append(input);
  input.addEventListener('change', () => {
    if (input.files) onChosen(input.files);
    input.remove();
  });
  input.addEventListener('cancel', () => input.remove());
  input.click();
}
