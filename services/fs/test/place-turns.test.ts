import { createHash } from 'node:crypto';
import { waitFor } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSharedTurns } from '../src/store/place-turns.ts';
import { type Installation, openInstallation } from './installation.ts';

let installation: Installation;
let store: StoreConnection;
const { signal } = new AbortController();

beforeAll(async () => {
  installation = await openInstallation();
  store = await connectStore(installation.storeUrl);
});
afterAll(async () => {
  await store?.close();
  await installation?.close();
});

/** A replica, by its own clock. */
const replica = (clock: () => number = Date.now) => createSharedTurns(modelsOf(store), clock);

it('one replica has the turn at a place after the other, whoever waits longest or leaves', async () => {
  const takes = [replica(), replica()];
  let having = 0;
  let most = 0;
  const turn = async (index: number) => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    await takes[index % 2]?.('place', over, signal);
    having += 1;
    most = Math.max(most, having);
    await takes[0]?.(`other ${index}`, Promise.resolve(), signal);
    having -= 1;
    end();
  };
  await Promise.all([0, 1, 2, 3, 4, 5].map(turn));
  expect(most).toBe(1);

  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  await takes[0]?.('place', over, signal);
  const leaving = new AbortController();
  const left = takes.map((take) => take('place', new Promise(() => undefined), leaving.signal));
  leaving.abort(new Error('has left'));
  for (const each of left) await expect(each).rejects.toThrow('has left');
  const next = takes[1]?.('place', Promise.resolve(), signal);
  end();
  await next;
});

it('the turn of a replica that has ended is over after its lease, and of a clock that was set back at once', async () => {
  const never = new Promise<void>(() => undefined);
  await replica()('ended', never, signal);
  await replica(() => Date.now() + 31_000)('ended', never, signal);
  await replica(() => Date.now() - 120_000)('ended', Promise.resolve(), signal);
});

it('the turn that was taken while the answer was lost keeps nobody waiting for its lease', async () => {
  const models = modelsOf(store);
  let isLost = false;
  const placeTurns = new Proxy(models.placeTurns, {
    get(turns, key) {
      const known = Reflect.get(turns, key);
      if (key !== 'updateOne') return typeof known === 'function' ? known.bind(turns) : known;
      return async (...asked: Parameters<typeof turns.updateOne>) => {
        await turns.updateOne(...asked);
        isLost = true;
        throw new Error('the connection broke');
      };
    },
  });
  const take = createSharedTurns({ ...models, placeTurns }, Date.now);
  await expect(take('lost', Promise.resolve(), signal)).rejects.toThrow('the connection broke');
  expect(isLost).toBe(true);
  const left = { _id: createHash('sha256').update('lost').digest('hex') };
  await waitFor('the turn to be over', async () => (await models.placeTurns.countDocuments(left)) === 0);
});
