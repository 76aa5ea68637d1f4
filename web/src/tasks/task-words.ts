/** What a task does, as far as its name tells. */
export interface TaskWords {
  readonly verb: 'copy' | 'move' | 'merge' | 'upload' | 'download' | 'transfer' | 'remove' | undefined;
  /** Of the file or the folder; the whole name of the task where it has another form. */
  readonly name: string;
  /** The folder that it goes to, in the tree; empty: not told. */
  readonly to: string;
}

const FORMS = [
  /^(copy|move|merge|transfer) \[(?<mount>.*?)\]\((?<from>.*)\) to \[(?<toMount>.*?)\]\((?<to>.*)\)$/s,
  /^(upload) (?<from>.*) to \[(?<toMount>.*?)\]\((?<to>.*)\)$/s,
  /^(download) (?<from>.*) to \((?<to>.*)\)$/s,
  /^(remove) \[.*?\]\((?<from>.*)\)$/s,
];

/** The places that the name of a task names, and the folders that these are in: what may look otherwise when it has ended. */
export function foldersOf(name: string): string[] {
  const places = [...name.matchAll(/\[(\/[^\]]*)\]\((\/.*?)\)(?= to \[|$)/gs)].map(([, mount, path]) =>
    `${mount}/${path}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, ''),
  );
  return [...new Set(places.flatMap((place) => [place, place.replace(/\/[^/]*$/, '') || '/']))];
}

/** Takes the name of a task apart, whose form the API keeps. */
export function wordsOf(name: string): TaskWords {
  for (const form of FORMS) {
    const found = form.exec(name);
    if (!found?.groups) continue;
    const { from = '', toMount = '', to = '' } = found.groups;
    const last = from
      .replace(/[?#].*$/s, '')
      .replace(/\/+$/, '')
      .split('/')
      .pop();
    return {
      verb: found[1] as TaskWords['verb'],
      name: last || from,
      to: found[1] === 'remove' ? '' : `${toMount}/${to}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, ''),
    };
  }
  return { verb: undefined, name, to: '' };
}
