import { describe, expect, it } from 'vitest';
import type { Storage } from './storage.ts';
import { createStorageStarter } from './storage-starter.ts';
import { storageFields } from './testing/fields.ts';

const storage = (id: number, rest: Partial<Storage> = {}): Storage => ({
  ...storageFields({ mount_path: `/${id}` }),
  id,
  status: '',
  modified: new Date(0),
  version: `v${id}`,
  ...rest,
});

function setUp(reload: (id: number) => Promise<{ status: string; addition: string }>) {
  const outcomes: unknown[] = [];
  const errors: unknown[] = [];
  const starter = createStorageStarter({
    reload,
    writeOutcome: async ({ id }, status, addition) => {
      outcomes.push([id, status, addition]);
      return true;
    },
    onError: (error) => errors.push(error),
  });
  return { starter, outcomes, errors };
}

describe('the storage starter', () => {
  it.each([
    ['works', 'work', '{"a":1}', undefined, [[1, 'work', '{"a":1}']]],
    ['works with the same addition', 'work', '{}', undefined, [[1, 'work', undefined]]],
    ['fails', 'no such folder', '', 'no such folder', [[1, 'no such folder', undefined]]],
    ['was disabled meanwhile', 'disabled', '', undefined, []],
    ['was deleted meanwhile', '', '', 'the storage is gone', []],
  ])('of a storage that %s', async (_what, status, addition, answer, written) => {
    const { starter, outcomes } = setUp(async () => ({ status, addition }));
    expect(await starter.start(storage(1), 1)).toBe(answer);
    expect(outcomes).toEqual(written);
  });

  it('writes nothing for a disabled storage, whatever fs says', async () => {
    const { starter, outcomes } = setUp(async () => ({ status: 'a service cannot be reached', addition: '' }));
    expect(await starter.start(storage(1, { disabled: true }), 1)).toBeUndefined();
    expect(outcomes).toEqual([]);
  });

  it('starts four at a time in the background, all of them, and waits for them when it stops', async () => {
    let running = 0;
    let most = 0;
    const { starter, outcomes } = setUp(async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return { status: 'work', addition: '' };
    });
    const all = Array.from({ length: 10 }, (_, id) => storage(id));
    starter.startInBackground(all, 1);
    starter.startInBackground(all, 2);
    while (outcomes.length < 10) await new Promise((resolve) => setImmediate(resolve));
    await starter.stop();
    expect([most, running, outcomes.length]).toEqual([4, 0, 10]);
  });

  it('begins nothing further once it stops', async () => {
    const gates: Array<() => void> = [];
    const { starter, outcomes } = setUp(async () => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return { status: 'work', addition: '' };
    });
    starter.startInBackground(
      Array.from({ length: 10 }, (_, id) => storage(id)),
      1,
    );
    const stopped = starter.stop();
    for (const open of gates) open();
    await stopped;
    expect(outcomes).toHaveLength(4);
  });
});
