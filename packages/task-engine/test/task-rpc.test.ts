import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { type TaskServiceClient, TaskServiceDefinition } from '@wharf/proto/task';
import { ROLE } from '@wharf/rights';
import { createDirectClient, createInternalTokens, outgoingCall, type UserIdentity } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createTaskRpc, defineTaskKind, TASK_STATE, type TaskEngine } from '../src/index.ts';
import { ANN, BOB, gate, type Installation, openInstallation, unlessAborted } from './installation.ts';

const idle = defineTaskKind({ name: 'idle', list: 'copy', input: z.object({}), maxRetries: 0, run: async () => {} });
const busy = defineTaskKind({
  name: 'busy',
  list: 'copy',
  input: z.object({}),
  maxRetries: 0,
  run: ({ signal }) => unlessAborted(signal, gate().opened),
});
const broken = defineTaskKind({
  name: 'broken',
  list: 'copy',
  input: z.object({}),
  maxRetries: 0,
  run: () => Promise.reject(new Error('no')),
});

const identity = (id: number, username: string, role: number): UserIdentity => ({
  kind: 'user',
  id,
  username,
  role,
  permission: 0,
  basePath: '/',
  sessionId: '',
});
const PEOPLE = {
  ann: identity(ANN.id, ANN.name, ROLE.general),
  bob: identity(BOB.id, BOB.name, ROLE.general),
  admin: identity(1, 'admin', ROLE.admin),
  guest: identity(2, 'guest', ROLE.guest),
};
const tokens = createInternalTokens(Buffer.alloc(32, 1), Date.now);
const as = (who: keyof typeof PEOPLE) =>
  outgoingCall(tokens, { identity: PEOPLE[who], requestId: 'test', revisions: { auth: 0, admin: 0 } });

function clientOf(served: TaskEngine, mayStill = async () => {}): TaskServiceClient {
  const rpc = createTaskRpc(served, async () => mayStill);
  return createDirectClient(
    TaskServiceDefinition,
    () => rpc,
    tokens,
    (error) => {
      throw error;
    },
  );
}

let place: Installation;
let engine: TaskEngine;
let client: TaskServiceClient;
let close: () => Promise<void>;

beforeAll(async () => {
  const dir = await makeTempDir('task-rpc');
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  place = await openInstallation(store.url);
  engine = await place.open([idle, busy, broken]);
  client = clientOf(engine);
  close = async () => {
    await place.close();
    await store.stop();
    await dir.remove();
  };
});
afterAll(() => close?.());

async function names(who: keyof typeof PEOPLE, done: boolean, page = { page: 1, per_page: 0 }): Promise<string[]> {
  const found: string[] = [];
  for await (const { tasks } of client.listTasks({ list: 'copy', done, ...page }, as(who))) found.push(...tasks.map(({ name }) => name));
  return found;
}

it('everybody reaches their own tasks, the administrator all, the guest none; another one is a task that is not there', async () => {
  const task = await engine.add(busy, { name: 'of ann', creator: ANN, input: {} });
  const request = { list: 'copy', id: task._id };
  await place.untilState(task._id, TASK_STATE.running);

  expect((await client.getTask(request, as('ann'))).task).toMatchObject({ id: task._id, name: 'of ann', creator: 'ann', list: 'copy' });
  expect((await client.getTask(request, as('admin'))).task?.id).toBe(task._id);
  await expect(client.getTask(request, as('bob'))).rejects.toMatchObject({ code: 'TASK_NOT_FOUND', message: 'task not found' });
  await expect(client.getTask({ ...request, list: 'move' }, as('ann'))).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  await expect(client.getTask(request, as('guest'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: 'You are a guest' });
  expect([await names('ann', false), await names('bob', false), await names('admin', false)]).toEqual([['of ann'], [], ['of ann']]);

  for (const action of ['pause', 'cancel', 'delete', 'retry', 'resume'])
    expect(await client.controlTasks({ list: 'copy', action, ids: [task._id, 'nothing'] }, as('bob'))).toEqual({
      errors: { [task._id]: 'task not found', nothing: 'task not found' },
    });
  await client.clearTasks({ list: 'copy', only_succeeded: false }, as('bob'));
  await client.retryFailedTasks({ list: 'copy' }, as('bob'));
  expect((await place.read(task._id)).state).toBe(TASK_STATE.running);
  await expect(client.controlTasks({ list: 'copy', action: 'burn', ids: [] }, as('ann'))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });

  expect(await client.controlTasks({ list: 'copy', action: 'cancel', ids: [task._id] }, as('ann'))).toEqual({ errors: {} });
  expect((await client.getTask(request, as('ann'))).task).toMatchObject({ state: TASK_STATE.canceled, end_time: expect.any(String) });
});

it('what failed is retried and what succeeded is cleared, of the caller alone', async () => {
  const failed = await engine.add(broken, { name: 'broken', creator: BOB, input: {} });
  const fine = await engine.add(idle, { name: 'fine', creator: BOB, input: {} });
  await place.untilState(failed._id, TASK_STATE.failed);
  await place.untilState(fine._id, TASK_STATE.succeeded);
  expect(await names('bob', true)).toEqual(['fine', 'broken']);
  await client.clearTasks({ list: 'copy', only_succeeded: true }, as('bob'));
  expect(await names('bob', true)).toEqual(['broken']);
  const before = (await place.read(failed._id)).fence;
  await client.retryFailedTasks({ list: 'copy' }, as('bob'));
  await place.untilState(failed._id, TASK_STATE.failed);
  expect((await place.read(failed._id)).fence).toBe(before + 1);
  await client.clearTasks({ list: 'copy', only_succeeded: false }, as('bob'));
  expect(await names('bob', true)).toEqual([]);
  expect(await names('ann', true)).toEqual(['of ann']);
});

