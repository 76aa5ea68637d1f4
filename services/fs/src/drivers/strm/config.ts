import { AppError } from '@wharf/errors';
import { withoutEnd } from '@wharf/pace';
import { z } from 'zod';
import { boolItem, numberItem, selectItem, textItem } from '../../driver-contract/config-items.ts';
import { type NamedFolders, parseNamedFolders } from '../../driver-contract/named-folders.ts';

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const strmConfigSchema = z.object({
  paths: textItem({
    required: true,
    help: 'One folder of the tree a line: /path or name:/path. Lines of one name are shown as one folder; a single name is the root.',
  }),
  siteUrl: textItem({ help: 'What addresses begin with, as in https://files.example.org. Empty: WHARF_SITE_URL.' }),
  PathPrefix: textItem({ default: '/d', help: 'Stands between that and the path of the file.' }),
  downloadFileTypes: textItem({ default: 'ass,srt,vtt,sub,strm', help: 'Endings of files that are shown as they are.' }),
  filterFileTypes: textItem({
    default: 'mp4,mkv,flv,avi,wmv,ts,rmvb,webm,mp3,flac,aac,wav,ogg,m4a,wma,alac',
    help: 'Endings of files that are shown as .strm. All others are hidden.',
  }),
  minFileSize: numberItem({ default: 0, help: 'MB. Smaller ones of these are hidden.' }),
  encodePath: boolItem({ default: true, required: true, help: 'Percent-encodes the path.' }),
  withoutUrl: boolItem({ default: false, help: 'The path alone, without what addresses begin with.' }),
  withSign: boolItem({ default: false, help: 'Signs each address: whoever reads the file may open what it leads to.' }),
  SaveStrmToLocal: boolItem({ default: false, help: 'Not there: nothing is written to this machine.' }),
  SaveStrmLocalPath: textItem({ help: 'Kept for other programs.' }),
  SaveLocalMode: selectItem(['insert', 'update', 'sync'], { default: 'insert', help: 'Kept for other programs.' }),
});

/** What a storage is opened with, checked. */
export interface StrmSettings {
  readonly folders: readonly NamedFolders[];
  /** Undefined: files hold the path alone. */
  readonly siteUrl: string | undefined;
  /** Empty, or begins with a slash and ends without one. */
  readonly prefix: string;
  /** Endings in lower case, without the dot. */
  readonly shown: ReadonlySet<string>;
  readonly media: ReadonlySet<string>;
  readonly minBytes: number;
  readonly encodes: boolean;
  readonly signs: boolean;
}

const MB = 1024 * 1024;

/** @param ownUrl of this gateway, where it is known. @throws AppError INVALID_ARGUMENT | FAILED_PRECONDITION (what is not there), for the admin */
export function strmSettings(config: z.output<typeof strmConfigSchema>, ownUrl: string | undefined): StrmSettings {
  if (config.SaveStrmToLocal) {
    throw new AppError(
      'FAILED_PRECONDITION',
      'files are not written to this machine: switch SaveStrmToLocal off, and copy the folder instead',
    );
  }
  const prefix = withoutEnd(config.PathPrefix.trim(), '/').replace(/^\/+/, '');
  return {
    folders: parseNamedFolders('paths', config.paths),
    siteUrl: config.withoutUrl ? undefined : siteUrlOf(config.siteUrl.trim() || ownUrl),
    prefix: prefix === '' ? '' : `/${prefix}`,
    shown: endingsOf(config.downloadFileTypes),
    media: endingsOf(config.filterFileTypes),
    minBytes: Math.max(0, config.minFileSize * MB),
    encodes: config.encodePath,
    signs: config.withSign,
  };
}

function siteUrlOf(text: string | undefined): string {
  if (text === undefined) {
    throw new AppError(
      'INVALID_ARGUMENT',
      'siteUrl is needed where WHARF_SITE_URL is not set: the address at which players reach this gateway',
    );
  }
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || /[\s?#]/.test(text)) {
    throw new AppError('INVALID_ARGUMENT', 'siteUrl is not an http or https address');
  }
  return withoutEnd(text, '/');
}

function endingsOf(text: string): ReadonlySet<string> {
  const endings = text.split(',').map((ending) => ending.trim().toLowerCase().replace(/^\./, ''));
  return new Set(endings.filter((ending) => ending !== ''));
}
