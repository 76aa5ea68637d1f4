import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { login, startHttpServer, startStandalone } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, codeOf, pattern, put } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver, WriteOptions } from '../../driver-contract/storage-driver.ts';
import { openListDriver } from './index.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

// Another Wharf, behind a proxy that answers for it.

const wharf = await startStandalone();
afterAll(() => wharf.stop());
const admin = await login(wharf.base, 'admin', wharf.adminPassword);
const { hostname, port } = new URL(wharf.base);

interface Put {
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Sends a put to the gateway, and answers as that does. @returns the code of its envelope */
function carryOut({ headers, body }: Put, response?: ServerResponse): Promise<number> {
  const { 'transfer-encoding': _, ...rest } = headers;
  return new Promise((resolve, reject) => {
    const passed = ask({ hostname, port, method: 'PUT', path: '/api/fs/put', headers: { ...rest, 'content-length': body.length } });
    passed.once('error', reject);
    passed.once('response', async (answer) => {
      const told = await buffer(answer);
      response?.writeHead(answer.statusCode ?? 500, answer.headers).end(told);
      resolve(JSON.parse(told.toString()).code);
    });
    passed.end(body);
  });
}

/** A folder of the gateway, and its storage. @param onPut what the proxy does with a put; not told: it goes on */
async function openBehind(onPut: (put: Put, response: ServerResponse, times: number) => Promise<unknown> = carryOut) {
  const folder = await mkdtemp(path.join(wharf.filesDir, 'late-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const puts: Put[] = [];
  const proxy = await startHttpServer(async (request, response) => {
    if (request.method === 'PUT') {
      const came = { headers: request.headers, body: await buffer(request) };
      puts.push(came);
      return void (await onPut(came, response, puts.length));
    }
    const passed = ask({ hostname, port, method: request.method, path: request.url, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.once('error', () => response.destroy());
    request.pipe(passed);
  });
  onTestFinished(() => proxy.stop());
  const root = `/local/${path.basename(folder)}`;
  const items = { url: proxy.url, token: admin.token, root_folder_path: root };
  const driver = (await openListDriver.open(JSON.stringify(items), testSurroundings())) as Required<StorageDriver>;
  onTestFinished(() => driver.close());
  const file = path.join(folder, 'file');
  /** As somebody who uses the other Wharf itself. */
  const save = async (content: string) => {
    const headers = { authorization: admin.token as string, 'file-path': `${root}/file` };
    expect(await carryOut({ headers, body: Buffer.from(content) })).toBe(200);
  };
  return { driver, puts, root, file, save, content: () => readFile(file) };
}

/** The first is told as failed, and kept. */
const firstIsLate = async (came: Put, response: ServerResponse, times: number) =>
  times === 1 ? response.writeHead(504).end() : carryOut(came, response);

const SMALL = Buffer.from('sent');
const LARGE = pattern(3 * 1024 ** 2);
const CASES = [undefined, 'before'].flatMap((before) => [
  { over: before ?? 'nothing', before, size: 'small', sent: SMALL },
  { over: before ?? 'nothing', before, size: 'large', sent: LARGE },
]);

describe.each(CASES)('a put ($size, over $over) that is carried out late', ({ before, sent }) => {
  async function openLate() {
    const opened = await openBehind(firstIsLate);
    if (before !== undefined) await writeFile(opened.file, before);
    const store = (options: Partial<WriteOptions> = {}) => put(opened.driver, '/file', sent, { sizeBytes: sent.length, ...options });
    const late = () => carryOut(opened.puts[0] as Put);
    return { ...opened, store, late };
  }

  it('replaces nothing that was saved since', async () => {
    const { driver, store, late, content } = await openLate();
    expect(await codeOf(store())).toBe('STORAGE_UNAVAILABLE');
    await put(driver, '/file', 'an edit', { sizeBytes: 7 });
    expect(await late()).toBe(before === undefined ? 403 : 412);
    expect((await content()).toString()).toBe('an edit');
  });

  it('replaces nothing that was saved after it was sent again', async () => {
    const { store, late, save, content } = await openLate();
    expect(await codeOf(store({ beforePublish: async () => {} }))).toBe('STORAGE_UNAVAILABLE');
    await store({ beforePublish: async () => {} });
    expect((await content()).equals(sent)).toBe(true);
    await save('an edit');
    expect(await late()).toBe(before === undefined ? 403 : 412);
    expect((await content()).toString()).toBe('an edit');
  });
});

describe.each([undefined, 'before'])('what is saved between the look and the put, over %s,', (before) => {
  it('is replaced by a small file, which is there still, and asks again whether it may', async () => {
    let isFirst = true;
    const { driver, puts, file, save, content } = await openBehind(async (came, response) => {
      if (isFirst) await save('meanwhile');
      isFirst = false;
      return carryOut(came, response);
    });
    if (before !== undefined) await writeFile(file, before);
    let questions = 0;
    const beforePublish = async () => {
      questions += 1;
    };
    await put(driver, '/file', SMALL, { sizeBytes: SMALL.length, beforePublish });
    expect([(await content()).toString(), puts.length, questions]).toEqual(['sent', 2, 2]);
  });

  it('stays where the content is gone, whose sender is told to try again', async () => {
    const { driver, puts, file, save, content } = await openBehind(async (came, response, times) => {
      if (times === 1) await save('meanwhile');
      return carryOut(came, response);
    });
    if (before !== undefined) await writeFile(file, before);
    const store = () => put(driver, '/file', LARGE, { sizeBytes: LARGE.length });
    await expect(store()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('try again') });
    expect([(await content()).toString(), puts.length]).toEqual(['meanwhile', 1]);
    await store();
    expect((await content()).equals(LARGE)).toBe(true);
  });
});

it.each([
  ['small', SMALL],
  ['large', LARGE],
])('a put (%s) that a proxy sends twice is one that is done, whatever it asks about what it replaces', async (_, sent) => {
  const { driver, puts, file, content } = await openBehind(async (came, response) => {
    await carryOut(came);
    await carryOut(came, response);
  });
  await writeFile(file, 'before');
  const beforePublish = async () => {
    if ((await content()).toString() !== 'before') throw new AppError('STALE_VERSION', 'the file was changed since');
  };
  await put(driver, '/file', sent, { sizeBytes: sent.length, beforePublish });
  expect([(await content()).equals(sent), puts.length]).toEqual([true, 1]);
});

it('a file is dated as it is told, also where that is before the date of the one that it replaces', async () => {
  const { driver } = await openBehind();
  await put(driver, '/file', 'one', { sizeBytes: 3, modifiedAt: new Date(Date.UTC(2024, 1)) });
  const modifiedAt = new Date(Date.UTC(2020, 1));
  expect(await put(driver, '/file', 'two', { sizeBytes: 3, modifiedAt })).toMatchObject({ modifiedAt });
  expect(await driver.stat(at('/file'))).toMatchObject({ modifiedAt });
});
