import { extensionOf } from './sort-entries.ts';

/** What a file is to somebody who looks at it. */
export type FileKind =
  | 'folder'
  | 'image'
  | 'video'
  | 'audio'
  | 'text'
  | 'code'
  | 'markdown'
  | 'pdf'
  | 'archive'
  | 'document'
  | 'table'
  | 'slides'
  | 'font'
  | 'program'
  | 'file';

const KINDS: Readonly<Partial<Record<FileKind, string>>> = {
  image: 'jpg jpeg png gif webp avif svg bmp ico tif tiff heic heif raw dng cr2 nef psd',
  video: 'mp4 m4v mkv webm mov avi wmv flv mpg mpeg ts m2ts 3gp ogv rmvb',
  audio: 'mp3 flac ogg oga opus m4a aac wav wma aif aiff ape mid',
  markdown: 'md markdown mdx',
  text: 'txt log srt ass vtt lrc nfo rtf tex',
  code: 'js mjs cjs jsx ts tsx json jsonc yml yaml toml ini conf cfg xml html htm css scss less vue svelte py rb go rs java kt kts c h cc cpp hpp cs php pl lua sh bash zsh fish bat ps1 sql r swift dart ex exs erl hs clj scala gradle cmake diff patch proto graphql env dockerfile makefile gitignore properties',
  pdf: 'pdf',
  archive: 'zip 7z rar tar gz tgz bz2 xz zst lz4 cab iso dmg img',
  document: 'doc docx odt pages epub mobi azw3',
  table: 'xls xlsx ods csv tsv numbers',
  slides: 'ppt pptx odp key',
  font: 'ttf otf woff woff2',
  program: 'exe msi apk ipa deb rpm appimage jar bin',
};

const BY_EXTENSION = new Map(
  Object.entries(KINDS).flatMap(([kind, extensions]) => extensions.split(' ').map((extension) => [extension, kind as FileKind])),
);

/** By the extension; files of code that have none by their name. */
export function kindOf({ name, is_dir }: { name: string; is_dir: boolean }): FileKind {
  if (is_dir) return 'folder';
  return BY_EXTENSION.get(extensionOf(name)) ?? BY_EXTENSION.get(name.toLowerCase()) ?? 'file';
}

/** Whether the page can show a file itself, and by what. */
export function viewOf(entry: {
  name: string;
  is_dir: boolean;
}): 'image' | 'video' | 'audio' | 'text' | 'code' | 'markdown' | 'pdf' | undefined {
  const kind = kindOf(entry);
  if (kind === 'image') return /^(jpe?g|png|gif|webp|avif|svg|bmp|ico)$/.test(extensionOf(entry.name)) ? 'image' : undefined;
  if (kind === 'video' || kind === 'audio' || kind === 'markdown' || kind === 'pdf' || kind === 'code') return kind;
  return kind === 'text' || extensionOf(entry.name) === 'csv' ? 'text' : undefined;
}
