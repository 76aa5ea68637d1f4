import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineDriver } from '../../../driver-contract/define-driver.ts';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { openTree } from '../../testing/memory-tree.ts';
import { planPlacement } from './plan-placement.ts';

it('the looks of one plan leave turns of the storage to others', async () => {
  const store = new MemoryDriver();
  const stat = store.stat.bind(store);
  let [asking, most] = [0, 0];
  store.stat = async (path, options) => {
    asking += 1;
    most = Math.max(most, asking);
    await new Promise(setImmediate);
    asking -= 1;
    return stat(path, options);
  };
  const definition = defineDriver({
    name: 'Limited',
    label: 'Limited',
    configSchema: z.object({}),
    limits: { names: 4, reads: 4, writes: 4 },
    open: async () => store,
  });
  const memory = await openTree({ drivers: [definition], storages: [{ driver: 'Limited' }] });
  const names = Array.from({ length: 16 }, (_, index) => `f${index}`);
  for (const name of names) await memory.put(`/from/${name}`);
  await memory.makeFolder('/to');
  const request = { src_dir: '/from', dst_dir: '/to', names, overwrite: false, skip_existing: false };
  expect(await planPlacement(memory.operation(), request, 'copy')).toHaveLength(names.length);
  expect(most).toBe(2);
});
