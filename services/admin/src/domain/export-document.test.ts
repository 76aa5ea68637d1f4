import { countTurns } from '@wharf/harness';
import { createPace } from '@wharf/pace';
import { expect, it } from 'vitest';
import { type ConfigurationState, documentPieces, secretsOf } from './export-document.ts';
import { ruleFields, storageFields } from './testing/fields.ts';

const KIB = 1024;
/** Six characters each in the file. */
const text = '\u0001'.repeat(64 * KIB);
const rule = ruleFields({ password: 'p', readme: text });
const storage = storageFields({ addition: JSON.stringify({ token: 'x'.repeat(60 * KIB) }) });
const state: ConfigurationState = {
  ...{ settings: [], users: [], secretItemsOf: () => new Set(['token']) },
  rules: Array.from({ length: 60 }, (_, id) => ({ ...rule, id, path: `/${id}` })),
  storages: Array.from({ length: 60 }, (_, id) => ({
    ...{ ...storage, id, mount_path: `/${id}`, status: '', modified: new Date(0), version: '' },
  })),
};

it('a file of much comes in pieces of a record or a few, and others have their turns in between', async () => {
  const turns = countTurns();
  const pieces = await Array.fromAsync(documentPieces(state, new Date(0), undefined, createPace()));
  turns.stop();
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(700 * KIB);
  expect(turns.count()).toBeGreaterThan(0);
  const { metas, storages } = JSON.parse(pieces.join(''));
  expect([metas.length, metas[59].readme === text, storages.length, storages[59].omitted]).toEqual([60, true, 60, ['token']]);
});

it('its secrets are those that it leaves out', async () => {
  const { storages, metas } = await secretsOf(state, createPace());
  expect([Object.keys(storages).length, storages['/59'], Object.keys(metas).length, metas['/59']]).toEqual([60, storage.addition, 60, 'p']);
});
