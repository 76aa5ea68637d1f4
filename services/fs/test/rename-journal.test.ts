import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { waitFor } from '@wharf/harness';
import { parseEntryName, parseVirtualPath } from '@wharf/paths';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JournaledRenames } from '../src/domain/operations/rename-journal.ts';
import { createRenameJournalStore } from '../src/store/rename-journal-store.ts';
import { as, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';

let installation: Installation;
let connection: StoreConnection;
beforeAll(async () => {
  installation = await openInstallation();
  connection = await connectStore(installation.storeUrl);
});
afterAll(async () => {
  await connection?.close();
  await installation?.close();
});

const at = (ms: number) => new Date(ms);
const renames = (id: string): JournaledRenames => ({
  id,
  storageId: 3,
  folder: parseVirtualPath('/a/b c'),
  steps: [
    { from: parseEntryName('one'), to: parseEntryName('zwei ä') },
    { from: parseEntryName('zwei ä'), to: parseEntryName(' drei.') },
  ],
  closing: -1,
  createdAt: at(5),
});

it("an entry is its holder's until its lease runs out, and then one other's", async () => {
  const store = createRenameJournalStore(connection);
  await store.init();
  await store.insert(renames('r1'), 'first', at(100));
  expect(await store.takeExpired(at(100), 'early', at(300))).toBeUndefined();
  expect(await store.renew('r1', 'first', at(200))).toBe(true);
  expect(await store.setClosing('r1', 'first', 1)).toBe(true);
  expect(await store.takeExpired(at(150), 'early', at(300))).toBeUndefined();
  const taken = await Promise.all(Array.from({ length: 8 }, (_, index) => store.takeExpired(at(201), `taker ${index}`, at(400))));
  expect(taken.filter(Boolean)).toEqual([{ ...renames('r1'), closing: 1 }]);
  const holder = `taker ${taken.findIndex(Boolean)}`;
  for (const outcome of [store.renew('r1', 'first', at(900)), store.setClosing('r1', 'first', 0), store.remove('r1', 'first')])
    expect(await outcome).toBe(false);
  expect(await store.remove('r1', holder)).toBe(true);
  expect(await store.remove('r1', holder)).toBe(false);
});

it('what a killed replica left half renamed, another one changes back', { timeout: 120_000 }, async () => {
  const folder = `${installation.dir}/renamed`;
  await mkdir(folder);
  const names = Array.from({ length: 400 }, (_, index) => `file ${index}`);
  await Promise.all(names.map((name) => writeFile(`${folder}/${name}`, name)));
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
  const [first, second] = await Promise.all([startFsProcess(installation), startFsProcess(installation)]);
  try {
    const rename_objects = names.map((src_name) => ({ src_name, new_name: `${src_name} renamed` }));
    const cutOff = first.fs.batchRename({ src_dir: '/l', rename_objects }, as()).catch(() => 'cut off');
    await waitFor('some to be renamed', async () => (await readdir(folder)).some((name) => name.endsWith('renamed')), { everyMs: 1 });
    await first.kill();
    expect(await cutOff).toBe('cut off');
    expect((await readdir(folder)).toSorted()).not.toEqual(names.toSorted());
    await waitFor('the names to be changed back', async () => !(await readdir(folder)).some((name) => name.endsWith('renamed')), {
      withinMs: 60_000,
    });
    expect((await readdir(folder)).toSorted()).toEqual(names.toSorted());
  } finally {
    await Promise.all([first.stop(), second.stop()]);
  }
});
