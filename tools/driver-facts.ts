import type { DriverTraits, OptionalOperation } from '../services/fs/src/driver-contract/storage-driver.ts';

/** What the suite of drivers finds in one run: `facts/*.json` beside a conformance test. */
export interface MeasuredFacts {
  readonly driver: string;
  readonly server: string;
  readonly cannot: readonly OptionalOperation[];
  /** `modTimeStepMs` is absent where it is undefined. */
  readonly traits: Omit<DriverTraits, 'modTimeStepMs'> & { readonly modTimeStepMs?: number };
  /** Rules that it breaks, with the reason. */
  readonly gaps: Readonly<Record<string, string>>;
}

/** What `npm run bench -- --only remote --save` keeps of one driver. */
export interface DriverFigures {
  readonly server: string;
  readonly rcloneVersion: string;
  readonly measuredOn: string;
  readonly figures: readonly Figure[];
}

interface Figure {
  readonly work: string;
  readonly amount: number;
  readonly latencyMs: number;
  readonly wharfMs: number;
  readonly rcloneMs?: number;
  readonly wharfQuestions?: number;
  readonly rcloneQuestions?: number;
}

const MIB = 1024 * 1024;

/** Operations a storage may lack, as a reader asks for them. */
const OPERATIONS: Readonly<Record<OptionalOperation, string>> = {
  write: 'uploads',
  makeDirectory: 'new folders',
  remove: 'removal',
  rename: 'renames in one step',
  copy: 'copies within',
  openDraft: 'contents that come in ranges',
  link: 'links past us',
  space: 'free space',
  thumbnail: 'pictures of its own',
  listNames: 'names under a version',
  statMany: 'looks at many',
  listAll: 'whole trees in fewer calls',
  readMany: 'several small files read in one call',
  writeMany: 'several small files stored in one call',
  findOnHost: 'files for a web server before us',
};

/** The columns of traits, each with what it says of a storage. */
const TRAITS: ReadonlyArray<readonly [title: string, say: (traits: MeasuredFacts['traits']) => string]> = [
  ['`A` is not `a`', ({ caseSensitive }) => yes(caseSensitive)],
  ['keeps empty folders', ({ keepsEmptyDirectories }) => yes(keepsEmptyDirectories)],
  ['keeps given dates', ({ modTimeStepMs }) => (modTimeStepMs === undefined ? 'no' : `to ${modTimeStepMs} ms`)],
  [
    'bytes of a name, of a path',
    ({ maxNameBytes, maxPathBytes }) => `${maxNameBytes}${maxPathBytes === undefined ? '' : `, ${maxPathBytes}`}`,
  ],
  ['digests', ({ hashes }) => hashes.join(', ')],
  ['of many new files of one name one wins', ({ exclusiveCreate }) => yes(exclusiveCreate)],
  ['copies folders', ({ copiesFolders }) => yes(copiesFolders)],
  [
    'drafts',
    ({ drafts }) => (drafts ? `${drafts.order === 'any' ? 'in any order' : 'in order'}${drafts.readsBack ? ', read back' : ''}` : ''),
  ],
  [
    'else',
    ({ needsSize, locksOpenFiles, refusedNames, removesStepwise }) =>
      [
        ...(removesStepwise ? ['folders are removed entry by entry'] : []),
        ...(needsSize ? ['must be told sizes'] : []),
        ...(locksOpenFiles ? ['a file that is read is locked'] : []),
        ...(refusedNames ? [`refuses names: ${refusalOf(refusedNames)}`] : []),
      ].join('; '),
  ],
];

/** What each storage can do and what its traits are, by the suite. */
export function factsTables(facts: readonly MeasuredFacts[]): string[] {
  const operations = Object.entries(OPERATIONS) as ReadonlyArray<readonly [OptionalOperation, string]>;
  const able = ({ cannot }: MeasuredFacts) => operations.map(([operation]) => yes(!cannot.includes(operation)));
  const named = ({ driver, server }: MeasuredFacts) => `${driver}: ${server}`;
  return [
    '## What they can do',
    '',
    'Found by the suite of drivers on what is named after the colon, and held by it since. What a storage cannot do itself is done around it or told apart:',
    '[the contract](adding-a-driver.md#the-contract-in-short).',
    '',
    ...table(
      ['storage', ...operations.map(([, title]) => title)],
      facts.map((each) => [named(each), ...able(each)]),
    ),
    'Traits, which callers obey:',
    '',
    ...table(
      ['storage', ...TRAITS.map(([title]) => title)],
      facts.map((each) => [named(each), ...TRAITS.map(([, say]) => say(each.traits))]),
    ),
  ];
}

/** What work cost in a storage, and what it cost rclone on the same server. */
export function figuresTable({ server, rcloneVersion, measuredOn, figures }: DriverFigures): string[] {
  const compared = figures.filter(({ rcloneMs, amount }) => rcloneMs !== undefined && amount > 0);
  const rows = compared.map(({ work, amount, latencyMs, wharfMs, rcloneMs, wharfQuestions, rcloneQuestions }) => {
    const isBig = work.endsWith('big');
    const speed = (ms: number) => {
      const perSecond = (isBig ? amount / MIB : amount) / (ms / 1000);
      return `${perSecond.toPrecision(perSecond < 100 ? 2 : 3)} ${isBig ? 'MiB/s' : work === 'write many' ? 'files/s' : 'entries/s'}`.replace(
        /^([\d.]+)e\+(\d+)/,
        (text) => String(Number(text)),
      );
    };
    const titles: Readonly<Record<string, string>> = {
      'write big': `write ${amount / MIB} MiB`,
      'read big': `read ${amount / MIB} MiB`,
      'write many': `write ${amount} files of 10 KiB, 8 at once`,
      'first listing': `list ${amount} entries`,
    };
    const shown = [speed(wharfMs), rcloneMs === undefined ? '' : speed(rcloneMs), wharfQuestions, rcloneQuestions];
    return [titles[work] ?? work, `${latencyMs} ms`, ...shown.map((value) => String(value ?? ''))];
  });
  return [
    `Measured on ${server}, beside rclone ${rcloneVersion}, whose start is in its times (${measuredOn}, two cores, other work beside it). \`away\`: what an answer`,
    'takes more. `asked`: how often something was asked and waited for, logins too.',
    '',
    ...table(['work', 'away', 'Wharf', 'rclone', 'asked by Wharf', 'by rclone'], rows),
  ];
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line), ''];
}

function refusalOf({ characters, endings, stems }: NonNullable<DriverTraits['refusedNames']>): string {
  const letters = (text: string) => [...text].map((letter) => (/\p{Cc}/u.test(letter) ? 'control characters' : `\`${letter}\``));
  return [
    ...(characters === '' ? [] : [`with ${[...new Set(letters(characters))].join(' ')}`]),
    ...(endings === '' ? [] : [`ending in ${letters(endings).join(' ')}`]),
    ...(stems.length === 0 ? [] : [`${stems.slice(0, 3).join(', ')}${stems.length > 3 ? ' and more' : ''}`]),
  ].join(', ');
}

function yes(is: boolean): string {
  return is ? 'yes' : 'no';
}

/** Text that can stand in a table. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
