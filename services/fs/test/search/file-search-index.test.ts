import { writeFile } from 'node:fs/promises';
import { makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { FIRST_STATE } from '../../src/domain/search/search-index.ts';
import { openFileSearchIndex } from '../../src/search-file/file-search-index.ts';
import { file, path } from './plain-scan.ts';
import { describeSearchIndex } from './search-index.suite.ts';

describeSearchIndex('in a file', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path);
  return {
    ...index,
    async close() {
      await index.close();
      await dir.remove();
    },
  };
});

it('what was answered is there after the file is opened again', async () => {
  const dir = await makeTempDir('search');
  const first = await openFileSearchIndex(dir.path);
  await first.openFolder(path('/'), 3, 1);
  await first.put(path('/'), [file('kept')], 1);
  await first.replaceState({ ...FIRST_STATE, isDone: true });
  await first.close();
  const second = await openFileSearchIndex(dir.path);
  expect([...(await second.children(path('/'))).keys()]).toEqual(['kept']);
  expect(await second.readState()).toMatchObject({ isDone: true, revision: 1 });
  await second.close();
  await expect(second.count()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await dir.remove();
});

it('a file that is damaged, or is something else, is replaced by an empty index', async () => {
  const dir = await makeTempDir('search');
  await writeFile(`${dir.path}/index.sqlite`, 'this is no database, but long enough to be looked at as one'.repeat(50));
  const index = await openFileSearchIndex(dir.path);
  expect(await index.count()).toBe(0);
  expect(await index.readState()).toEqual(FIRST_STATE);
  await index.close();
  await dir.remove();
});
