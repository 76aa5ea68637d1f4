import { AppError } from '@wharf/errors';
import { modelsOf } from '@wharf/models';
import { type Call, connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnce, type Once } from '../src/store/answered-calls.ts';
import { type Installation, openInstallation, USER } from './installation.ts';

let installation: Installation;
let store: StoreConnection;
let replicas: readonly [Once, Once];
const { signal } = new AbortController();
const callOf = (onceKey: string | undefined, id: number = USER.id): Call => ({
  identity: { ...USER, id },
  requestId: 'test',
  revisions: { auth: 0, admin: 0 },
  signal,
  ...(onceKey !== undefined && { onceKey }),
});

beforeAll(async () => {
  installation = await openInstallation();
  store = await connectStore(installation.storeUrl);
  const models = modelsOf(store);
  replicas = [createOnce(models, Date.now, 500), createOnce(models, Date.now, 500)];
});
afterAll(async () => {
  await store?.close();
  await installation?.close();
});

/** Something that counts how often it was done. */
function work(fail?: AppError) {
  const done = { times: 0 };
  const run = async () => {
    done.times += 1;
    if (fail) throw fail;
    return { moved: done.times };
  };
  return { done, run };
}

describe('what is asked for under one key', () => {
  it('is done once, by whatever replica, and answered alike', async () => {
    const { done, run } = work();
    for (const once of [...replicas, ...replicas]) expect(await once(callOf('key-of-sixteen-1'), run)).toEqual({ moved: 1 });
    expect(done.times).toBe(1);
  });

  it('is done again under another key, of another user, or without one', async () => {
    const { done, run } = work();
    const [once] = replicas;
    for (const call of [
      callOf('key-of-sixteen-2'),
      callOf('key-of-sixteen-3'),
      callOf('key-of-sixteen-3', 4_711),
      callOf(undefined),
      callOf(undefined),
    ])
      await once(call, run);
    expect(done.times).toBe(5);
  });

  it('fails as it failed, and is done anew where a failure leaves nothing', async () => {
    const { done, run } = work(new AppError('ENTRY_NOT_FOUND', 'object not found'));
    for (const once of replicas)
      await expect(once(callOf('key-of-sixteen-4'), run)).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND', message: 'object not found' });
    expect(done.times).toBe(1);
    for (const once of replicas)
      await expect(once(callOf('key-of-sixteen-5'), run, { leavesNothing: true })).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
    expect(done.times).toBe(3);
  });

  it('is waited for while it is being done', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const first = replicas[0](callOf('key-of-sixteen-6'), () => promise);
    const { done, run } = work();
    // Whichever comes first.
    const second = replicas[1](callOf('key-of-sixteen-6'), run).catch(() => ({ moved: 'late' }));
    resolve({ moved: 'first' });
    const answers = await Promise.all([first, second]);
    expect(answers[0]).toEqual({ moved: 'first' });
    expect(done.times).toBeLessThan(2);
  });

  it('is not done again where nobody knows what came of it', async () => {
    const never = replicas[0](callOf('key-of-sixteen-7'), () => new Promise<object>(() => undefined));
    void never.catch(() => undefined);
    const { done, run } = work();
    await modelsOf(store).answeredCalls.findOne({}).lean();
    const long = 'x'.repeat(100_000);
    await replicas[0](callOf('key-of-sixteen-8'), async () => ({ long }));
    for (const key of ['key-of-sixteen-7', 'key-of-sixteen-8'])
      await expect(replicas[1](callOf(key), run)).rejects.toMatchObject({
        code: 'FAILED_PRECONDITION',
        message: expect.stringContaining('look at what is there'),
      });
    expect(done.times).toBe(0);
  });

  it('is done in a store without room, for whoever removes makes some', async () => {
    const models = modelsOf(store);
    const full = Object.assign(new Error('no room'), { code: 14_031 });
    const answeredCalls = Object.assign(Object.create(models.answeredCalls), { create: () => Promise.reject(full) });
    const { done, run } = work();
    await createOnce({ ...models, answeredCalls }, Date.now)(callOf('key-of-sixteen-9'), run);
    expect(done.times).toBe(1);
  });

  it('is done each time by who sends more than is kept', async () => {
    const once = createOnce(modelsOf(store), Date.now);
    const { done, run } = work();
    for (let number = 0; number < 2_000; number += 1) await once(callOf(`many-of-sixteen-${number}`, 4_712), async () => ({}));
    for (let round = 0; round < 2; round += 1) await once(callOf('one-more-of-sixteen', 4_712), run);
    expect(done.times).toBe(2);
  });
});
