import { type HttpRequest, httpRequest } from '@wharf/harness';
import type { ListEntriesResponse } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry, StorageDriver } from '../src/driver-contract/storage-driver.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { memoryDriver } from '../src/drivers/memory/index.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

let installation: Installation;
let replica: Replica;
let login: string;
/** Of a driver, so far. */
const calls = { read: 0, stat: 0 };
const content = Buffer.alloc(300_000, 'a text that repeats ');

/** As servers without ranges are, where a range is too far into a file. */
const withoutRanges: typeof memoryDriver = {
  ...memoryDriver,
  async open(...opening) {
    const driver = await memoryDriver.open(...opening);
    const read: StorageDriver['read'] = async (file, range, options) => {
      calls.read += 1;
      if ((range?.offsetBytes ?? 0) > 200_000) throw storageError('UNSUPPORTED_OPERATION');
      const content = await driver.read(file, range, options);
      if (file === '/f') return content;
      // As of a server that says how long an empty answer is.
      const pieces = await Array.fromAsync(content);
      const entry = pieces.length === 0 ? { ...content.entry, sizeBytes: 0 } : content.entry;
      return {
        entry: dated(file, entry),
        [Symbol.asyncIterator]: async function* () {
          yield* pieces;
        },
      };
    };
    const stat: StorageDriver['stat'] = async (file, options) => {
      calls.stat += 1;
      return dated(file, await driver.stat(file, options));
    };
    const own = { read, stat };
    return new Proxy(driver, {
      get: (target, name) => Reflect.get(own, name) ?? boundTo(target, Reflect.get(target, name)),
    });
  },
};
const dated = (file: string, entry: Entry) => (file === '/undated' ? { ...entry, modifiedAt: new Date(0) } : entry);
const boundTo = (driver: StorageDriver, value: unknown) => (typeof value === 'function' ? value.bind(driver) : value);

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/u', driver: 'Memory', addition: '{"profile":"unknown sizes"}' });
  login = await installation.login({ id: 5, permission: 0b1000 });
  replica = await installation.open([withoutRanges]);
  const headers = { Authorization: login, 'File-Path': '/u/f' };
  const answer = await httpRequest(replica.url, { method: 'PUT', path: '/api/fs/put', headers, body: content });
  expect(answer.json()).toMatchObject({ code: 200, data: { task: { total_bytes: content.length } } });
});
afterAll(() => installation?.close());

const get = (request: Partial<HttpRequest> = {}) => httpRequest(replica.url, { path: `/d/u/f?${installation.sign('/u/f')}`, ...request });

describe('a file whose storage tells no size', () => {
  it('is listed with the size 0, as the family has no word for it', async () => {
    const entries: unknown[] = [];
    const listing = replica.fs.listEntries({ path: '/u' }, installation.as()) as AsyncIterable<ListEntriesResponse>;
    for await (const message of listing) entries.push(...message.entries);
    expect(entries).toMatchObject([{ name: 'f', size: 0 }]);
    expect(await replica.fs.getEntry({ path: '/u/f' }, installation.as())).toMatchObject({ size: 0 });
  });

  it('comes whole and without a length, whatever range is asked for', async () => {
    for (const headers of [{}, { Range: 'bytes=5-9' }, { Range: 'bytes=250000-' }, { Range: 'bytes=900000-' }]) {
      const answer = await get({ headers });
      expect([answer.status, answer.headers['content-length'], answer.headers['accept-ranges']]).toEqual([200, undefined, 'none']);
      expect(answer.body.length).toBe(content.length);
      expect(answer.body.equals(content)).toBe(true);
    }
    // The storage was asked for the range, and for the whole.
    Object.assign(calls, { read: 0, stat: 0 });
    await get({ headers: { Range: 'bytes=5-9' } });
    expect(calls).toEqual({ read: 2, stat: 0 });
    const head = await get({ method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.headers['accept-ranges']]).toEqual([200, undefined, 'none']);
  });

  it('has no tag, which could be that of another content: conditions with one do not hold, and the whole comes', async () => {
    const head = await get({ method: 'HEAD' });
    expect([head.headers.etag, typeof head.headers['last-modified']]).toEqual([undefined, 'string']);
    const tag = `"${Date.parse(String(head.headers['last-modified'])).toString(16)}-"`;
    for (const headers of [{ 'If-None-Match': tag }, { 'If-Range': tag, Range: 'bytes=0-4' }]) {
      const answer = await get({ headers });
      expect([answer.status, answer.headers.etag, answer.body.equals(content)]).toEqual([200, undefined, true]);
    }
    expect((await get({ headers: { 'If-Match': tag } })).status).toBe(412);
    const put = { method: 'PUT', path: '/api/fs/put', headers: { Authorization: login, 'File-Path': '/u/f', 'If-Match': tag }, body: 'x' };
    expect((await httpRequest(replica.url, put)).json()).toMatchObject({ code: 412 });
    expect((await get()).body.equals(content)).toBe(true);
  });

  it.each([
    ['dated', '/u/empty'],
    ['undated', '/u/undated'],
  ])('is, where its content tells that it is empty, an empty one as others are, and may be replaced as that: %s', async (_, file) => {
    const put = (headers: Record<string, string>, body: string) =>
      httpRequest(replica.url, {
        method: 'PUT',
        path: '/api/fs/put',
        headers: { Authorization: login, 'File-Path': file, ...headers },
        body,
      });
    const ask = (request: Partial<HttpRequest> = {}) =>
      httpRequest(replica.url, { path: `/d${file}?${installation.sign(file)}`, ...request });
    await put({}, '');
    const [whole, head, range] = [await ask(), await ask({ method: 'HEAD' }), await ask({ headers: { Range: 'bytes=0-99' } })];
    for (const { status, headers } of [whole, head])
      expect([status, headers['content-length'], headers.etag]).toEqual([200, '0', range.headers.etag]);
    expect([range.status, range.headers['content-range']]).toEqual([416, 'bytes */0']);
    expect((await put({ 'If-Match': '"1-0"' }, 'x')).json()).toMatchObject({ code: 412 });
    expect((await put({ 'If-Match': String(head.headers.etag) }, 'a line')).json()).toMatchObject({ code: 200 });
    expect((await ask()).body.toString()).toBe('a line');
  });
});
