import { extensionOf } from '../files/sort-entries.ts';

/** Kinds that can be shown over a film: the browser's own, and the one that is made into it. */
const KINDS = ['vtt', 'srt'];
/** Each is read before the film begins, and others may have put thousands beside it. */
const MAX_TRACKS = 30;

/** A file of subtitles beside a film. */
export interface Subtitles {
  readonly name: string;
  /** What stands between the film's name and the ending, such as a language; else the whole name. */
  readonly label: string;
}

/** Those whose names begin with that of the film: the first of them by name. */
export function subtitlesOf(film: string, names: Iterable<string>): Subtitles[] {
  const stem = withoutExtension(film).toLowerCase();
  const found: Subtitles[] = [];
  for (const name of names) {
    if (!KINDS.includes(extensionOf(name))) continue;
    const own = withoutExtension(name);
    if (own.toLowerCase() !== stem && !own.toLowerCase().startsWith(`${stem}.`)) continue;
    found.push({ name, label: own.slice(stem.length + 1) || name });
  }
  return found.sort((one, other) => one.name.localeCompare(other.name)).slice(0, MAX_TRACKS);
}

/** Subtitles as browsers take them. Of SubRip the times differ by a comma, and its marks are mostly those of WebVTT. */
export function toVtt(text: string): string {
  const body = text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  if (/^WEBVTT(?:[ \t\n]|$)/.test(body)) return body;
  const cues = body
    .replaceAll(
      /^(\d+:\d\d:\d\d),(\d{3})[ \t]*-->[ \t]*(\d+:\d\d:\d\d),(\d{3}).*$/gm,
      (_, from, fromMs, to, toMs) => `${hours(from)}.${fromMs} --> ${hours(to)}.${toMs}`,
    )
    // Up to the next one that begins: of a million that do not end, none is looked for to the end of the line.
    .replaceAll(/\{\\[^{}\n]*\}|<\/?font[^<>\n]*>/gi, '');
  return `WEBVTT\n\n${cues}`;
}

/** WebVTT has two digits at least. */
function hours(time: string): string {
  return time.padStart(8, '0');
}

function withoutExtension(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(0, dot) : name;
}
