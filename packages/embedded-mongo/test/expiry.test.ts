import { makeTempDir } from '@wharf/harness';
import { deserialize, Int32 } from 'bson';
import { expect, it } from 'vitest';
import type { Doc } from '../src/bson/value.ts';
import { Engine } from '../src/server/engine.ts';
import { openStoreFile } from '../src/storage/open-store-file.ts';

it('of thousands of documents whose time has come some are removed, and others find the store free in between', async () => {
  const dir = await makeTempDir('expiry');
  const file = openStoreFile(dir.path);
  const failures: unknown[] = [];
  const engine = new Engine(file, { maxDocuments: 10_000, openConnections: () => 1, onUnforeseen: (error) => failures.push(error) });
  const run = (body: Doc) =>
    new Promise<Record<string, unknown>>((resolve) => {
      engine.submit({ body: { ...body, $db: 'test' }, connectionId: 1, answer: (document) => resolve(deserialize(document)) });
    });
  const count = async () => (await run({ count: 'things' }))['n'];
  const due = new Date(0);
  await run({ createIndexes: 'things', indexes: [{ key: { at: new Int32(1) }, name: 'at_1', expireAfterSeconds: new Int32(0) }] });
  await run({ insert: 'things', documents: Array.from({ length: 3_500 }, (_, index) => ({ _id: `due ${index}`, at: due })) });
  await run({ insert: 'things', documents: [{ _id: 'stays', at: new Date(Date.now() + 3_600_000) }] });
  engine.tidy();
  // A look that comes before the last is done begins no other one.
  engine.tidy();
  const seen = [await count()];
  while (seen.at(-1) !== 1) seen.push(await count());
  expect(seen[0]).toBeGreaterThan(1);
  expect(failures).toEqual([]);

  await run({ insert: 'things', documents: Array.from({ length: 3_500 }, (_, index) => ({ _id: `due ${index}`, at: due })) });
  engine.tidy();
  engine.drain();
  file.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(failures).toEqual([]);
  await dir.remove();
});
