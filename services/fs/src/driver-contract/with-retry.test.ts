import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { bytesOf, mpath, textOf } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import type { StorageDriver } from './storage-driver.ts';
import { withRetry } from './with-retry.ts';

async function setUp(failures: number, code: 'STORAGE_UNAVAILABLE' | 'DEADLINE_EXCEEDED' | 'ENTRY_NOT_FOUND' = 'STORAGE_UNAVAILABLE') {
  const test = createTestDriver('Test');
  await test.storeOf().write(mpath('/f'), bytesOf('text'), { overwrite: true });
  let calls = 0;
  test.beforeCalls(async () => {
    calls += 1;
    if (calls <= failures) throw new AppError(code, `failure ${calls}`);
  });
  const driver = (await test.definition.open('{}')) as Required<StorageDriver>;
  return { driver: withRetry(driver, [1, 1]) as Required<StorageDriver>, calls: () => calls };
}

describe('a read of a storage that is not there for a moment', () => {
  it.each<[string, (driver: Required<StorageDriver>) => Promise<unknown>]>([
    ['a look', (driver) => driver.stat(mpath('/f'))],
    ['a listing', (driver) => Array.fromAsync(driver.list(mpath('/')))],
    ['an opening', async (driver) => textOf(await driver.read(mpath('/f')))],
    ['names', (driver) => driver.listNames(mpath('/'), undefined)],
  ])('is tried three times: %s', async (_what, read) => {
    const twice = await setUp(2);
    await read(twice.driver);
    expect(twice.calls()).toBe(3);
    const thrice = await setUp(3);
    expect(await refusalOf(read(thrice.driver))).toEqual(['STORAGE_UNAVAILABLE', 'failure 3']);
  });

  it('is tried when the storage said, but not where that is too long', async () => {
    for (const [retryAfterMs, outcome] of [
      [1, 'answered'],
      [3_600_000, 'refused'],
    ] as const) {
      const test = createTestDriver('Test');
      let calls = 0;
      test.beforeCalls(async () => {
        calls += 1;
        if (calls === 1) throw new AppError('STORAGE_UNAVAILABLE', 'slow down', { details: { retryAfterMs } });
      });
      const driver = withRetry(await test.definition.open('{}'), [3_600_000, 3_600_000]);
      const look = driver.stat(mpath('/'));
      if (outcome === 'answered') await look;
      else expect(await refusalOf(look)).toEqual(['STORAGE_UNAVAILABLE', 'slow down']);
    }
  });

  it('is not tried again when it was answered, or took all its time', async () => {
    for (const code of ['ENTRY_NOT_FOUND', 'DEADLINE_EXCEEDED'] as const) {
      const { driver, calls } = await setUp(1, code);
      expect(await refusalOf(driver.stat(mpath('/f')))).toEqual([code, 'failure 1']);
      expect(calls()).toBe(1);
    }
  });

  it('ends with its caller', async () => {
    const { driver } = await setUp(9);
    const gone = new AbortController();
    const reading = refusalOf(withRetry(driver, [60_000]).stat(mpath('/f'), { signal: gone.signal }));
    gone.abort();
    expect((await reading)[0]).toBe('CANCELLED');
  });
});

describe('what is not repeated', () => {
  it('changes the storage', async () => {
    for (const change of [
      (driver: Required<StorageDriver>) => driver.write(mpath('/g'), bytesOf('x'), { overwrite: true }),
      (driver: Required<StorageDriver>) => driver.makeDirectory(mpath('/d')),
    ]) {
      const { driver, calls } = await setUp(1);
      expect(await refusalOf(change(driver))).toEqual(['STORAGE_UNAVAILABLE', 'failure 1']);
      expect(calls()).toBe(1);
    }
  });

  it('was handed out in part', async () => {
    const { driver } = await setUp(0);
    let begun = 0;
    const breaking = {
      ...driver,
      async *list() {
        begun += 1;
        yield await driver.stat(mpath('/f'));
        throw new AppError('STORAGE_UNAVAILABLE', 'in the middle');
      },
    };
    const seen: string[] = [];
    const listing = async () => {
      for await (const { name } of withRetry(breaking, [1, 1]).list(mpath('/'))) seen.push(name);
    };
    expect(await refusalOf(listing())).toEqual(['STORAGE_UNAVAILABLE', 'in the middle']);
    expect([seen, begun]).toEqual([['f'], 1]);
  });
});
