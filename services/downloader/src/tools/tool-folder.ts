import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import fs from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { AppError } from '@wharf/errors';
import { type HeldFolder, holdFolder, isMissing, isNoFolder } from '@wharf/held-folders';
import { createPace, type Pace, sortInTurns } from '@wharf/pace';
import { compareNames, type EntryName } from '@wharf/paths';
import { CONTROL_ENDING, DESCRIPTION_NAME } from '../domain/aria2-names.ts';
import { safeName } from '../domain/file-name.ts';

/** A folder that a tool made. */
interface ToolEntry {
  /** From the task's folder down, each made safe. */
  readonly names: readonly EntryName[];
}

/** A file that a tool made. */
export interface ToolFile extends ToolEntry {
  /** On this machine's disk, from the task's folder down, as its names are there. */
  readonly place: readonly (string | Buffer)[];
  readonly sizeBytes: number;
}

/** One result of a tool. */
export interface ToolResult {
  /** In a fixed order. */
  readonly files: readonly ToolFile[];
  /** Folders with nothing in them that could be kept. */
  readonly emptyFolders: readonly ToolEntry[];
  /** Another one when names, sizes or kinds of entries have changed. */
  readonly state: string;
}

/**
 * The folder of one task: the tool writes there and nowhere else, and we read what is there instead of believing what it reports. The tool
 * may also write to the folders above it, and while we read. So each step goes from a folder that is held open, and never through a link.
 *
 * All methods throw FAILED_PRECONDITION when a folder of ours was replaced by a link, and the errors of the disk.
 */
export interface ToolFolder {
  /** As the tool gets it. */
  readonly path: string;
  /** Makes it where it is missing, and does something in it. */
  make(use?: (folder: HeldFolder) => Promise<void>): Promise<void>;
  /** The names directly in it, without what the tool keeps beside its results, in byte order. @throws ENOENT */
  list(): Promise<string[]>;
  /**
   * The files of one result. Links, and anything else that is neither a file nor a folder, are left out.
   * @throws AppError: nobody may have it, or it is too much | what the disk says: some of it is not there, or may not be read
   */
  walk(name: string): Promise<ToolResult>;
  /** Opens a file of a result for reading. The caller closes it. @throws ENOENT | ENOTDIR, ELOOP, EINVAL: it has become something else */
  open(place: readonly (string | Buffer)[]): Promise<FileHandle>;
  /** Removes one result, and the folder with the last one, whatever else is in there. Nothing there is success. */
  removeResult(name: string): Promise<void>;
  /** Removes the folder when nothing is in there. */
  removeEmpty(): Promise<void>;
  /** Removes all of it. Nothing there is success. */
  remove(): Promise<void>;
}

/** Of names on disks, in bytes. */
const MAX_NAME_BYTES = 255;
const ARIA2 = 'aria2';
const TASK_FOLDER = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_DEPTH = 64;
/** Of a download there is one result; of a metalink one for each of its files, 500 at most. */
const MAX_RESULTS = 1_000;
/** Of one result, folders too: as many as are moved at once. */
const MAX_ENTRIES = 100_000;

/**
 * @param root it, and what is above it, is ours: links in its path are followed
 * @param most results of a download, and files and folders of one result; others than the standard ones are given by tests only
 */
