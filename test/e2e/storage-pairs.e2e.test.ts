import { startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { KINDS, type Kind, mountEvery, startServers } from './support/every-storage.ts';
import { carry, carryThroughKill, clear, plantTree, treeOf } from './support/storage-pairs.ts';
import { waitForNone } from './support/wait-for-none.ts';
import { openWorld } from './support/world.ts';

type Pair = readonly [from: Kind, to: Kind];

const FILES = Number(process.env.WHARF_E2E_FILES ?? 12);
/** All ordered pairs are for a long run: `WHARF_E2E_PAIRS=all`. */
const IS_WHOLE = process.env.WHARF_E2E_PAIRS === 'all';
/** Each kind to the next. */
const RING: readonly Pair[] = KINDS.map((from, index) => [from, KINDS[(index + 1) % KINDS.length] ?? 'Local']);
const PAIRS: readonly Pair[] = IS_WHOLE ? KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const)) : RING;
/** Wharf itself is killed: copies and moves in turns. */
const KILLED: readonly Pair[] = RING.slice(0, IS_WHOLE ? 6 : 2);
/** The server of the target is: those that keep what they have. */
const RESTARTED: readonly Pair[] = IS_WHOLE
  ? [
      ['S3', 'SFTP'],
      ['Crypt', 'WebDav'],
      ['Local', 'FTP'],
      ['WebDav', 'SMB'],
    ]
  : [];
const servers = await startServers({ sizeBytes: (IS_WHOLE ? 8 : 2) * 1024 ** 3 });

describe.runIf(servers !== undefined)('trees between all kinds of storages', async () => {
  if (servers === undefined) return;
  const world = await openWorld(startStandalone);
  const every = await mountEvery(world, servers);
  const { places } = every;
  afterAll(async () => {
    await world.close();
    await every.stop();
  });
  await plantTree(world, `${places.Local.folder}/origin/tree`, FILES);
  const planted = await treeOf(world, `${places.Local.folder}/origin/tree`);
  const others = KINDS.filter((kind) => kind !== 'Local');
  for (const kind of others) await carry(world, 'copy', `${places.Local.folder}/origin`, 'tree', `${places[kind].folder}/origin`);

  test('the tree is what was planted', () => {
    expect(planted).toHaveLength(FILES + 1);
  });

  test.each(PAIRS)('%s to %s: a copy has every byte, and moved back it leaves nothing behind', async (from, to) => {
    const [there, back] = [`of-${from}`, `back-from-${to}`];
    const [source, target] = [places[from].folder, places[to].folder];
    await carry(world, 'copy', `${source}/origin`, 'tree', `${target}/${there}`);
    expect(await treeOf(world, `${target}/${there}/tree`)).toEqual(planted);
    await carry(world, 'move', `${target}/${there}`, 'tree', `${source}/${back}`);
    expect(await treeOf(world, `${source}/${back}/tree`)).toEqual(planted);
    expect(await treeOf(world, `${target}/${there}`)).toEqual(['/']);
    await clear(world, target, there);
    await clear(world, source, back);
  });

  const disturbed = [
    ...KILLED.map((pair, index) => [...pair, index % 2 === 0 ? 'copy' : 'move', 'Wharf'] as const),
    ...RESTARTED.map((pair, index) => [...pair, index % 2 === 0 ? 'move' : 'copy', 'its server'] as const),
  ];
  test.each(disturbed)('%s to %s: when in the middle of a %s %s is killed, nothing is lost', async (from, to, verb, who) => {
    const source = verb === 'copy' ? `${places[from].folder}/origin` : `${places[from].folder}/away`;
    if (verb === 'move') await carry(world, 'copy', `${places[from].folder}/origin`, 'tree', source);
    const way = places[to].way ?? places[from].way;
    if (!way) throw new Error('neither storage has a way');
    const target = `${places[to].folder}/through`;
    await carryThroughKill(world, verb, { from: source, name: 'tree', to: target }, way, async () => {
      if (who !== 'Wharf') return places[to].restart?.();
      await world.wharf.kill();
      await world.wharf.restart();
    });
    expect(await treeOf(world, `${target}/tree`)).toEqual(planted);
    expect(await treeOf(world, source)).toEqual(verb === 'move' ? ['/'] : planted.map((line) => `/tree${line}`).sort());
    await waitForNone('our half-done work', every.leftovers, { withinMs: 30_000 });
    await clear(world, places[to].folder, 'through');
    if (verb === 'move') await clear(world, places[from].folder, 'away');
  });
});
