import { once } from 'node:events';
import { type HttpRequest, httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
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

const put = (path: string, body: HttpRequest['body'], { signal, headers }: Pick<HttpRequest, 'signal' | 'headers'> = {}) =>
  httpRequest(replica.url, {
    method: 'PUT',
    path: '/api/fs/put',
    headers: { Authorization: login, 'File-Path': path, 'Idempotency-Key': key, ...headers },
    body: body ?? '',
    ...(signal && { signal }),
  });
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
    await new Promise((resolve) => setTimeout(resolve, 200));
    throw storageError('CANCELLED');
  });
  const left = put('/d/left', 'mine', { signal: gone.signal }).catch(() => undefined);
  await stored;
  gone.abort();
  await left;
  await new Promise((resolve) => setTimeout(resolve, 400));
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
