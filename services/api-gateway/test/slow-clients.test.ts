import { connect, type Socket } from 'node:net';
import { waitFor } from '@wharf/harness';
import { createPace } from '@wharf/pace';
import { listenHttp } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendPieces } from '../src/http/send-answer.ts';
import { writeJson } from '../src/http/write-json.ts';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

const MIB = 1024 * 1024;
const SEE_ALL = 0xffff;
const BUSY = { code: 503, message: 'too much is being sent and taken at once: try again in a moment', data: null };

let gateway: Gateway;

beforeAll(async () => {
  gateway = await openGateway({ maxHeldBytes: 64 * MIB });
}, 60_000);
afterAll(() => gateway?.close());

async function open(base: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined).pause();
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return socket;
}

const login = async (sizeBytes: number) => {
  const body = JSON.stringify({ username: 'nobody', password: 'x'.repeat(sizeBytes) });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await gateway.request({ method: 'POST', path: '/api/auth/login', headers, body });
  return { envelope: answer.json() as { code: number }, retryAfter: answer.headers['retry-after'] };
};

it('bodies that do not come to their end leave room for others', async () => {
  const sizeBytes = 3.5 * MIB;
  const head = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${sizeBytes + 1}\r\n\r\n`;
  // One address without a login may have 16 MiB.
  const stalled = await Promise.all(Array.from({ length: 9 }, () => open(gateway.base, head + ' '.repeat(sizeBytes))));
  const isFull = async () => (await login(3 * MIB)).envelope.code === 503;
  await waitFor('the body to have come', isFull);
  expect(await login(3 * MIB)).toEqual({ envelope: BUSY, retryAfter: '10' });
  // What is small goes on, and so does who has a login.
  expect((await login(10)).envelope.code).toBe(200);
  const body = JSON.stringify({ path: '/', password: 'x'.repeat(MIB) });
  const asUser = {
    method: 'POST',
    path: '/api/fs/list',
    headers: { Authorization: PERMANENT_TOKEN, 'Content-Type': 'application/json' },
    body,
  };
  expect((await gateway.request(asUser)).json()).toMatchObject({ code: 200 });
  for (const socket of stalled) socket.destroy();
  await waitFor('room', async () => !(await isFull()));
});

it('strangers, guests among them, leave room for users', async () => {
  await gateway.setGuest({ disabled: false, permission: 0 });
  const sizeBytes = 3.5 * MIB;
  const halfOf = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${sizeBytes + 1}\r\n\r\n${' '.repeat(sizeBytes)}`;
  const paths = ['/api/auth/login', '/api/fs/list'].flatMap((path) => Array.from({ length: 9 }, () => path));
  const stalled = await Promise.all(paths.map((path) => open(gateway.base, halfOf(path))));
  await waitFor('the bodies to have come', async () => (await login(3 * MIB)).envelope.code === 503);
  const body = JSON.stringify({ path: '/', password: 'x'.repeat(3 * MIB) });
  const headers = { Authorization: PERMANENT_TOKEN, 'Content-Type': 'application/json' };
  const lists = Array.from({ length: 4 }, () => gateway.request({ method: 'POST', path: '/api/fs/list', headers, body }));
  for (const answer of await Promise.all(lists)) expect(answer.json()).toMatchObject({ code: 200 });
  for (const socket of stalled) socket.destroy();
  await gateway.setGuest({ disabled: true, permission: 0 });
});

it('answers that nobody takes leave room for others, also while they are made', async () => {
  const ofMib = (count: number) =>
    gateway.stubs.answers.set('fs.listEntries', () =>
      Array.from({ length: count }, () => ({ entries_utf8: Buffer.from(`"${'x'.repeat(MIB)}"`) })),
    );
  const path = '/api/fs/list?path=/';
  const list = () => gateway.request({ path, headers: { Authorization: PERMANENT_TOKEN } });
  ofMib(33);
  expect((await list()).json()).toEqual(BUSY);
  ofMib(24);
  expect((await list()).json()).toMatchObject({ code: 200 });
  // What the system holds between two programs is not ours.
  const unread = await open(gateway.base, `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${PERMANENT_TOKEN}\r\n\r\n`);
  const isFull = async () => (await list()).headers['retry-after'] === '10';
  await waitFor('the answer to wait for its client', isFull);
  unread.destroy();
  await waitFor('room', async () => !(await isFull()));
});

