import { mkdir, writeFile } from 'node:fs/promises';
import { startStandalone, waitFor } from '@wharf/harness';
import { afterAll, expect, test } from 'vitest';
import { indexDone, searchAs } from './scenarios/search.ts';
import { saveSettings } from './support/settings.ts';
import { openWorld } from './support/world.ts';

const FOLDERS = 300;
const FILES = 10;

const world = await openWorld(startStandalone);
afterAll(() => world.close());

test('a build that a crash cut off goes on after the next start, and its index outlives the process', async () => {
  const { path, disk } = await world.folder('many');
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    await mkdir(`${disk}/folder ${folder}`);
    for (let file = 0; file < FILES; file += 1) await writeFile(`${disk}/folder ${folder}/file ${file}.txt`, '');
  }
  await saveSettings(world, { search_index: 'database' });
  await world.admin.call('/api/admin/index/build', {});
  await waitFor('the first entries', async () => Number((await searchAs(world.admin, { parent: path, per_page: 1 })).total) > 0);
  await world.wharf.kill();
  await world.wharf.restart();
  await indexDone(world.admin);
  expect(await searchAs(world.admin, { parent: path, keywords: 'file', scope: 2, per_page: 1 })).toMatchObject({ total: FOLDERS * FILES });
  await world.wharf.restart();
  expect(await searchAs(world.admin, { parent: path, keywords: 'older', scope: 1, per_page: 1 })).toMatchObject({ total: FOLDERS });
});
