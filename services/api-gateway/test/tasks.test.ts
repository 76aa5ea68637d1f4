import { AppError } from '@wharf/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway();
}, 60_000);
afterAll(() => gateway?.close());

const LISTS = [
  ['upload', 'fsTasks'],
  ['copy', 'fsTasks'],
  ['move', 'fsTasks'],
  ['decompress', 'fsTasks'],
  ['decompress_upload', 'fsTasks'],
  ['offline_download', 'downloaderTasks'],
  ['offline_download_transfer', 'downloaderTasks'],
] as const;
const ID = 'abcdefghijklmnopqrstu';
const TASK = {
  id: ID,
  name: 'copy [/a](/x) to [/b](/)',
  state: 1,
  status: 'uploading',
  progress: 12.5,
  error: '',
  error_code: '',
  creator: 'ann',
  creator_role: 0,
  start_time: '2026-01-02T03:04:05.000Z',
  end_time: null,
  total_bytes: 800,
  paused: false,
  speed: 100,
  eta: 7,
  phase: '',
  list: 'copy',
};

async function ask(path: string, body?: unknown): Promise<{ code: number; message: string; data: unknown; asked: object[] }> {
  const before = gateway.stubs.asked.length;
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = { Authorization: PERMANENT_TOKEN, 'Content-Type': 'application/json', 'Content-Length': text.length };
  const answer = await gateway.request({
    method: 'POST',
    path,
    headers: text === '' ? { Authorization: PERMANENT_TOKEN } : headers,
    body: text,
  });
  const asked = gateway.stubs.asked.slice(before).map(({ rpc, request }) => ({ rpc, request }));
  return { ...JSON.parse(answer.text()), asked };
}

describe.each(LISTS)('tasks of the list %s, which %s has', (list, owner) => {
  it.each(['/api/task', '/api/admin/task'])('are listed under %s, in pages when those are asked for', async (prefix) => {
    gateway.stubs.answers.set(`${owner}.listTasks`, [{ tasks: [TASK] }, { tasks: [{ ...TASK, eta: null, start_time: null }] }]);
    expect(await ask(`${prefix}/${list}/undone`)).toEqual({
      code: 200,
      message: 'success',
      data: [TASK, { ...TASK, eta: null, start_time: null }],
      asked: [{ rpc: `${owner}.listTasks`, request: { list, done: false, page: 1, per_page: 0 } }],
    });
    expect((await ask(`${prefix}/${list}/done?page=3&per_page=20`)).asked).toEqual([
      { rpc: `${owner}.listTasks`, request: { list, done: true, page: 3, per_page: 20 } },
    ]);
  });

  it('are found by their ids', async () => {
    gateway.stubs.answers.set(`${owner}.getTask`, { task: TASK });
    expect(await ask(`/api/task/${list}/info?tid=${ID}`)).toMatchObject({
      code: 200,
      data: TASK,
      asked: [{ rpc: `${owner}.getTask`, request: { list, id: ID } }],
    });
    gateway.stubs.answers.set(`${owner}.getTask`, () => {
      throw new AppError('TASK_NOT_FOUND', 'task not found');
    });
    expect(await ask(`/api/task/${list}/info?tid=other`)).toMatchObject({ code: 404, message: 'task not found', data: null });
  });

  it.each(['cancel', 'delete', 'retry', 'pause', 'resume'])('%s acts on one', async (action) => {
    gateway.stubs.answers.set(`${owner}.controlTasks`, { errors: {} });
    expect(await ask(`/api/task/${list}/${action}?tid=${ID}`)).toMatchObject({
      code: 200,
      message: 'success',
      data: null,
      asked: [{ rpc: `${owner}.controlTasks`, request: { list, action, ids: [ID] } }],
    });
    gateway.stubs.answers.set(`${owner}.controlTasks`, { errors: { [ID]: 'task not found' } });
    expect(await ask(`/api/admin/task/${list}/${action}?tid=${ID}`)).toMatchObject({ code: 404, message: 'task not found', data: null });
    gateway.stubs.answers.set(`${owner}.controlTasks`, { errors: {} });
    expect(await ask(`/api/task/${list}/${action}?tid=__proto__`)).toMatchObject({ code: 404, message: 'task not found' });
  });

  it.each(['cancel', 'delete', 'retry'])('%s_some acts on several and answers the errors alone', async (action) => {
    gateway.stubs.answers.set(`${owner}.controlTasks`, { errors: { b: 'task not found' } });
    expect(await ask(`/api/task/${list}/${action}_some`, ['a', 'b'])).toMatchObject({
      code: 200,
      data: { b: 'task not found' },
      asked: [{ rpc: `${owner}.controlTasks`, request: { list, action, ids: ['a', 'b'] } }],
    });
    expect(await ask(`/api/task/${list}/${action}_some`, { ids: ['a'] })).toMatchObject({
      code: 400,
      message: 'invalid request format',
      asked: [],
    });
  });

  it.each([
    ['clear_done', 'clearTasks', { only_succeeded: false }],
    ['clear_succeeded', 'clearTasks', { only_succeeded: true }],
    ['retry_failed', 'retryFailedTasks', {}],
  ] as const)('%s acts on all', async (verb, rpc, request) => {
    expect(await ask(`/api/task/${list}/${verb}`)).toMatchObject({
      code: 200,
      data: null,
      asked: [{ rpc: `${owner}.${rpc}`, request: { list, ...request } }],
    });
  });
});
