// A process that lists folders of one storage as fs does, and says what memory that took.
import { readFile, writeFile } from 'node:fs/promises';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { walkTree } from '../../src/driver-contract/walk-tree.ts';
import { locate } from '../../src/domain/snapshot/snapshot.ts';
import { openTree, vpath } from '../../src/domain/testing/memory-tree.ts';
import { DRIVERS } from '../../src/drivers/index.ts';
import { trailOf } from '@wharf/service-kit';

/** What it is asked to do, as its only argument. */
export interface Work {
  readonly driver: string;
  readonly addition: Record<string, unknown>;
  /** An honest folder that is listed before memory is measured. */
  readonly warm: string;
  readonly folders: readonly string[];
  readonly walks?: boolean;
}

export interface Outcome {
  /** The most that it had at a time, above what it had after the honest folder, in MiB. */
  readonly grownMib: number;
  /** Of each folder how many entries, or the code of the error. */
  readonly listed: readonly (number | string)[];
}

const work = JSON.parse(process.argv[2] ?? '') as Work;
const egress = createEgress(createEgressPolicy({ allow: ['127.0.0.0/8'], forbidden: [], audience: 'admin' }));
const definition = DRIVERS.find(({ name }) => name === work.driver);
if (!definition) throw new Error(`no driver ${work.driver}`);
const { snapshot, folderCache } = await openTree({
  drivers: [{ ...definition, open: (addition, context) => definition.open(addition, { ...context, egress, trail: trailOf('0'.repeat(32)) }) }],
  storages: [{ driver: work.driver, addition: JSON.stringify(work.addition) }],
});

const residentMib = async (what: 'VmRSS' | 'VmHWM') => {
  const kib = new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(await readFile('/proc/self/status', 'utf8'))?.[1];
  return Number(kib) / 1024;
};
const list = async (folder: string): Promise<number | string> => {
  try {
    const located = locate(snapshot, vpath(`/${folder}`));
    if (!work.walks) return (await folderCache.read(located, { refresh: false, signal: undefined })).names.length;
    let count = 0;
    for await (const _ of walkTree(await located.mount.driver(), located.path)) count += 1;
    return count;
  } catch (error) {
    return error instanceof Error && 'code' in error ? `${error.code}: ${error.message}` : String(error);
  }
};

const warm: (number | string)[] = [];
for (let time = 0; time < 30; time += 1) warm.push(await list(work.warm));
// From here on the peak counts.
await writeFile('/proc/self/clear_refs', '5');
const restMib = await residentMib('VmRSS');
const listed = await Promise.all(work.folders.map(list));
const grownMib = (await residentMib('VmHWM')) - restMib;
console.log(`done ${JSON.stringify({ grownMib, restMib, warm: [...new Set(warm)], listed: listed.map((each) => String(each).slice(0, 22)), usage: process.memoryUsage(), seconds: process.uptime() })}`);
process.exit();
