import { expect, it } from 'vitest';
import { placeEntries } from '../domain/changing/operations/place-entries.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { openStorages } from '../domain/testing/three-storages.ts';
import { placementTasks } from './placement-tasks.ts';
import { CREATOR, runPlacement } from './testing/place-now.ts';

it('tasks that copy long folders list them one after the other where they take all the room: each holds all names until the end', async () => {
  const driver = createTestDriver('Long', ['rename', 'copy']);
  const memory = await openStorages({
    drivers: [driver.definition],
    storages: [{ mount_path: '/a', driver: 'Long' }, { mount_path: '/b' }],
  });
  for (const name of ['d', 'e']) await memory.put(`/a/${name}/f`, name);
  const store = driver.storeOf();
  const list = store.list.bind(store);
  let [underWay, most] = [0, 0];
  store.list = async function* (path, options = {}) {
    if (path.length > 1) options.beforeNames?.(Number.MAX_SAFE_INTEGER);
    underWay += 1;
    most = Math.max(most, underWay);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    yield* list(path, options);
    underWay -= 1;
  };
  const operation = memory.operation();
  const items: Item[] = [];
  const request = { src_dir: '/a', dst_dir: '/b', names: ['d', 'e'], overwrite: false, skip_existing: false };
  await placeEntries(operation, request, 'copy', async (queued) => void items.push(...queued));
  const tasks = placementTasks('copy', items, CREATOR);
  most = 0;
  await Promise.all(tasks.map(({ input }) => runPlacement(operation, 'copy', input)));
  expect([tasks.length, most, await memory.everything('/b')]).toEqual([2, 1, ['/b/d/f', '/b/e/f']]);
});