export function toolFolder(
  root: string,
  tool: string,
  taskId: string,
  most: { results: number; entries: number } = { results: MAX_RESULTS, entries: MAX_ENTRIES },
): ToolFolder {
  const ofTool = tool.toLowerCase();
  if (!TASK_FOLDER.test(ofTool) || !TASK_FOLDER.test(taskId)) throw new AppError('INTERNAL', 'internal error');
  const below = async <Result>(names: readonly string[], use: (folder: HeldFolder) => Promise<Result>) => {
    const top = await holdFolder(root);
    try {
      return await enter(top, names, use);
    } catch (error) {
      throw isNoFolder(error) ? new AppError('FAILED_PRECONDITION', 'a folder of downloads was exchanged', { cause: error }) : error;
    } finally {
      await top.close();
    }
  };
  const within = <Result>(use: (folder: HeldFolder) => Promise<Result>) => below([ofTool, taskId], use);
  const remove = () =>
    below([ofTool], (folder) => folder.remove(taskId))
      .catch(noneWhereMissing)
      .then(() => undefined);
  /** Names of the results that are left beside one that has gone, some of them where they are many. */
  const leftBeside = (gone: string) =>
    within(async (folder) => {
      const names = entryNames(await folder.entries(2 * most.results + 1));
      // One that is called like aria2's own was listed where all were: so are the others.
      return ofTool === ARIA2 && !DESCRIPTION_NAME.test(gone) ? resultsAmong(names) : names;
    });
  const removeEmpty = () => below([ofTool], (folder) => folder.removeEmptyFolder(taskId)).catch(() => undefined);
  return {
    path: join(root, ofTool, taskId),
    async make(use = async () => {}) {
      await fs.mkdir(root, { recursive: true });
      await below([], async (top) => (await top.makeFolder(ofTool)).close());
      await below([ofTool], async (folder) => (await folder.makeFolder(taskId)).close());
      await within(use);
    },
    list: () =>
      within(async (folder) => {
        // Beside each there may be a file that the tool keeps of it.
        const all = await folder.entries(2 * most.results + 1);
        const names = entryNames(all);
        const results = ofTool === ARIA2 ? withoutControlFiles(names) : names;
        if (all.length > 2 * most.results || results.length > most.results)
          throw new AppError('FAILED_PRECONDITION', `there are more than ${most.results} results`);
        return results.sort(compareNames);
      }),
    async walk(name) {
      if (!isName(name)) throw new AppError('UNSAFE_PATH', 'using relative path is not allowed');
      const safe = safeName(name);
      const result = { files: [], emptyFolders: [], left: most.entries, most: most.entries, hash: createHash('sha256') };
      if (safe !== undefined) await within((folder) => addEntry(result, folder, new Found(undefined, name, safe), createPace()));
      return { files: result.files, emptyFolders: result.emptyFolders, state: result.hash.digest('base64url') };
    },
    open: (place) => within((folder) => enter(folder, place.slice(0, -1), (last) => last.openFile(place.at(-1) ?? ''))),
    async removeResult(name) {
      if (!isName(name)) return;
      try {
        await within(async (folder) => {
          await folder.remove(name);
          // Nothing has a longer name.
          if (ofTool === ARIA2 && Buffer.byteLength(name) + CONTROL_ENDING.length <= MAX_NAME_BYTES)
            await folder.remove(`${name}${CONTROL_ENDING}`);
        });
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      // What is no result would stay for good: no task knows of it.
      if ((await leftBeside(name).catch(noneWhereMissing)).length === 0) await remove();
    },
    removeEmpty,
    remove,
  };
}

/**
 * The folder of a task whose tool got it while the tools had another root, and where its files may be by now.
 *
 * @param before the root of that time; undefined: the same
 */
export function foldersOf(
  before: string | undefined,
  root: string,
  tool: string,
  taskId: string,
): { folder: ToolFolder; all: ToolFolder[] } {
  const now = toolFolder(root, tool, taskId);
  if (before === undefined || isSameFolder(before, root)) return { folder: now, all: [now] };
  const folder = toolFolder(before, tool, taskId);
  return { folder, all: [folder, now] };
}

/**
 * What aria2 has made. A name alone makes no control file: a file may be called so, and what has all bytes has no file for unfinished ones beside it. Nor is
 * anything inside of a result one.
 */
function withoutControlFiles(names: readonly string[]): string[] {
  const results = resultsAmong(names);
  return results.length > 0 ? results : [...names];
}

function resultsAmong(names: readonly string[]): string[] {
  const all = new Set(names);
  const isControl = (name: string) => name.endsWith(CONTROL_ENDING) && all.has(name.slice(0, -CONTROL_ENDING.length));
  return names.filter((name) => !isControl(name) && !DESCRIPTION_NAME.test(name));
}

/** Of what may be a result. */
function entryNames(entries: Awaited<ReturnType<HeldFolder['entries']>>): string[] {
  return entries.filter((entry) => entry.isDirectory() || entry.isFile()).map(({ name }) => name.toString());
}

function noneWhereMissing(error: unknown): string[] {
  if (isMissing(error)) return [];
  throw error;
}

/** The names directly in a folder that may be gone, as {@link ToolFolder.list}. */
export const resultsIn = (folder: ToolFolder): Promise<string[]> => folder.list().catch(noneWhereMissing);

/** So much longer than ours a tool may write the path of a folder: some put slashes at the end. */
const OTHERWISE_WRITTEN = 64;

/**
 * Whether two texts mean the same folder. A tool may say a thousand paths in one answer, or one of megabytes: of each `..` in one Node copies what is before it.
 *
 * @param said by whom it may be, @param ours as we write it
 */
export function isSameFolder(said: string, ours: string): boolean {
  return said.length <= ours.length + OTHERWISE_WRITTEN && resolve(said) === resolve(ours);
}

/** Goes down from a held folder, step by step, and closes what it opens when `use` is through. */
async function enter<Result>(
  folder: HeldFolder,
  [name, ...rest]: readonly (string | Buffer)[],
  use: (folder: HeldFolder) => Promise<Result>,
): Promise<Result> {
  if (name === undefined) return use(folder);
  const inner = await folder.openFolder(name);
  try {
    return await enter(inner, rest, use);
  } finally {
    await inner.close();
  }
}

/** An entry of a result. It knows its folder, not its whole way: a hundred thousand files may be deep down. */
class Found implements ToolFile {
  readonly #folder: Found | undefined;
  readonly #name: string | Buffer;
  readonly #safe: EntryName;
  readonly depth: number;
  sizeBytes = 0;

  constructor(folder: Found | undefined, name: string | Buffer, safe: EntryName) {
    this.#folder = folder;
    this.#name = name;
    this.#safe = safe;
    this.depth = (folder?.depth ?? 0) + 1;
  }

  get names(): readonly EntryName[] {
    return [...(this.#folder?.names ?? []), this.#safe];
  }

  get place(): readonly (string | Buffer)[] {
    return [...(this.#folder?.place ?? []), this.#name];
  }

  get name(): string | Buffer {
    return this.#name;
  }
}

/** @param found an entry of `folder` */
async function addEntry(
  result: { readonly files: ToolFile[]; readonly emptyFolders: ToolEntry[]; left: number; readonly most: number; readonly hash: Hash },
  folder: HeldFolder,
  found: Found,
  pace: Pace,
): Promise<void> {
  const { files, emptyFolders, hash } = result;
  if (found.depth > MAX_DEPTH) throw new AppError('INVALID_ARGUMENT', 'the folders are too deep');
  const { name } = found;
  const stats = await folder.stat(name);
  if (stats.isFile()) {
    // A file that cannot be read must fail here, before any other file is transferred.
    await (await folder.openFile(name)).close();
    found.sizeBytes = stats.size;
    files.push(found);
    hash.update(`file ${found.depth} ${stats.size} `).update(name).update('\0');
  }
  if (!stats.isDirectory()) return;
  hash.update(`folder ${found.depth} `).update(name).update('\0');
  const before = files.length + emptyFolders.length;
  await enter(folder, [name], async (inner) => {
    const entries = await inner.entries(result.left + 1);
    result.left -= entries.length;
    if (result.left < 0) throw new AppError('INVALID_ARGUMENT', `there are more than ${result.most} files and folders in it`);
    const innerNames = await sortInTurns(
      entries.map((entry) => entry.name),
      Buffer.compare,
      pace,
    );
    for (const innerName of innerNames) {
      const text = innerName.toString();
      const safe = safeName(text);
      // Bytes only where a text would be something else.
      const asThere = Buffer.from(text).equals(innerName) ? text : innerName;
      if (safe !== undefined) await addEntry(result, inner, new Found(found, asThere, safe), pace);
    }
  });
  if (files.length + emptyFolders.length === before) emptyFolders.push(found);
}

function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !text.includes(sep) && !text.includes('\0');
}
