import { joinPath, nameOf } from '../files/tree-path.ts';
import { t } from '../i18n/i18n.ts';
import { notify } from '../parts/notices.tsx';

/** The files of a drop or a paste with the paths they shall have below `folder`; folders with all that is in them. What cannot be read is told, and keeps none of the others back. */
export async function droppedFiles(transfer: DataTransfer, folder: string): Promise<{ file: File; path: string }[]> {
  // What is not asked for within the event is gone.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return chosenFiles(transfer.files, folder);
  const found: { file: File; path: string }[] = [];
  const unread: string[] = [];
  const walk = async (entry: FileSystemEntry, into: string): Promise<void> => {
    const path = joinPath(into, entry.name);
    await take(entry, path).catch(() => unread.push(path));
  };
  const take = async (entry: FileSystemEntry, path: string): Promise<void> => {
    if (isFile(entry)) found.push({ file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)), path });
    else if (isFolder(entry)) for (const child of await childrenOf(entry)) await walk(child, path);
  };
  for (const entry of entries) await walk(entry, folder);
  if (unread.length > 0) notify(t('dropUnread', { n: unread.length, name: nameOf(unread[0] ?? '') }), { isBad: true });
  return found;
}

/** The files of an `<input type="file">`; those of a chosen folder keep their paths in it. */
export function chosenFiles(files: FileList | null, folder: string): { file: File; path: string }[] {
  return [...(files ?? [])].map((file) => ({ file, path: joinPath(folder, file.webkitRelativePath || file.name) }));
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

/** A reader hands out a hundred at a time, and nothing at the end. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return children;
    children.push(...some);
  }
}
