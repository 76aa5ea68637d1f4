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
  readonly besideMs?: number;
}

const MIB = 1024 * 1024;

/** Operations a storage may lack, as a reader asks for them. */
const OPERATIONS: Readonly<Record<OptionalOperation, string>> = {
  write: 'uploads',
  makeDirectory: 'new folders',
  remove: 'removal',
  beginRemoval: 'removals that go on behind their answer',
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
  const rows = figures.flatMap((figure) => {
    const { work, latencyMs, wharfMs, rcloneMs, wharfQuestions, rcloneQuestions } = figure;
    const row = ROWS[work];
    if (row === undefined) return [];
    const shown = [row.speed(wharfMs, figure), rcloneMs === undefined ? '' : row.speed(rcloneMs, figure), wharfQuestions, rcloneQuestions];
    return [[row.title(figure), `${latencyMs} ms`, ...shown.map((value) => String(value ?? ''))]];
  });
  return [
    `Measured on ${server}, beside rclone ${rcloneVersion}, whose start is in its times (${measuredOn}, two cores, other work beside it). \`away\`: what an answer`,
    'takes more. `asked`: how often something was asked and waited for, logins too.',
    '',
    ...table(['work', 'away', 'Wharf', 'rclone', 'asked by Wharf', 'by rclone'], rows),
    ...besides(figures),
  ];
}

/** Of a figure that stands in the table: what was done, and how fast it was. */
interface FigureRow {
  readonly title: (figure: Figure) => string;
  readonly speed: (ms: number, figure: Figure) => string;
}

const perSecond = (unit: string, unitAmount = 1) => {
  return (ms: number, { amount }: Figure) => `${threeDigits(amount / unitAmount / (ms / 1000))} ${unit}`;
};
const duration = (ms: number) => `${threeDigits(ms)} ms`;

const ROWS: Readonly<Record<string, FigureRow>> = {
  'write big': { title: ({ amount }) => `write ${amount / MIB} MiB`, speed: perSecond('MiB/s', MIB) },
  'read big': { title: ({ amount }) => `read ${amount / MIB} MiB`, speed: perSecond('MiB/s', MIB) },
  'write many': { title: ({ amount }) => `write ${amount} files of 10 KiB, 8 at once`, speed: perSecond('files/s') },
  'first listing': { title: ({ amount }) => `list ${amount} entries`, speed: perSecond('entries/s') },
  'second listing': { title: () => 'the same again', speed: duration },
  get: { title: () => 'look at a file', speed: duration },
  range: { title: () => 'read 1 MiB of a file', speed: duration },
};

/** What was measured beside other work. */
function besides(figures: readonly Figure[]): string[] {
  const waits = figures.flatMap(({ work, besideMs }) => (work === 'first listing' && besideMs !== undefined ? [besideMs] : []));
  const memory = figures.find(({ work }) => work === 'memory');
  const isolation = figures.find(({ work }) => work === 'isolation');
  const said = [
    ...(waits.length > 0 ? [`While such a folder is listed, others wait up to ${threeDigits(Math.max(...waits))} ms.`] : []),
    ...(memory ? [`Eight uploads at once take ${memory.amount} MiB.`] : []),
    ...(isolation?.besideMs === undefined
      ? []
      : [
          `While 64 downloads from it stand still, a listing elsewhere takes ${threeDigits(isolation.wharfMs)} ms (p99; ${threeDigits(isolation.besideMs)} alone).`,
        ]),
  ];
  return said.length > 0 ? [said.join(' '), ''] : [];
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(value < 100 ? 2 : 3)));
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
