import { AppError } from '@wharf/errors';
import { parseEntryName } from '@wharf/paths';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryJournal, openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { batchRename } from './batch-rename.ts';
import { type JournaledRenames, RENAME_LEASE_MS } from './rename-journal.ts';
import { recoverRenames } from './take-back-renames.ts';

const FIRST = ['a', 'b', 'c', 'd', 'e', 'f'];
const NEVER = new Promise<never>(() => {});

/** A folder of files that are filled with their first names, on a storage that can be made to hang. */
async function openFolder(clock: () => number = Date.now) {
  const storage = createTestDriver('Hanging');
  const memory = await openTree({ storages: [{ driver: 'Hanging' }], drivers: [storage.definition], clock });
  for (const name of FIRST) await memory.put(`/d/${name}`, name);
  const journal = memoryJournal(clock);
  const rename = (pairs: readonly (readonly [string, string])[]) =>
    batchRename(memory.operation(), journal, {
      src_dir: '/d',
      rename_objects: pairs.map(([src_name, new_name]) => ({ src_name, new_name })),
    });
  const failures: [unknown, JournaledRenames][] = [];
  const recover = (before?: Date) =>
    recoverRenames(journal, {
      frame: async () => memory.operation(),
      clock,
      before,
      onError: (error, renames) => failures.push([error, renames]),
    });
  const texts = async () => {
    const found: Record<string, string> = {};
    for (const path of await memory.everything('/d')) found[path.slice(3)] = await memory.textOf(path);
    return found;
  };
  return { storage, memory, journal, rename, recover, texts, failures };
}
const unchanged = Object.fromEntries(FIRST.map((name) => [name, name]));

it('wherever a process dies, all names are as they were afterwards, or all are changed', async () => {
  const names = fc.shuffledSubarray([...FIRST, 'g', 'h'], { minLength: FIRST.length, maxLength: FIRST.length });
  await fc.assert(
    fc.asyncProperty(names, fc.nat(40), async (targets, survivedCalls) => {
      const { storage, rename, recover, texts, failures } = await openFolder();
      const died = Promise.withResolvers<'dead'>();
      let calls = 0;
      // What hangs for good is dead, for all that anybody sees.
      storage.beforeCalls(async () => {
        calls += 1;
        if (calls <= survivedCalls) return;
        died.resolve('dead');
        await NEVER;
      });
      const renamed = rename(FIRST.map((name, at) => [name, targets[at] ?? ''])).then(() => 'done');
      const outcome = await Promise.race([renamed, died.promise]);
      storage.beforeCalls(async () => {});
      await recover(new Date(Date.now() + RENAME_LEASE_MS + 1_000));
      expect(failures).toEqual([]);
      const changed = Object.fromEntries(FIRST.map((name, at) => [targets[at], name]));
      expect(await texts()).toEqual(outcome === 'done' ? changed : unchanged);
    }),
    { numRuns: 300 },
  );
});

it('a storage that refuses everything in the middle has its names back when it takes changes again', async () => {
  let now = 1_000_000;
  const { storage, rename, recover, texts, failures } = await openFolder(() => now);
  let left = 12;
  storage.beforeCalls(async () => {
    left -= 1;
    if (left < 0) throw new AppError('PERMISSION_DENIED', 'read-only by now');
  });
  const [code, message] = await refusalOf(rename(FIRST.map((name, at) => [name, FIRST[(at + 1) % FIRST.length] ?? ''])));
  expect(code).toBe('PERMISSION_DENIED');
  expect(message).toContain('what has another name already gets its own back later');
  now += RENAME_LEASE_MS + 1;
  await recover();
  expect(failures).toHaveLength(1);
  storage.beforeCalls(async () => {});
  expect(await texts()).not.toEqual(unchanged);
  await recover();
  expect(await texts()).not.toEqual(unchanged);
  now += 60_001;
  await recover();
  expect(await texts()).toEqual(unchanged);
});

it('what can never be taken back is given up after a day', async () => {
  let now = 1_000_000;
  const { memory, journal, recover, failures } = await openFolder(() => now);
  const { mount } = memory.tree.table.locate(vpath('/d')) ?? {};
  await journal.begin({ storageId: (mount?.storage._id ?? 0) + 7, folder: vpath('/d'), steps: [] });
  for (const ms of [RENAME_LEASE_MS + 1, 60_001, 86_400_000, 86_400_000]) {
    now += ms;
    await recover();
  }
  expect(failures).toHaveLength(3);
});

it('whoever was taken for dead changes nothing more, and says so', async () => {
  const { storage, rename, recover, texts } = await openFolder();
  let calls = 0;
  storage.beforeCalls(async () => {
    calls += 1;
    // Of the looks before the journal has anything, and of the first rename.
    if (calls <= 3) await recover(new Date(Date.now() + RENAME_LEASE_MS + 1_000));
  });
  expect(await refusalOf(rename([['a', 'x']]))).toEqual(['STALE_VERSION', 'this took too long, and the names were changed back']);
  expect(await texts()).toEqual(unchanged);
});

it('names that no document of the store could hold are refused before anything changes', async () => {
  const { journal } = await openFolder();
  const long = parseEntryName('x'.repeat(255));
  const steps = Array.from({ length: 30_000 }, () => ({ from: long, to: long }));
  expect((await refusalOf(journal.begin({ storageId: 1, folder: vpath('/d'), steps })))[0]).toBe('INVALID_ARGUMENT');
});
