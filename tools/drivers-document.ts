import type { ConfigItem } from '../services/fs/src/driver-contract/config-items.ts';
import type { DriverConfig, DriverDefinition } from '../services/fs/src/driver-contract/define-driver.ts';

/** What a driver says of itself, in words. */
const FACTS: Readonly<Partial<Record<keyof DriverConfig, string>>> = {
  only_proxy: 'Its bytes pass through us always.',
  only_local: 'Its bytes pass through us always.',
  prefer_proxy: 'Its bytes pass through us, unless the storage says otherwise.',
  no_cache: 'Its listings are not kept.',
  no_upload: 'It takes no uploads.',
  only_indices: 'It holds addresses, no files.',
};

/**
 * docs/drivers.md, from the definitions of the drivers.
 *
 * @param source the text of drivers/index.ts, which says where each lies
 */
export function driversDocument(drivers: readonly DriverDefinition[], source: string): string {
  const folders = foldersOf(source);
  if (folders.length !== drivers.length) throw new Error('drivers/index.ts does not list its drivers one a line');
  const offered = drivers.map((driver, index) => ({ driver, folder: folders[index] ?? '' })).filter(({ driver }) => !driver.internal);
  return [
    '# Drivers',
    '',
    'Every kind of storage, from its definition by `npm run gen`: the items of its form with what a client starts with, and what a storage of it is asked at',
    'once. A `secret` item is sealed where it is kept. The name of an item that is missing in `addition` stands for an empty text, 0 or false, not for',
    'what the form starts with. What a driver can do, what it was tested with and where it ends stands in its README; the bounds of all are in [limits.md](limits.md).',
    '',
    '| driver | what it is | items | at once: names, reads, writes |',
    '|---|---|---|---|',
    ...offered.map(
      ({ driver }) => `| [${driver.name}](#${anchorOf(driver.name)}) | ${driver.label} | ${driver.items.length} | ${atOnce(driver)} |`,
    ),
    '',
    ...offered.flatMap(({ driver, folder }) => section(driver, folder)),
  ].join('\n');
}

function section(driver: DriverDefinition, folder: string): string[] {
  const facts = Object.entries(FACTS).flatMap(([name, text]) => (driver.config[name as keyof DriverConfig] === true ? [text] : []));
  const readme = `[README](../services/fs/src/drivers/${folder}/README.md)`;
  return [
    `## ${driver.name}`,
    '',
    [`${driver.label}: ${readme}.`, ...new Set(facts)].join(' '),
    '',
    '| item | type | starts with | effect |',
    '|---|---|---|---|',
    ...driver.items.map((item) => row(item, driver.secretKeys.has(item.name))),
    '',
  ];
}

function row({ name, type, default: preset, options, required, help }: ConfigItem, isSecret: boolean): string {
  const kind = [options === '' ? type : options.split(',').join(', '), ...(required ? ['required'] : []), ...(isSecret ? ['secret'] : [])];
  const shown = preset.includes('\n') ? 'a sample' : preset === '' ? '' : `\`${preset}\``;
  return `| \`${name}\` | ${cell(kind.join('; '))} | ${cell(shown)} | ${cell(help)} |`;
}

function atOnce({ limits }: DriverDefinition): string {
  return limits ? `${limits.names}, ${limits.reads}, ${limits.writes}` : '-';
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

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
