import fs from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { AppError } from '@wharf/errors';
import { compareNames, type EntryName } from '@wharf/paths';
import { safeName } from '../fetch/file-name.ts';

/** A file that a tool made. */
export interface ToolFile {
  /** On this machine's disk. */
  readonly path: string;
  /** From the task's folder down, each made safe. */
  readonly names: readonly EntryName[];
  readonly sizeBytes: number;
}

/** What tools keep beside their results. */
const CONTROL_FILE = /\.(?:aria2|!qB|part)$|^[0-9a-f]{40}\.(?:torrent|meta4|metalink)$/;
const TASK_FOLDER = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_DEPTH = 64;

/** The folder of one task: the tool writes there and nowhere else, and we read what is there instead of believing what it reports. */
export function toolFolder(root: string, tool: string, taskId: string): string {
  const folder = tool.toLowerCase();
  if (!TASK_FOLDER.test(folder) || !TASK_FOLDER.test(taskId)) throw new AppError('INTERNAL', 'internal error');
  return join(root, folder, taskId);
}

/** Whether a tool and we mean the same folder: some put slashes at the end. */
export function isSameFolder(left: string, right: string): boolean {
  return resolve(left) === resolve(right);
}

/** The names directly in a task's folder, without control files, in byte order. */
export async function listResults(folder: string): Promise<string[]> {
  const entries = await fs.readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isFile()) && !CONTROL_FILE.test(entry.name))
    .map(({ name }) => name)
    .sort(compareNames);
}

/** One result of a tool. */
export interface ToolResult {
  /** In a fixed order. */
  readonly files: readonly ToolFile[];
  /** Folders with nothing in them that could be kept. */
  readonly emptyFolders: readonly (readonly EntryName[])[];
}

/**
 * What one result is made of. Links and what is no file are left out, so nothing outside the folder is ever read.
 * @throws AppError: nobody may have it | what the disk says: some of it is not there, or may not be read
 */
export async function walkResult(folder: string, name: string): Promise<ToolResult> {
  if (name.includes(sep) || name === '.' || name === '..') throw new AppError('UNSAFE_PATH', 'using relative path is not allowed');
  const files: ToolFile[] = [];
  const emptyFolders: (readonly EntryName[])[] = [];
  const walk = async (path: string, names: readonly EntryName[]): Promise<void> => {
    if (names.length > MAX_DEPTH) throw new AppError('INVALID_ARGUMENT', 'the folders are too deep');
    const stats = await fs.lstat(path);
    if (stats.isFile()) {
      await fs.access(path, fs.constants.R_OK);
      files.push({ path, names, sizeBytes: stats.size });
    }
    if (!stats.isDirectory()) return;
    const before = files.length + emptyFolders.length;
    for (const inner of (await fs.readdir(path)).sort(compareNames)) {
      const safe = safeName(inner);
      if (safe !== undefined && !CONTROL_FILE.test(inner)) await walk(join(path, inner), [...names, safe]);
    }
    if (files.length + emptyFolders.length === before) emptyFolders.push(names);
  };
  const safe = safeName(name);
  if (safe !== undefined) await walk(join(folder, name), [safe]);
  return { files, emptyFolders };
}

/** Removes one result, and the task's folder with it when nothing else is in there. Nothing there is success. */
export async function removeResult(folder: string, name: string): Promise<void> {
  if (name.includes(sep) || name === '.' || name === '..') return;
  await fs.rm(join(folder, name), { recursive: true, force: true });
  await fs.rm(join(folder, `${name}.aria2`), { force: true });
  await fs.rmdir(folder).catch(() => undefined);
}

export async function removeToolFolder(folder: string): Promise<void> {
  await fs.rm(folder, { recursive: true, force: true });
}
