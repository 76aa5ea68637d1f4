import { fileURLToPath } from 'node:url';
import { programFlags, startProcess } from '@wharf/harness';
import { describe, expect, it } from 'vitest';
import { ENDLESS_SERVERS, type Listed } from './endless-servers.ts';
import type { Outcome, Work } from './listing-process.ts';

const PROCESS = fileURLToPath(new URL('./listing-process.ts', import.meta.url));
const AT_ONCE = 8;
/** By which a process may grow at its peak, whatever one storage lists. */
const MAX_GROWN_MIB = 64;
/** Both sides work on one machine, on what takes some seconds when nothing else runs. */
const LIMIT_MS = 300_000;
const REFUSALS = ['OVERLOADED', 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'];

const usualName = (index: number) => `a picture ${String(index).padStart(6, '0')}.jpg`;
const WARM: Listed = { entries: 5_000, name: usualName, padding: 0 };
const ENDLESS = {
  long: { entries: undefined, name: (index: number) => String(index).padStart(255, 'n'), padding: 0 },
  short: { entries: undefined, name: (index: number) => index.toString(36), padding: 0 },
} satisfies Record<string, Listed>;

/** So often it is measured at most: what else the machine does only makes it more, for the collector comes later then. */
const MOST_ROUNDS = 3;

/** Of some rounds the one that took least. @param listed of all folders but the one that is listed before */
async function outcomeOf(server: string, listed: Listed, work: Pick<Work, 'folders' | 'how'>): Promise<Outcome> {
  let least = await measure(server, listed, work);
  for (let round = 1; round < MOST_ROUNDS && least.grownMib >= MAX_GROWN_MIB; round += 1) {
    const next = await measure(server, listed, work);
    if (next.grownMib < least.grownMib) least = next;
  }
  return least;
}

async function measure(server: string, listed: Listed, work: Pick<Work, 'folders' | 'how'>): Promise<Outcome> {
  const storage = await ENDLESS_SERVERS[server]?.((folder) => (folder === 'warm' ? WARM : listed));
  const { ready } = await startProcess<Outcome>({
    name: 'a process that lists',
    command: process.execPath,
    args: [...programFlags(), PROCESS, JSON.stringify({ ...storage, ...work, warm: 'warm' })],
    readyWithinMs: LIMIT_MS,
    ready: { line: (line) => (line.startsWith('outcome ') ? (JSON.parse(line.slice('outcome '.length)) as Outcome) : undefined) },
  });
  return ready;
}

const folders = Array.from({ length: AT_ONCE }, (_, index) => `folder-${index}`);

describe.runIf(process.platform === 'linux')('a server whose folders have no end', { timeout: LIMIT_MS }, () => {
  it.each([...Object.keys(ENDLESS_SERVERS).map((server) => [server, 'long'] as const), ['FTP', 'short'] as const])(
    `(%s, names %s) cannot make a process grow by more than ${MAX_GROWN_MIB} MiB, ${AT_ONCE} listings at once`,
    async (server, names) => {
      const { found, grownMib } = await outcomeOf(server, ENDLESS[names], { folders, how: 'list' });
      expect(found.filter((outcome) => !REFUSALS.includes(String(outcome)))).toEqual([]);
      expect(grownMib).toBeLessThan(MAX_GROWN_MIB);
    },
  );

  it('cannot make it grow by more where a walk remembers folders', async () => {
    const inFolders: Listed = { entries: undefined, name: (index) => `${`${ENDLESS.long.name(index)}/`.repeat(3)}file`, padding: 0 };
    const { found, grownMib } = await outcomeOf('S3', inFolders, { folders: folders.slice(0, 2), how: 'walk' });
    expect(found.filter((outcome) => !REFUSALS.includes(String(outcome)))).toEqual([]);
    expect(grownMib).toBeLessThan(MAX_GROWN_MIB);
  });
});

it.runIf(process.platform === 'linux').each([
  ['S3', 7_000],
  ['WebDav', 30_000],
])('(%s) of %i bytes that come with each entry nothing is kept with it', { timeout: LIMIT_MS }, async (server, padding) => {
  const { found, grownMib } = await outcomeOf(server, { entries: 900, name: usualName, padding }, { folders, how: 'list' });
  expect(found).toEqual(folders.map(() => 900));
  expect(grownMib).toBeLessThan(MAX_GROWN_MIB);
});

describe.runIf(process.platform === 'linux')('a folder of 100,000 entries', { timeout: LIMIT_MS }, () => {
  it.each(['S3', 'FTP'])(`(%s) is listed whole, and takes less than ${MAX_GROWN_MIB} MiB`, async (server) => {
    const listed = { entries: 100_000, name: usualName, padding: 0 };
    const { found, grownMib } = await outcomeOf(server, listed, { folders: ['folder'], how: 'list' });
    expect(found).toEqual([100_000]);
    expect(grownMib).toBeLessThan(MAX_GROWN_MIB);
  });
});
