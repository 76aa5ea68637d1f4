import path from 'node:path';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { boolItem, stringItem } from '../../driver-contract/config-items.ts';
import type { ThumbnailSettings } from '../../driver-contract/define-driver.ts';

/** What the form starts with, and what means the same as an empty text. */
const NO_RECYCLE_BIN = 'delete permanently';

const DEFAULT_FOLDER_MODE = 0o777;

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const localConfigSchema = z.object({
  root_folder_path: stringItem({
    default: '/',
    required: true,
    hostFolder: {},
    help: 'The folder of this machine that is shown. It must exist.',
  }),
  directory_size: boolItem({
    default: false,
    help: 'Add up what is in each folder. Every listing then walks through all folders below it.',
  }),
  thumbnail: boolItem({ required: true, help: 'Show thumbnails of images.' }),
  thumb_cache_folder: stringItem({
    hostFolder: {},
    help: 'A folder that keeps the thumbnails. Empty: one of the server, where it has any.',
  }),
  thumb_concurrency: stringItem({ default: '16', help: 'How many thumbnails are made at the same time.' }),
  video_thumb_pos: stringItem({ default: '20%', help: 'Where in a video its picture is taken: seconds, or a percentage of its length.' }),
  show_hidden: boolItem({ default: true, help: 'List entries whose name begins with a dot.' }),
  mkdir_perm: stringItem({ default: '777', help: 'The mode of new folders in octal, less the umask of the process.' }),
  recycle_bin_path: stringItem({
    default: NO_RECYCLE_BIN,
    hostFolder: { unless: NO_RECYCLE_BIN },
    help: `A folder on the same file system to which removed entries are moved, best where no storage shows it: in a folder that is shown, whoever may look into it sees what is removed, whatever rules it had. Empty or "${NO_RECYCLE_BIN}": they are deleted.`,
  }),
});

/** What the driver goes by. Paths are absolute. */
export interface LocalSettings {
  readonly rootPath: string;
  readonly addsUpFolders: boolean;
  readonly showsHidden: boolean;
  readonly folderMode: number;
  readonly recycleBinPath: string | undefined;
}

const DEFAULT_THUMBNAIL_CONCURRENCY = 16;

export function localThumbnails(config: z.output<typeof localConfigSchema>): ThumbnailSettings | undefined {
  if (!config.thumbnail) return undefined;
  const folder = config.thumb_cache_folder.trim();
  const concurrency = Number(config.thumb_concurrency) || DEFAULT_THUMBNAIL_CONCURRENCY;
  return { cacheFolder: folder === '' ? undefined : path.resolve(folder), concurrency };
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function localSettings(config: z.output<typeof localConfigSchema>): LocalSettings {
  checkThumbnailItems(config);
  const bin = config.recycle_bin_path.trim();
  return {
    rootPath: path.resolve(config.root_folder_path),
    addsUpFolders: config.directory_size,
    showsHidden: config.show_hidden,
    folderMode: folderMode(config.mkdir_perm),
    recycleBinPath: bin === '' || bin === NO_RECYCLE_BIN ? undefined : path.resolve(bin),
  };
}

function folderMode(text: string): number {
  if (text === '') return DEFAULT_FOLDER_MODE;
  if (!/^0?[0-7]{1,4}$/.test(text)) throw invalid('mkdir_perm is not an octal mode such as 755');
  return Number.parseInt(text, 8);
}

function checkThumbnailItems({ thumb_concurrency, video_thumb_pos }: z.output<typeof localConfigSchema>): void {
  if (!/^\d*$/.test(thumb_concurrency)) throw invalid('thumb_concurrency is not a number');
  const position = /^(\d+(?:\.\d+)?)(%?)$/.exec(video_thumb_pos);
  if (video_thumb_pos !== '' && (position === null || (position[2] === '%' && Number(position[1]) > 100))) {
    throw invalid('video_thumb_pos is neither a number of seconds nor a percentage from 0% to 100%');
  }
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