it('many tasks are not changed, cleared or retried for a login that ends while that waits for its turn', async () => {
  const ended = clientOf(engine, () => Promise.reject(new AppError('UNAUTHENTICATED', 'token is invalidated')));
  const tasks = await engine.addAll(
    broken,
    Array.from({ length: 17 }, (_, index) => ({ name: `late ${index}`, creator: BOB, input: {} })),
  );
  const ids = tasks.map(({ _id }) => _id);
  for (const id of ids) await place.untilState(id, TASK_STATE.failed);
  const before = await place.models.tasks.find({ _id: { $in: ids } }).lean();
  const { errors } = await ended.controlTasks({ list: 'copy', action: 'delete', ids }, as('bob'));
  expect(errors).toEqual(Object.fromEntries(ids.map((id) => [id, 'token is invalidated'])));
  const refused = { code: 'UNAUTHENTICATED' };
  await expect(ended.clearTasks({ list: 'copy', only_succeeded: false }, as('bob'))).rejects.toMatchObject(refused);
  await expect(ended.retryFailedTasks({ list: 'copy' }, as('bob'))).rejects.toMatchObject(refused);
  expect(await place.models.tasks.find({ _id: { $in: ids } }).lean()).toEqual(before);
  await client.clearTasks({ list: 'copy', only_succeeded: false }, as('bob'));
});

it.each([0, 1, 600])('no list (%i per page) that waited for others is read for a login that has ended meanwhile', async (per_page) => {
  let isEnded = false;
  const { control } = engine;
  const begun = gate();
  const held = gate();
  const list: typeof control.list = async function* (...asked) {
    begun.open();
    await held.opened;
    yield* control.list(...asked);
  };
  const waiting = clientOf({ ...engine, control: { ...control, list } }, async () => {
    if (isEnded) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
  });
  const asked = () => Array.fromAsync(waiting.listTasks({ list: 'copy', done: true, page: 1, per_page }, as('admin')));
  const lists = Promise.allSettled(Array.from({ length: 8 }, asked));
  await begun.opened;
  isEnded = true;
  held.open();
  const refused = (await lists).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThanOrEqual(4);
  for (const answer of refused) expect(answer).toMatchObject({ reason: { code: 'UNAUTHENTICATED' } });
});

it('a user has a bounded number of tasks that have not ended', async () => {
  const tooMany = Array.from({ length: 10_001 }, () => ({ name: 'one', creator: BOB, input: {} }));
  await expect(engine.addAll(idle, tooMany)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await place.models.tasks.countDocuments({ name: 'one' })).toBe(0);
});

it('600 tasks come in pages or all at once', async () => {
  const tasks = await engine.addAll(
    idle,
    Array.from({ length: 600 }, (_, index) => ({ name: `task ${index}`, creator: BOB, input: {} })),
  );
  const ids = tasks.map(({ _id }) => _id);
  // Listed while they are worked on: what has not ended and what has is everything.
  await client.controlTasks({ list: 'copy', action: 'cancel', ids }, as('bob'));
  const all = await names('bob', true);
  expect(all.length + (await names('bob', false)).length).toBe(600);
  expect(await names('bob', true, { page: 2, per_page: 250 })).toEqual(all.slice(250, 500));
});

it.each([100, 600])('lists of %i per page go on four at a time, of all who ask', async (per_page) => {
  const { control } = engine;
  let open = 0;
  let most = 0;
  const list: typeof control.list = async function* (...asked) {
    open += 1;
    most = Math.max(most, open);
    try {
      yield* control.list(...asked);
    } finally {
      open -= 1;
    }
  };
  const counted = clientOf({ ...engine, control: { ...control, list } });
  const request = { list: 'copy', done: true, page: 1, per_page };
  const asked = ['ann', 'bob', 'admin'] as const;
  await Promise.all(asked.flatMap((who) => Array.from({ length: 5 }, () => Array.fromAsync(counted.listTasks(request, as(who))))));
  expect([open, most]).toEqual([0, 4]);
});

it('a whole list that is short does not wait for long ones', async () => {
  const { control } = engine;
  const ended = gate();
  const list: typeof control.list = async function* (query, scope) {
    if (query.limit === 0) await ended.opened;
    yield* control.list(query, scope);
  };
  const held = clientOf({ ...engine, control: { ...control, list } });
  const whole = (who: keyof typeof PEOPLE) => Array.fromAsync(held.listTasks({ list: 'copy', done: true, page: 1, per_page: 0 }, as(who)));
  const long = Array.from({ length: 5 }, () => whole('bob'));
  expect((await whole('ann')).flatMap(({ tasks }) => tasks)).toEqual([expect.objectContaining({ name: 'of ann' })]);
  ended.open();
  for (const answers of await Promise.all(long)) expect(answers.flatMap(({ tasks }) => tasks).length).toBeGreaterThan(500);
});
