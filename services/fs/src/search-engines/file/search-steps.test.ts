import { makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { file, path } from '../../../test/search/plain-scan.ts';
import { createRuleBook } from '../../domain/access/rule-book.ts';
import { actor } from '../../domain/testing/memory-tree.ts';
import { createIndexOperations } from './index-operations.ts';
import { openIndexFile } from './schema.ts';
import { searchSteps } from './search-steps.ts';
import { createStatements, type Statements } from './statements.ts';

it('a search that is cut goes on where it was, with a number from which the grams can begin: they take whole ones alone', async () => {
  const dir = await makeTempDir('search');
  const index = openIndexFile(`${dir.path}/index.sqlite`);
  const operations = createIndexOperations(index);
  operations.openFolder(path('/'), 1, 1);
  const many = Array.from({ length: 1_000 }, (_, number) => file(`one of many ${number}`));
  for (const steps = operations.put(path('/'), many, 1); !steps.next().done; );

  const real = createStatements(index.reader);
  const begun: unknown[] = [];
  const each: Statements['each'] = (find, ...values) => {
    begun.push(values.at(-1));
    const rows = real.each(find, ...values);
    const cutOnce = function* () {
      let passed = 0;
      for (const row of rows) {
        yield row;
        passed += 1;
        if (begun.length === 1 && passed === 600) real.cut();
      }
    };
    return Object.assign(cutOnce(), { wasCut: rows.wasCut });
  };
  const viewer = { actor: actor(), password: '', rules: [] };
  const query = { words: ['many'], scope: 'all', parent: path('/'), page: 1, perPage: 10, viewer } as const;
  const steps = searchSteps({ ...real, each }, query, createRuleBook([]));
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(step.value.total).toBe(many.length);
  expect(begun).toEqual([0n, 600n]);
  index.close();
  await dir.remove();
});
