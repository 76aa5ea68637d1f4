// A process that lists folders of one storage as fs does, and says what memory that took.
import { readFile, writeFile } from 'node:fs/promises';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { trailOf } from '@wharf/service-kit';
import { locate } from '../../src/domain/snapshot/snapshot.ts';
import { openTree, vpath } from '../../src/domain/testing/memory-tree.ts';
import { walkTree } from '../../src/driver-contract/walk-tree.ts';
import { DRIVERS } from '../../src/drivers/index.ts';

/** What the process is asked to do, as its only argument. */
export interface Work {
  readonly driver: string;
  readonly addition: Record<string, unknown>;
  /** An honest folder that is listed before memory is measured. */
  readonly warm: string;
  /** Folders that are listed at once, */
  readonly folders: readonly string[];
  /** or walked through. */
  readonly how: 'list' | 'walk';
}

export interface Outcome {
  /** The most resident memory at a time, above what there was after the honest folder, in MiB. */
  readonly grownMib: number;
  /** Of each folder how many entries it has, or the code of the error. */
  readonly found: readonly (number | string)[];
}

/** What a process needs for any listing is there then. */
const WARM_TIMES = 6;
const { driver, addition, warm, folders, how } = JSON.parse(process.argv[2] ?? '') as Work;
const egress = createEgress(createEgressPolicy({ allow: ['127.0.0.0/8'], forbidden: [], audience: 'admin' }));
const definition = DRIVERS.find(({ name }) => name === driver);
if (definition === undefined) throw new Error(`no driver ${driver}`);
const surroundings = { egress, trail: trailOf('0'.repeat(32)) };
const { snapshot, folderCache } = await openTree({
  drivers: [{ ...definition, open: (text, context) => definition.open(text, { ...context, ...surroundings }) }],
  storages: [{ driver, addition: JSON.stringify(addition) }],
});

const residentMib = async (what: 'VmRSS' | 'VmHWM') => {
  const [, kib] = new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(await readFile('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) / 1024;
};
const lookInto = async (folder: string): Promise<number | string> => {
  const located = locate(snapshot, vpath(`/${folder}`));
  try {
    if (how === 'list') return (await folderCache.read(located, { refresh: true, signal: undefined })).names.length;
    let count = 0;
    for await (const _ of walkTree(await located.mount.driver(), located.path)) count += 1;
    return count;
  } catch (error) {
    return AppError.is(error) ? error.code : String(error);
  }
};

for (let time = 0; time < WARM_TIMES; time += 1) await lookInto(warm);
// From here on the peak counts anew.
await writeFile('/proc/self/clear_refs', '5');
const restMib = await residentMib('VmRSS');
const found = await Promise.all(folders.map(lookInto));
const grownMib = (await residentMib('VmHWM')) - restMib;
process.stdout.write(`outcome ${JSON.stringify({ grownMib, found })}\n`, () => process.exit());
