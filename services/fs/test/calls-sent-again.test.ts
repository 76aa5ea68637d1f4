import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type HttpRequest, httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const KEY = 'a-key-of-sixteen';
const disk = createTestDriver('Disk');
const root = () => disk.storeOf();
let installation: Installation;
let replica: Replica;
let login: string;
let number = 0;
let key = KEY;

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/d', driver: 'Disk' });
  login = await installation.login({ id: 5, permission: 0b1000 });
  replica = await installation.open([disk.definition], { isAlone: true });
});
beforeEach(() => {
  disk.delayAnswers(async () => undefined);
  number += 1;
  key = `${KEY}-${number}`;
});
afterAll(() => installation?.close());

type How = Pick<HttpRequest, 'signal' | 'headers'> & { readonly route?: string };
const put = (path: string, body: HttpRequest['body'], { signal, headers, route = 'put' }: How = {}) =>
  httpRequest(replica.url, {
    method: 'PUT',
    path: `/api/fs/${route}`,
    headers: { Authorization: login, 'File-Path': path, 'Idempotency-Key': key, ...headers },
    body: body ?? '',
    ...(signal && { signal }),
  });
const formOf = (text: string, boundary: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${text}\r\n--${boundary}--\r\n`;
const putForm = (path: string, body: HttpRequest['body'], boundary: string) =>
  put(path, body, { route: 'form', headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } });
const textOf = async (path: string) => Buffer.concat(await Array.fromAsync(await root().read(mpath(path)))).toString();
const save = (path: string, text: string) => root().write(mpath(path), bytesOf(text), { overwrite: true });

it('what another request is for is done, though it has the key of an earlier one', async () => {
  expect((await put('/d/one', 'first')).json()).toMatchObject({ code: 200 });
  expect((await put('/d/two', 'second')).json()).toMatchObject({ code: 200 });
  expect(await textOf('/two')).toBe('second');
  expect((await put('/d/one', 'longer than the first')).json()).toMatchObject({ code: 200 });
  expect(await textOf('/one')).toBe('longer than the first');
});

it('an upload whose storage may have taken it replaces nothing that was saved since', async () => {
  disk.delayAnswers(async () => {
    throw storageError('STORAGE_UNAVAILABLE');
  });
  expect((await put('/d/lost', 'mine')).json()).toMatchObject({ code: 500 });
  expect(await textOf('/lost')).toBe('mine');
  disk.delayAnswers(async () => undefined);
  await save('/lost', 'theirs');
  expect((await put('/d/lost', 'mine')).json()).toMatchObject({ message: expect.stringContaining('nobody knows') });
  expect(await textOf('/lost')).toBe('theirs');
});

it('one whose client has left when it was stored replaces nothing either', async () => {
  const { promise: stored, resolve: isStored } = Promise.withResolvers<void>();
  const gone = new AbortController();
  disk.delayAnswers(async () => {
    isStored();
    await once(gone.signal, 'abort');
    await setTimeout(200);
    throw storageError('CANCELLED');
  });
  const left = put('/d/left', 'mine', { signal: gone.signal }).catch(() => undefined);
  await stored;
  gone.abort();
  await left;
  await setTimeout(400);
  disk.delayAnswers(async () => undefined);
  await save('/left', 'theirs');
  await put('/d/left', 'mine');
  expect(await textOf('/left')).toBe('theirs');
});

it('one whose body broke off is done anew, also where the first one is not over yet', async () => {
  const headers = { 'Content-Length': '4' };
  const body = async function* () {
    yield Buffer.from('mi');
    throw new Error('the network is gone');
  };
  await put('/d/cut', body(), { headers }).catch(() => undefined);
  expect((await put('/d/cut', 'mine', { headers })).json()).toMatchObject({ code: 200 });
  expect(await textOf('/cut')).toBe('mine');
});

it.each([
  ['of unknown length', (body: HttpRequest['body']) => put('/d/broken', body, { headers: { 'Transfer-Encoding': 'chunked' } }), 'mine'],
  ['in a form', (body: HttpRequest['body']) => putForm('/d/broken', body, 'b'), formOf('mine', 'b')],
  ['that is taken in first', (body: HttpRequest['body']) => put('/d/broken', body, { headers: { 'As-Task': 'true' } }), 'mine'],
])('one %s whose body broke off within its content is done anew', async (_what, send, whole) => {
  const body = async function* () {
    yield Buffer.from(whole.slice(0, whole.indexOf('mine') + 2));
    await setTimeout(100);
    throw new Error('the network is gone');
  };
  await send(body()).catch(() => undefined);
  expect((await send(whole)).json()).toMatchObject({ code: 200 });
  await vi.waitFor(async () => expect(await textOf('/broken')).toBe('mine'));
});

it('one whose storage did not answer before it was given anything is done anew', async () => {
  await save('/away', 'before');
  const headers = { 'If-None-Match': '"of another one"' };
  disk.delayAnswers(async () => {
    throw storageError('STORAGE_UNAVAILABLE');
  });
  expect((await put('/d/away', 'mine', { headers })).json()).toMatchObject({ code: 500 });
  disk.delayAnswers(async () => undefined);
  expect((await put('/d/away', 'mine', { headers })).json()).toMatchObject({ code: 200 });
  expect(await textOf('/away')).toBe('mine');
});

it('one that somebody has moved on right after it was stored is not done again', async () => {
  disk.delayAnswers(async () => {
    throw storageError('ENTRY_NOT_FOUND');
  });
  expect((await put('/d/on', 'mine')).json()).toMatchObject({ code: 500 });
  disk.delayAnswers(async () => undefined);
  await save('/on', 'theirs');
  expect((await put('/d/on', 'mine')).json()).toMatchObject({ message: expect.stringContaining('nobody knows') });
  expect(await textOf('/on')).toBe('theirs');
});

it.each(['PERMISSION_DENIED', 'QUOTA_EXCEEDED', 'FAILED_PRECONDITION', 'NOT_A_DIRECTORY'] as const)(
  'one whose storage says %s at the look behind it is not done again',
  async (code) => {
    disk.delayAnswers(async () => {
      throw storageError(code);
    });
    await put('/d/refused', 'mine');
    expect(await textOf('/refused')).toBe('mine');
    disk.delayAnswers(async () => undefined);
    await save('/refused', 'theirs');
    expect((await put('/d/refused', 'mine')).json()).toMatchObject({ message: expect.stringContaining('nobody knows') });
    expect(await textOf('/refused')).toBe('theirs');
  },
);

it('one that waits for another one is done by the rights of then', async () => {
  const other = await installation.login({ id: 6, permission: 0b1000 });
  const headers = { Authorization: other, 'Content-Length': '4' };
  const { promise: broken, resolve: breakOff } = Promise.withResolvers<void>();
  const body = async function* () {
    yield Buffer.from('mi');
    await broken;
    throw new Error('the network is gone');
  };
  const first = put('/d/waited', body(), { headers }).catch(() => undefined);
  await setTimeout(500);
  const second = put('/d/waited', 'mine', { headers });
  await setTimeout(500);
  await installation.writeUser({ id: 6, permission: 0 });
  await setTimeout(2_000);
  breakOff();
  await first;
  expect((await second).json()).toMatchObject({ code: 403 });
  await expect(textOf('/waited')).rejects.toThrow();
}, 20_000);

it('who sends a long one again, and reads the answer once all is sent, reads it', async () => {
  const { hostname, port } = new URL(replica.url);
  const sizeBytes = 32 * 1024 * 1024;
  const head = [
    ...['PUT /api/fs/put HTTP/1.1', `Host: ${hostname}`, `Authorization: ${login}`, 'File-Path: /d/long', `Idempotency-Key: ${key}`],
    ...['Connection: close', `Content-Length: ${sizeBytes}`],
  ].join('\r\n');
  const send = async () => {
    const socket = connect(Number(port), hostname).pause();
    const { promise, reject } = Promise.withResolvers<never>();
    socket.on('error', reject);
    const write = (bytes: string | Uint8Array) =>
      Promise.race([promise, new Promise<void>((resolve) => void socket.write(bytes, () => resolve()))]);
    await write(`${head}\r\n\r\n`);
    await setTimeout(200);
    for (let sentBytes = 0; sentBytes < sizeBytes; sentBytes += 1024 * 1024) await write(Buffer.alloc(1024 * 1024));
    return Buffer.concat(await Promise.race([promise, Array.fromAsync(socket)])).toString();
  };
  for (let times = 0; times < 2; times += 1) expect(await send()).toContain('"code":200');
});

it.each(['another', 'one-of-another-length'])('a form is known with the boundary %s too, and not with another file', async (boundary) => {
  expect((await putForm('/d/form', formOf('mine', 'theone1'), 'theone1')).json()).toMatchObject({ code: 200 });
  await save('/form', 'theirs');
  expect((await putForm('/d/form', formOf('mine', boundary), `"${boundary}"; charset=utf-8`)).json()).toMatchObject({ code: 200 });
  expect(await textOf('/form')).toBe('theirs');
  expect((await putForm('/d/form', formOf('longer', boundary), boundary)).json()).toMatchObject({ code: 200 });
  expect(await textOf('/form')).toBe('longer');
});

it('what was stored before the request had ended replaces nothing that was saved since', async () => {
  const { promise: stored, resolve: isStored } = Promise.withResolvers<void>();
  disk.delayAnswers(async () => {
    isStored();
    throw storageError('STORAGE_UNAVAILABLE');
  });
  const form = (tail: string) =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nmine\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n${tail}`;
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': String(form('x\r\n--b--\r\n').length) };
  const body = async function* (isFirst: boolean) {
    yield Buffer.from(form(''));
    if (isFirst) await stored;
    yield Buffer.from('x\r\n--b--\r\n');
  };
  const send = (isFirst: boolean) =>
    httpRequest(replica.url, {
      ...{ method: 'PUT', path: '/api/fs/form', body: body(isFirst) },
      headers: { Authorization: login, 'File-Path': '/d/formed', 'Idempotency-Key': key, ...headers },
    });
  expect((await send(true)).json()).toMatchObject({ code: 500 });
  disk.delayAnswers(async () => undefined);
  await save('/formed', 'theirs');
  expect((await send(false)).json()).toMatchObject({ message: expect.stringContaining('nobody knows') });
  expect(await textOf('/formed')).toBe('theirs');
});
