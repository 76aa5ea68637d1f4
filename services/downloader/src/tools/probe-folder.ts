import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { isMissing } from '@wharf/held-folders';
import { makeProbeTorrent, type ProbeTorrent } from './probe-torrent.ts';
import { type ToolFolder, toolFolder } from './tool-folder.ts';

/**
 * How a tool sees a folder of ours: `shared` as we do, `apart` otherwise, `unknown` when it could not be asked or did not answer in time.
 */
export type FolderView = 'shared' | 'apart' | 'unknown';

export interface FolderProbe {
  /** As the tool would get it for a download; empty but for the files of {@link torrent}. */
  readonly folder: ToolFolder;
  /** Its files are in the folder, but for the empty one. */
  readonly torrent: ProbeTorrent;
  readonly signal: AbortSignal;
}

/** Finds out whether a tool sees a folder as we do, and may write there. It takes back what it adds to the tool. */
export type ViewFolder = (probe: FolderProbe) => Promise<FolderView>;

/** A tool that is busy may take longer. That is no error. */
const PROBE_MS = 10_000;
const FILE_BYTES = 64;

/**
 * Proves that we can read what a tool writes, in a folder of the kind that each download gets. What cannot be found out is no error.
 *
 * @throws AppError FAILED_PRECONDITION: they do not see the same folder, or one of them may not write or read there | the signal's reason
 */
export async function probeFolder(toolsDir: string, tool: string, view: ViewFolder, caller: AbortSignal): Promise<void> {
  const folder = toolFolder(toolsDir, tool, `probe-${randomBytes(8).toString('hex')}`);
  const torrent = makeProbeTorrent(`wharf-${randomBytes(8).toString('hex')}`, randomBytes(FILE_BYTES));
  try {
    await folder.make(async (held) => {
      const inner = await held.makeFolder(torrent.name);
      await inner.writeFile(torrent.fileName, torrent.fileContent).finally(() => inner.close());
    });
  } catch (cause) {
    await folder.remove().catch(() => undefined);
    throw wrongSetup(`the downloader cannot write to ${toolsDir} (WHARF_TOOLS_DIR)`, cause);
  }
  try {
    const signal = AbortSignal.any([caller, AbortSignal.timeout(PROBE_MS)]);
    const found = await view({ folder, torrent, signal }).catch((error: unknown) => {
      if (isWrongSetup(error)) throw error;
      return 'unknown' as const;
    });
    caller.throwIfAborted();
    if (found === 'apart')
      throw wrongSetup(
        `${tool} and the downloader do not share ${toolsDir}: both must see WHARF_TOOLS_DIR under this path, and ${tool} must be allowed to write there`,
      );
  } finally {
    await folder.remove().catch(() => undefined);
  }
}

/** Whether a file that a tool was to make is there. @throws AppError FAILED_PRECONDITION: it is, but we may not read it */
export async function canRead(folder: ToolFolder, ...place: readonly string[]): Promise<boolean> {
  try {
    await (await folder.open(place)).close();
    return true;
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw wrongSetup('the downloader may not read what the tool writes', cause);
  }
}

/** Tool and downloader cannot work together as they are set up. */
export function wrongSetup(message: string, cause?: unknown): AppError {
  return new AppError('FAILED_PRECONDITION', message, { cause, details: { isWrongSetup: true } });
}

export function isWrongSetup(error: unknown): error is AppError {
  return AppError.is(error, 'FAILED_PRECONDITION') && error.details.isWrongSetup === true;
}
