import { expect, it } from 'vitest';
import { placeEntries } from '../changing/operations/place-entries.ts';
import { regexRename } from '../changing/operations/regex-rename.ts';
import { removeEntries } from '../changing/operations/remove-entries.ts';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { createQuotas, type QuotaLedger } from './quota.ts';

it('what changes beside the roots of others concerns none of them: each would cost the store a write', async () => {
  const concerned: string[][] = [];
  const ledger = {
    relocate: async (owners: readonly string[]) => void concerned.push([...owners]),
    relocated: async () => {},
  } as unknown as QuotaLedger;
  const bases = ['/homes/a', '/homes/B/deep', '/homes', '/other', '/homes/ab'];
  const limits = new Map(bases.map((base, id) => [id, { bytes: 1, basePath: vpath(base) }]));
  const memory = await openTree({ quotas: createQuotas(ledger, Date.now)(limits) });
  for (const path of ['/homes/x', '/homes/y', '/homes/z', '/homes/b/deep/f', '/homes/a/f']) await memory.put(path);
  const operation = memory.operation();
  const place = { overwrite: false, skip_existing: false };
  const queue = async () => expect.fail('nothing is queued');
  await removeEntries(operation, { dir: '/homes', names: ['x'] });
  await regexRename(operation, { src_dir: '/homes', src_name_regex: '^y$', new_name_regex: 'w' }, queue);
  await placeEntries(operation, { src_dir: '/homes', dst_dir: '/other', names: ['z'], ...place }, 'move', queue);
  await removeEntries(operation, { dir: '/homes', names: ['b'] });
  await removeEntries(operation, { dir: '/homes/a', names: ['f'] });
  expect(concerned).toEqual([['/homes'], ['/homes'], ['/homes', '/other'], ['/homes/B/deep', '/homes'], ['/homes/a', '/homes']]);
});
