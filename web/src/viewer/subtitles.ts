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

/**
 * Subtitles as browsers take them. Of SubRip the times differ by a comma, and its marks are mostly those of WebVTT. Only lines and their times are kept,
 * neither styles nor notes.
 */
export function toVtt(text: string): string {
  const body = text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  const vtt = /^WEBVTT(?:[ \t\n]|$)/.test(body) ? body : fromSubRip(body);
  return ['WEBVTT', ...boundCues(readCues(vtt)).map(({ head, lines }) => [head, ...lines].join('\n'))].join('\n\n');
}

function fromSubRip(body: string): string {
  return (
    body
      .replaceAll(
        /^(\d+:\d\d:\d\d),(\d{3})[ \t]*-->[ \t]*(\d+:\d\d:\d\d),(\d{3}).*$/gm,
        (_, from, fromMs, to, toMs) => `${hours(from)}.${fromMs} --> ${hours(to)}.${toMs}`,
      )
      // Up to the next one that begins: of a million that do not end, none is looked for to the end of the line.
      .replaceAll(/\{\\[^{}\n]*\}|<\/?font[^<>\n]*>/gi, '')
  );
}

/** What is said from one moment to another, in seconds. */
interface Cue {
  readonly from: number;
  readonly to: number;
  /** Its times, and where it stands. */
  readonly head: string;
  readonly lines: string[];
}

const TIMES = /^((?:\d+:)?\d\d:\d\d\.\d{3})[ \t]*-->[ \t]*((?:\d+:)?\d\d:\d\d\.\d{3})((?:[ \t][^\n]{0,100})?)$/;
/** Letters of one; the rest of it would cover the film. */
const MAX_LETTERS = 1_000;

function readCues(vtt: string): Cue[] {
  const cues: Cue[] = [];
  let open: Cue | undefined;
  let letters = 0;
  for (const line of vtt.split('\n')) {
    const times = line.includes('-->') ? TIMES.exec(line) : null;
    if (times) {
      const [, from = '', to = '', place = ''] = times;
      open = { from: secondsOf(from), to: secondsOf(to), head: `${from} --> ${to}${place}`, lines: [] };
      cues.push(open);
      letters = 0;
    } else if (line.trim() === '' || line.includes('-->')) open = undefined;
    else if (open && letters + line.length <= MAX_LETTERS) {
      open.lines.push(line);
      letters += line.length + 1;
    }
  }
  return cues;
}

/** Of what is said at the same time so many are shown: browsers look for a place for each beside all others, for a thousand of them minutes. */
const MAX_AT_ONCE = 10;

function boundCues(cues: readonly Cue[]): Cue[] {
  let shown: Cue[] = [];
  return cues
    .toSorted((one, other) => one.from - other.from)
    .filter((cue) => {
      shown = shown.filter(({ to }) => to > cue.from);
      if (shown.length >= MAX_AT_ONCE || cue.to <= cue.from || cue.lines.length === 0) return false;
      shown.push(cue);
      return true;
    });
}

const secondsOf = (time: string) => time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/** WebVTT has two digits at least. */
function hours(time: string): string {
  return time.padStart(8, '0');
}

function withoutExtension(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(0, dot) : name;
}
