/** What a task does, as far as its name tells. */
export interface TaskWords {
  readonly verb: 'copy' | 'move' | 'merge' | 'upload' | 'download' | 'transfer' | 'remove' | undefined;
  /** Of the file or the folder; the whole name of the task where it has another form. */
  readonly name: string;
  /** The folder that it goes to, in the tree; empty: not told. */
  readonly to: string;
}

// Names of files are in these texts, whatever their makers called them. Patterns would try each of many brackets with each other one, so places are
// looked for one after the other.

/** The places that the name of a task names, and the folders that these are in: what may look otherwise when it has ended. */
export function foldersOf(name: string): string[] {
  if (!name.endsWith(')')) return [];
  const places = name
    .slice(0, -1)
    .split(') to [')
    .flatMap((part, index) => placeAtEnd(index === 0 ? part : `[${part}`) ?? []);
  return [...new Set(places.flatMap((place) => [place, place.replace(/\/[^/]*$/, '') || '/']))];
}

/** Of `... [/mount](/path`. */
function placeAtEnd(text: string): string | undefined {
  const close = text.indexOf('](/');
  const open = text.indexOf('[/', text.lastIndexOf(']', close - 1) + 1);
  return close < 0 || open < 0 || open > close ? undefined : joined(text.slice(open + 1, close), text.slice(close + 2));
}

const joined = (mount: string, path: string): string => `${mount}/${path}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '');

/** Takes the name of a task apart, whose form the API keeps. */
export function wordsOf(name: string): TaskWords {
  const found = partsOf(name);
  if (!found) return { verb: undefined, name, to: '' };
  const { verb, from, to } = found;
  const [path = ''] = from.split(/[?#]/, 1);
  const last = path.split('/').findLast((segment) => segment !== '');
  return { verb, name: last ?? from, to };
}

interface Parts {
  readonly verb: NonNullable<TaskWords['verb']>;
  readonly from: string;
  readonly to: string;
}

function partsOf(name: string): Parts | undefined {
  const at = name.indexOf(' ');
  const verb = name.slice(0, at);
  const end = name.length - 1;
  if (at < 0 || name[end] !== ')') return undefined;
  /** Where `[mount](path)` at the end has its bracket between the two. */
  const between = name.lastIndexOf('](', end - 2);
  const target = (begin: number) => {
    const close = name.indexOf('](', begin);
    return joined(name.slice(begin, close), name.slice(close + 2, end));
  };
  switch (verb) {
    case 'copy':
    case 'move':
    case 'merge':
    case 'transfer': {
      const mountEnd = name.indexOf('](');
      const to = name.lastIndexOf(') to [', between - 6);
      if (name[at + 1] !== '[' || mountEnd < 0 || between < 6 || to < mountEnd + 2) return undefined;
      return { verb, from: name.slice(mountEnd + 2, to), to: target(to + 6) };
    }
    case 'upload': {
      const to = name.lastIndexOf(' to [', between - 5);
      return between < 5 || to <= at ? undefined : { verb, from: name.slice(at + 1, to), to: target(to + 5) };
    }
    case 'download': {
      const to = name.lastIndexOf(' to (', end - 5);
      return to <= at ? undefined : { verb, from: name.slice(at + 1, to), to: joined('', name.slice(to + 5, end)) };
    }
    case 'remove': {
      const mountEnd = name.indexOf('](');
      return name[at + 1] !== '[' || mountEnd < 0 ? undefined : { verb, from: name.slice(mountEnd + 2, end), to: '' };
    }
    default:
      return undefined;
  }
}
