import { makeTempDir } from '@wharf/harness';
import { Int32 } from 'bson';
import { expect, it } from 'vitest';
import type { Doc } from '../src/bson/value.ts';
import { Engine } from '../src/server/engine.ts';
import { openStoreFile } from '../src/storage/open-store-file.ts';

const DUE = 2_500;

it('documents that are due at the same time go in several turns, with those of others in between', async () => {
  const dir = await makeTempDir('tidy');
  const file = openStoreFile(dir.path);
  const engine = new Engine(file, { maxDocuments: 10_000, openConnections: () => 1, onUnforeseen: () => {} });
  const run = (body: Doc) => {
    engine.submit({ body: { ...body, $db: 'test' }, connectionId: 1, answer: () => {} });
    engine.drain();
  };
  try {
    const at = new Date(Date.now() - 60_000);
    run({ createIndexes: 'things', indexes: [{ key: { at: new Int32(1) }, name: 'at_1', expireAfterSeconds: new Int32(1) }] });
    run({ insert: 'things', documents: Array.from({ length: DUE }, (_, index) => ({ _id: new Int32(index), at })) });
    let turns = 1;
    while (engine.tidy()) turns += 1;
    expect(turns).toBeGreaterThan(DUE / 1_000);
    expect(engine.tidy()).toBe(false);
  } finally {
    file.close();
    await dir.remove();
  }
});
