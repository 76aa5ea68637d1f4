import type { ConfigItem } from '../services/fs/src/driver-contract/config-items.ts';
import type { DriverConfig, DriverDefinition } from '../services/fs/src/driver-contract/define-driver.ts';
import { cell, type DriverFigures, factsTables, figuresTable, type MeasuredFacts } from './driver-facts.ts';

/** What a driver says of itself, in words. */
const FACTS: Readonly<Partial<Record<keyof DriverConfig, string>>> = {
  only_proxy: 'Its bytes pass through us always.',
  only_local: 'Its bytes pass through us always.',
  prefer_proxy: 'Its bytes pass through us, unless the storage says otherwise.',
  no_cache: 'Its listings are not kept.',
  no_upload: 'It takes no uploads.',
  only_indices: 'It holds addresses, no files.',
};

/** What is read for it from the repository. */
export interface DriverSources {
  /** The text of drivers/index.ts, which says where each lies. */
  readonly index: string;
  /** The README of a driver's folder. */
  readonly readme: (folder: string) => string;
  /** What the suite found in each of its runs that is documented, of a driver's folder. */
  readonly facts: (folder: string) => readonly MeasuredFacts[];
  /** By the names of drivers: what `npm run bench` measured. */
  readonly figures: Readonly<Record<string, DriverFigures>>;
}

interface Offered {
  readonly driver: DriverDefinition;
  readonly folder: string;
  readonly facts: readonly MeasuredFacts[];
}

/** docs/drivers.md, from the definitions of the drivers, what the suite finds of them, their READMEs, and what was measured. */
export function driversDocument(drivers: readonly DriverDefinition[], sources: DriverSources): string {
  const folders = foldersOf(sources.index);
  if (folders.length !== drivers.length) throw new Error('drivers/index.ts does not list its drivers one a line');
  const offered = drivers.flatMap((driver, index): Offered[] => {
    const folder = folders[index] ?? '';
    return driver.internal ? [] : [{ driver, folder, facts: sources.facts(folder).filter((each) => each.driver === driver.name) }];
  });
  return [
    '# Drivers',
    '',
    'Every kind of storage, from its definition by `npm run gen`: the items of its form with what a client starts with, and what a storage of it is asked at',
    'once. A `secret` item is sealed where it is kept. The name of an item that is missing in `addition` stands for an empty text, 0 or false, not for',
    'what the form starts with. How it works and what it was tested with stands in its README; the bounds of all are in [limits.md](limits.md).',
    '',
    '| driver | what it is | items | at once: names, reads, writes |',
    '|---|---|---|---|',
    ...offered.map(
      ({ driver }) => `| [${driver.name}](#${anchorOf(driver.name)}) | ${driver.label} | ${driver.items.length} | ${atOnce(driver)} |`,
    ),
    '',
    ...factsTables(offered.flatMap(({ facts }) => facts)),
    ...offered.flatMap((each, index) => {
      const first = offered.findIndex(({ folder }) => folder === each.folder);
      return section(each, sources, first === index ? undefined : offered[first]?.driver.name);
    }),
  ].join('\n');
}

/** @param like the driver of the same folder that stands before it, and says what holds for both */
function section({ driver, folder, facts }: Offered, { readme, figures }: DriverSources, like: string | undefined): string[] {
  const said = Object.entries(FACTS).flatMap(([name, text]) => (driver.config[name as keyof DriverConfig] === true ? [text] : []));
  const path = `../services/fs/src/drivers/${folder}/README.md`;
  const measured = figures[driver.name];
  return [
    `## ${driver.name}`,
    '',
    [`${driver.label}: [README](${path}).`, ...new Set(said)].join(' '),
    '',
    '| item | type | starts with | effect |',
    '|---|---|---|---|',
    ...driver.items.map((item) => row(item, driver.secretKeys.has(item.name))),
    '',
    ...(facts.length > 0 ? [gapsOf(facts), ''] : []),
    ...(like === undefined ? limitsOf(readme(folder), path) : [`Limits: those of [${like}](#${anchorOf(like)}).`, '']),
    ...(measured ? figuresTable(measured) : []),
  ];
}

/** Rules of the suite that it breaks. */
function gapsOf(facts: readonly MeasuredFacts[]): string {
  const gaps = facts.flatMap(({ server, gaps }) => Object.entries(gaps).map(([rule, reason]) => ({ server, rule, reason })));
  if (gaps.length === 0) return 'Known gaps: none; it keeps every rule of the suite that asks for what it can.';
  return `Known gaps: ${gaps.map(({ server, rule, reason }) => `"${rule}" is broken on ${server} (${reason})`).join('; ')}.`;
}

/** What a README says under the heading of limits, with its links seen from docs. */
function limitsOf(readme: string, path: string): string[] {
  const [, heading, text] = /^## (Limits|What to know)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(readme) ?? [];
  if (heading === undefined || text === undefined) throw new Error(`${path} has neither Limits nor What to know`);
  const folder = path.slice(0, path.lastIndexOf('/'));
  const seenFromHere = text.trim().replaceAll(/\]\((?!\w+:)([^)\s]+)\)/g, (_, target: string) => `](${linkFrom(folder, target)})`);
  return [`[${heading}](${path}#${anchorOf(heading)}):`, '', ...seenFromHere.split('\n'), ''];
}

function linkFrom(folder: string, target: string): string {
  const segments: string[] = [];
  for (const segment of `${folder}/${target}`.split('/')) {
    if (segment === '..' && segments.length > 0 && segments.at(-1) !== '..') segments.pop();
    else segments.push(segment);
  }
  return segments.join('/').replace(/^\.\.\/docs\//, '');
}

function row({ name, type, default: preset, options, required, help }: ConfigItem, isSecret: boolean): string {
  const kind = [options === '' ? type : options.split(',').join(', '), ...(required ? ['required'] : []), ...(isSecret ? ['secret'] : [])];
  const shown = preset.includes('\n') ? 'a sample' : preset === '' ? '' : `\`${preset}\``;
  return `| \`${name}\` | ${cell(kind.join('; '))} | ${cell(shown)} | ${cell(help)} |`;
}

function atOnce({ limits }: DriverDefinition): string {
  return limits && limits !== 'of others' ? `${limits.names}, ${limits.reads}, ${limits.writes}` : '-';
}

/** Folders of the drivers in the order of the list. */
function foldersOf(source: string): string[] {
  const byName = new Map<string, string>();
  for (const [, names = '', folder = ''] of source.matchAll(/^import \{ ([^}]+) \} from '\.\/([a-z\d-]+)\/index\.ts';$/gm)) {
    for (const name of names.split(',')) byName.set(name.trim(), folder);
  }
  const [, list = ''] = /= \[\n([\s\S]*?)\n\];/.exec(source) ?? [];
  return list.split('\n').map((line) => byName.get(line.trim().replace(/,$/, '')) ?? '');
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}