const LONG = { name: 'x'.repeat(MIB) };

it.each([
  ['folders', '/api/fs/dirs?path=/', 'fs.listDirectories', 'directories'],
  ['hits', '/api/fs/search?in_folder=true&page=1&per_page=9', 'fs.searchEntries', 'content'],
  ['tasks', '/api/task/copy/undone', 'fsTasks.listTasks', 'tasks'],
])('of many long %s no more is gathered than there is room for', async (_what, path, rpc, field) => {
  let given = 0;
  const part = Object.defineProperty({}, field, {
    enumerable: true,
    get() {
      given += 1;
      return [LONG];
    },
  });
  gateway.stubs.answers.set(rpc, () => Array(200).fill(part));
  expect((await gateway.request({ path, headers: { Authorization: PERMANENT_TOKEN } })).json()).toEqual(BUSY);
  // One user may have 32 MiB.
  expect(given).toBeLessThan(100);
});

it('an export is handed on as it comes, and no more of it is gathered than there is room for', async () => {
  const asked = async (...pieces: readonly string[]) => {
    let given = 0;
    const parts = pieces.map((piece) =>
      Object.defineProperty({}, 'document', {
        enumerable: true,
        get() {
          given += 1;
          return Buffer.from(piece);
        },
      }),
    );
    gateway.stubs.answers.set('admin.exportConfiguration', () => parts);
    const headers = { Authorization: PERMANENT_TOKEN, 'Content-Type': 'application/json' };
    const { body } = await gateway.request({ method: 'POST', path: '/api/admin/config/export', headers, body: '{}' });
    return { body: body.toString(), given };
  };
  expect((await asked('{ "a" : ', '[1] }')).body).toBe('{"code":200,"message":"success","data":{ "a" : [1] }}');
  const { body, given } = await asked(...Array.from({ length: 200 }, () => ' '.repeat(MIB)));
  expect(JSON.parse(body)).toEqual(BUSY);
  // One user may have 32 MiB.
  expect(given).toBeLessThan(100);
});

it('a client that takes nothing of its answer is cut off', async () => {
  const pieces = await writeJson({ data: Array.from({ length: 64 }, () => 'x'.repeat(MIB)) }, createPace());
  let isOver = false;
  const listener = await listenHttp(
    (_request, response) => {
      response.once('close', () => {
        isOver = true;
      });
      void sendPieces(response, pieces, 100);
    },
    '127.0.0.1',
    0,
  );
  const unread = await open(listener.url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('the answer to be over', () => isOver);
  unread.destroy();
  await listener.stop(0);
});

it('what is made of lists while their calls go on has a bound, for each caller and for all (C18)', async () => {
  const own = await openGateway({ maxMadeBytes: 8 * MIB });
  try {
    const hold = Promise.withResolvers<void>();
    own.stubs.answers.set('fs.removeEntries', () => hold.promise.then(() => ({})));
    const [token, other] = [await own.login(SEE_ALL), await own.login(SEE_ALL)];
    // Five thousand names of one letter: 20 KB of text.
    const remove = (Authorization: string, count: number) => {
      const headers = { Authorization, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ dir: '/', names: Array.from({ length: count }, () => 'n') });
      return own.request({ method: 'POST', path: '/api/fs/remove', headers, body });
    };
    const asked = () => own.stubs.asked.filter(({ rpc }) => rpc === 'fs.removeEntries').length;
    const first = remove(token, 5_000);
    await waitFor('the call to have come', async () => asked() === 1);
    const refused = await remove(token, 5_000);
    expect([refused.json(), refused.headers['retry-after']]).toEqual([BUSY, '10']);
    const going = [remove(token, 10), remove(other, 5_000)];
    await waitFor('the calls to have come', async () => asked() === 3);
    hold.resolve();
    for (const answer of await Promise.all([first, ...going])) expect(answer.json()).toMatchObject({ code: 200 });
    expect((await remove(token, 5_000)).json()).toMatchObject({ code: 200 });
  } finally {
    await own.close();
  }
}, 60_000);
