import { expect, it } from 'vitest';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
import { openLimited } from '../../testing/limited-storage.ts';
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
  const memory = await openLimited(store);
  const names = Array.from({ length: 16 }, (_, index) => `f${index}`);
  for (const name of names) await memory.put(`/from/${name}`);
  await memory.makeFolder('/to');
  const request = { src_dir: '/from', dst_dir: '/to', names, overwrite: false, skip_existing: false };
  expect(await planPlacement(memory.operation(), request, 'copy')).toHaveLength(names.length);
  expect(most).toBe(2);
});
