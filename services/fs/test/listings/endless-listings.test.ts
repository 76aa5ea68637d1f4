import { fileURLToPath } from 'node:url';
import { programFlags, startProcess } from '@wharf/harness';
import { expect, it } from 'vitest';
import { ENDLESS_SERVERS, type Listed } from './endless-servers.ts';
import type { Outcome, Work } from './main.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
async function outcomeOf(work: Work): Promise<Outcome> {
  const running = await startProcess<Outcome>({
    name: 'listings',
    command: process.execPath,
    args: [...programFlags(), MAIN, JSON.stringify(work)],
    readyWithinMs: 300_000,
    ready: { line: (line) => (line.startsWith('done ') ? (JSON.parse(line.slice(5)) as Outcome) : undefined) },
  });
  return running.ready;
}
const SHAPES: Record<string, Listed> = {
  short: { entries: undefined, name: (index) => index.toString(36), padding: 0 },
  common: { entries: undefined, name: (index) => `a picture ${String(index).padStart(6, '0')}.jpg`, padding: 0 },
  long: { entries: undefined, name: (index) => String(index).padStart(255, 'n'), padding: 0 },
  padded: { entries: undefined, name: (index) => `a picture ${String(index).padStart(6, '0')}.jpg`, padding: 6_000 },
};
const HONEST: Listed = { entries: 1_000, name: (index) => `file-${index}.txt`, padding: 0 };
const BIG: Listed = { entries: 100_000, name: (index) => `a picture ${String(index).padStart(6, '0')}.jpg`, padding: 0 };
const only = process.env['ONLY'];
it.each(Object.entries(ENDLESS_SERVERS).flatMap(([name, start]) => [...Object.keys(SHAPES), 'big'].map((shape) => [name, shape, start] as const)).filter(([name, shape]) => !only || `${name}/${shape}`.match(only)))(
  '%s %s',
  { timeout: 600_000 },
  async (name, shape, start) => {
    const storage = await start((folder) => (folder === 'warm' ? HONEST : folder.startsWith('big') ? BIG : (SHAPES[shape] as Listed)));
    const folders = shape === 'big' ? ['big'] : Array.from({ length: Number(process.env['COUNT'] ?? 8) }, (_, index) => `endless-${index}`);
    const walks = process.env['WALKS'] !== undefined;
    console.log(name, shape, JSON.stringify(await outcomeOf({ ...storage, warm: 'warm', folders, walks })));
    expect(1).toBe(1);
  },
);
