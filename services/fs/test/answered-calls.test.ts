import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { modelsOf } from '@wharf/models';
import { type Call, connectStore, createInternalTokens, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createOnce, type Once } from '../src/store/answered-calls.ts';
import { type Installation, openInstallation, USER } from './installation.ts';

let installation: Installation;
let store: StoreConnection;
let replicas: readonly [Once, Once];
const { signal } = new AbortController();
const ASKED = ['removeEntries', ['a']];
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
    for (const once of [...replicas, ...replicas]) expect(await once(callOf('key-of-sixteen-1'), ASKED, run)).toEqual({ moved: 1 });
    expect(done.times).toBe(1);
  });

  it('is done again under another key, of another user or below another folder, without one, or where another call had it', async () => {
    const { done, run } = work();
    const [once] = replicas;
    for (const call of [
      callOf('key-of-sixteen-2'),
      callOf('key-of-sixteen-3'),
      callOf('key-of-sixteen-3', 4_711),
      { ...callOf('key-of-sixteen-3'), identity: { ...USER, basePath: '/elsewhere' } },
      callOf(undefined),
      callOf(undefined),
    ])
      await once(call, ASKED, run);
    for (const asked of [
      ['removeEntries', ['b']],
      ['makeDirectory', ['a']],
      ['removeEntries', ['a', 'b']],
    ])
      await once(callOf('key-of-sixteen-2'), asked, run);
    expect(done.times).toBe(9);
  });

  it('fails as it failed, and is done anew where a failure leaves nothing', async () => {
    const { done, run } = work(new AppError('ENTRY_NOT_FOUND', 'object not found'));
    for (const once of replicas)
      await expect(once(callOf('key-of-sixteen-4'), ASKED, run)).rejects.toMatchObject({
        code: 'ENTRY_NOT_FOUND',
        message: 'object not found',
      });
    expect(done.times).toBe(1);
    for (const once of replicas)
      await expect(once(callOf('key-of-sixteen-5'), ASKED, run, { leavesNothing: () => true })).rejects.toMatchObject({
        code: 'ENTRY_NOT_FOUND',
      });
    expect(done.times).toBe(3);
  });

  it('fails as people are told of it, where our services do not know each other', async () => {
    const tokens = createInternalTokens(Buffer.alloc(32), Date.now);
    const key = randomUUID();
    const refused = async () => tokens.verify('none of ours');
    await expect(replicas[0](callOf(key), ASKED, refused)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(replicas[1](callOf(key), ASKED, refused)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('is waited for while it is being done', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const first = replicas[0](callOf('key-of-sixteen-6'), ASKED, () => {
      begin();
      return promise;
    });
    await begun;
    const { done, run } = work();
    const second = replicas[1](callOf('key-of-sixteen-6'), ASKED, run);
    await setTimeout(50);
    resolve({ moved: 'first' });
    expect(await Promise.all([first, second])).toEqual([{ moved: 'first' }, { moved: 'first' }]);
    expect(done.times).toBe(0);
  });

  it('is not done again where nobody knows what came of it', async () => {
    const never = replicas[0](callOf('key-of-sixteen-7'), ASKED, () => new Promise<object>(() => undefined));
    void never.catch(() => undefined);
    const { done, run } = work();
    await modelsOf(store).answeredCalls.findOne({}).lean();
    const long = 'x'.repeat(100_000);
    await replicas[0](callOf('key-of-sixteen-8'), ASKED, async () => ({ long }));
    for (const key of ['key-of-sixteen-7', 'key-of-sixteen-8'])
      await expect(replicas[1](callOf(key), ASKED, run)).rejects.toMatchObject({
        code: 'FAILED_PRECONDITION',
        message: expect.stringContaining('look at what is there'),
      });
    expect(done.times).toBe(0);
  });

  it('is done by the second one where the first has left nothing meanwhile', async () => {
    const { promise, reject } = Promise.withResolvers<object>();
    const first = replicas[0](callOf('key-of-sixteen-9'), ASKED, () => promise, { leavesNothing: () => true }).catch(() => 'failed');
    await vi.waitFor(async () => expect(await modelsOf(store).answeredCalls.countDocuments({ is_answered: false })).toBeGreaterThan(1));
    const { run } = work();
    const second = replicas[1](callOf('key-of-sixteen-9'), ASKED, run);
    await setTimeout(100);
    reject(new AppError('QUOTA_EXCEEDED', 'full'));
    expect(await first).toBe('failed');
    expect(await second).toEqual({ moved: 1 });
  });

  it('that failed as its client had left is known by nobody', async () => {
    const gone = new AbortController();
    const left = { ...callOf('key-of-sixteen-a'), signal: gone.signal };
    const cancelled = async () => {
      gone.abort();
      throw new AppError('CANCELLED', 'cancelled');
    };
    await expect(replicas[0](left, ASKED, cancelled)).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(replicas[1](callOf('key-of-sixteen-a'), ASKED, work().run)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  });

  it.each([
    ['left before it was begun', (leave: () => void) => leave()],
    [
      'was told that the store is away, which had noted it',
      () => {
        throw Object.assign(new Error('the connection is lost'), { name: 'MongoNetworkError' });
      },
    ],
  ])('is done for whoever asks again where the first one %s', async (_what, happen) => {
    const key = randomUUID();
    const gone = new AbortController();
    const models = modelsOf(store);
    const noted = async (...documents: unknown[]) => {
      await Reflect.apply(models.answeredCalls.create, models.answeredCalls, documents);
      happen(() => gone.abort());
    };
    const answeredCalls = new Proxy<typeof models.answeredCalls>(models.answeredCalls, {
      get: (model, name) => (name === 'create' ? noted : Reflect.get(model, name)),
    });
    const { done, run } = work();
    await expect(
      createOnce({ ...models, answeredCalls }, Date.now, 500)({ ...callOf(key), signal: gone.signal }, ASKED, run),
    ).rejects.toThrow();
    expect(done.times).toBe(0);
    expect(await replicas[1](callOf(key), ASKED, run)).toEqual({ moved: 1 });
  });

  it('is known of the last ones of who sends many, by another process too', async () => {
    const { done, run } = work();
    const ask = (once: Once, number: number) => once(callOf(`many-of-sixteen-${number}`, 4_712), ASKED, run);
    const once = createOnce(modelsOf(store), Date.now);
    await ask(once, 0);
    await Promise.all(Array.from({ length: 2_000 }, (_, index) => ask(once, index + 1)));
    const another = createOnce(modelsOf(store), Date.now);
    for (const number of [2_000, 1_999, 1]) await ask(another, number);
    expect(done.times).toBe(2_001);
    await ask(once, 0);
    expect(done.times).toBe(2_002);
  });
});

it('where the store has no room all is done, and what was answered before is known', async () => {
  const small = await startEmbeddedMongo({ dataDir: `${installation.dir}/small`, maxDocuments: 1 });
  onTestFinished(() => small.stop());
  const connection = await connectStore(small.url);
  onTestFinished(() => connection.close());
  const once = createOnce(modelsOf(connection), Date.now);
  const { done, run } = work();
  for (const key of ['first-of-sixteen', 'first-of-sixteen', 'second-of-sixteen', 'second-of-sixteen']) await once(callOf(key), ASKED, run);
  expect(done.times).toBe(3);
});
