import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import type { AppError } from '@wharf/errors';
import { countConnections, startHttpServer, waitFor } from '@wharf/harness';
import { drained } from '@wharf/pace';
import { expect, it, onTestFinished } from 'vitest';
import { at, failureWithout, namesIn, put } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { openListDriver } from './index.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
const SECRET = 'canary-secret';
const DATE = '2026-11-22T19:00:00Z';
const entry = (name: string, more: object = {}) => ({
  name,
  size: 5,
  is_dir: false,
  modified: DATE,
  created: DATE,
  hashinfo: 'null',
  ...more,
});
const ROOT = { ...entry('root'), is_dir: true, size: 0, raw_url: '', provider: 'unknown' };

function say(response: ServerResponse, data: unknown, code = 200, message = 'success'): void {
  response.end(JSON.stringify({ code, message, data }));
}

/** A storage of a gateway that answers as it should until it is open, and as the handler says then. */
async function openOn(handler: Handler, items: Record<string, unknown> = {}) {
  let isOpen = false;
  const server = await startHttpServer((request, response) => {
    if (isOpen) return handler(request, response);
    say(response, request.url === '/api/me' ? { username: 'u', role: 0 } : ROOT);
  });
  onTestFinished(() => server.stop());
  const addition = { url: server.url, token: SECRET, root_folder_path: '/', ...items };
  const driver = await openListDriver.open(JSON.stringify(addition), testSurroundings());
  onTestFinished(() => driver.close());
  isOpen = true;
  return { driver: driver as Required<StorageDriver>, server };
}

const read = async (driver: StorageDriver, range?: { offsetBytes: number; lengthBytes?: number }) => {
  const pieces: Uint8Array[] = [];
  for await (const piece of await driver.read(at('/file'), range)) pieces.push(Uint8Array.from(piece));
  return Buffer.concat(pieces).toString('utf8');
};
const failure = (call: Promise<unknown>) => failureWithout(SECRET, call);
const isApi = ({ url = '' }: IncomingMessage) => url.startsWith('/api/');
/** Of a gateway whose file has that address. */
const fileAt =
  (rawUrl: (request: IncomingMessage) => string, other: Handler): Handler =>
  (request, response) =>
    isApi(request)
      ? say(response, { ...entry('file'), raw_url: rawUrl(request), thumb: rawUrl(request), provider: 'Local' })
      : other(request, response);
const picture = (driver: Required<StorageDriver>, maxBytes = 1_000_000) => driver.thumbnail(at('/file'), { widthPixels: 144, maxBytes });

it('names that would lead elsewhere, or cannot be names, are left out (C4)', async () => {
  const odd = ['..', '.', 'a/b', '/etc/passwd', 'x\u0000y', 'x\r\nEvil: 1', 'n'.repeat(300), '', 'fine', 'fine', 'also fine'];
  const { driver } = await openOn((_, response) => say(response, { content: odd.map((name) => entry(name)), total: odd.length }));
  expect(await namesIn(driver, '/')).toEqual(['fine', 'also fine']);
});

it.each([
  ['entries that are none', { content: [{ no: 'name' }] }],
  ['a list that is none', { content: 'x'.repeat(5_000_000) }],
])('a listing with %s fails', async (_, data) => {
  const { driver } = await openOn((_request, response) => say(response, data));
  await expect(failure(namesIn(driver, '/'))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('of what a gateway says was left there a bounded number is removed, a few at a time', async () => {
  const names = Array.from(
    { length: 3_000 },
    (_, index) => `.wharf-far-${'0'.repeat(12)}-1-${'0'.repeat(12)}-${String(index).padStart(16, '0')}`,
  );
  let removals = 0;
  let isDone = false;
  const waiting: ServerResponse[] = [];
  const { driver } = await openOn((request, response) => {
    if (request.url !== '/api/fs/remove')
      return say(response, { content: names.map((name) => entry(name, { modified: '2001-01-01T00:00:00Z' })) });
    removals += 1;
    if (isDone) say(response, null);
    else waiting.push(response);
  });
  expect(await namesIn(driver, '/')).toEqual([]);
  await waitFor('some to be removed', async () => waiting.length === 4);
  // Another call of the same client, which the server answers, comes after all that were sent before.
  expect(await namesIn(driver, '/')).toEqual([]);
  expect(waiting).toHaveLength(4);
  isDone = true;
  for (const response of waiting) say(response, null);
  await waitFor('the rest to be removed', async () => removals >= 1_004);
  await namesIn(driver, '/');
  expect(removals).toBeLessThan(1_100);
});

it('an endless listing comes as it is read, and is left', async () => {
  const { driver } = await openOn(async (_request, response) => {
    response.write('{"code":200,"message":"success","data":{"content":[');
    for (let index = 0; !response.destroyed; index += 1) {
      if (response.write(`${index === 0 ? '' : ','}${JSON.stringify(entry(`file-${index}`))}`)) continue;
      await drained(response);
    }
  });
  let entries = 0;
  for await (const _ of driver.list(at('/'))) if (++entries === 5_000) break;
  expect(entries).toBe(5_000);
});

it.each([301, 302, 307, 308])('a redirect (%i) of a call is not followed: it has the token', async (status) => {
  const seen: string[] = [];
  const other = await startHttpServer((request, response) => {
    seen.push(request.url ?? '');
    say(response, ROOT);
  });
  onTestFinished(() => other.stop());
  const { driver } = await openOn((_request, response) => void response.writeHead(status, { Location: `${other.url}/x` }).end());
  for (const call of [
    () => driver.stat(at('/file')),
    () => namesIn(driver, '/'),
    () => put(driver, '/file', 'x', { sizeBytes: 1 }),
    () => driver.remove(at('/file'), { recursive: true }),
  ]) {
    await expect(failure(call())).resolves.toMatchObject({ code: 'FAILED_PRECONDITION', message: expect.stringContaining('url') });
  }
  expect(seen).toEqual([]);
});

it('the address of a file gets no token, nor does where it leads to', async () => {
  const seen: (string | undefined)[] = [];
  const { driver } = await openOn(
    fileAt(
      ({ headers }) => `http://${headers.host}/d/file?sign=x`,
      (request, response) => {
        seen.push(request.headers.authorization);
        if (request.url?.startsWith('/d/')) response.writeHead(302, { Location: '/elsewhere' }).end();
        else response.writeHead(200, { 'Content-Length': 5 }).end('hello');
      },
    ),
  );
  expect(await read(driver)).toBe('hello');
  expect(Buffer.from((await picture(driver)).image).toString()).toBe('hello');
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(seen)).toEqual(new Set([undefined]));
});

it.each(['http://169.254.169.254/latest/meta-data/', 'http://127.0.0.2:1/x', 'http://[::1]:1/x', 'file:///etc/passwd', 'gopher://x/'])(
  'a file at %s is not fetched, nor is a picture of one',
  async (address) => {
    // Nobody here has entered that address, so it has to be a public one.
    const policy = (audience: 'admin' | 'user') => createEgressPolicy({ audience, allow: [], forbidden: [] });
    const isFile = { now: false };
    const gateway = await startHttpServer((request, response) =>
      say(
        response,
        request.url === '/api/me'
          ? { username: 'u', role: 0 }
          : isFile.now
            ? { ...entry('file'), raw_url: address, thumb: address, provider: 'x' }
            : ROOT,
      ),
    );
    onTestFinished(() => gateway.stop());
    const addition = JSON.stringify({ url: gateway.url, token: SECRET, root_folder_path: '/' });
    const driver = await openListDriver.open(addition, { egress: createEgress(policy('admin'), policy('user')) });
    onTestFinished(() => driver.close());
    isFile.now = true;
    const refused = { code: expect.stringMatching(/PERMISSION_DENIED|UNSUPPORTED_OPERATION/) };
    await expect(failure(read(driver))).resolves.toMatchObject(refused);
    await expect(failure(picture(driver as Required<StorageDriver>))).resolves.toMatchObject(refused);
  },
);

it.each([
  ['fewer bytes than announced', 200, { 'Content-Length': 5 }, 'hel', undefined],
  ['another size', 200, { 'Content-Length': 4 }, 'four', undefined],
  ['a range that was not asked for', 206, { 'Content-Range': 'bytes 0-1/5', 'Content-Length': 2 }, 'ab', { offsetBytes: 3 }],
  ['another length than its range', 206, { 'Content-Range': 'bytes 3-4/5', 'Content-Length': 1 }, 'l', { offsetBytes: 3 }],
  ['another encoding', 200, { 'Content-Encoding': 'gzip', 'Content-Length': 5 }, 'hello', undefined],
  ['another date', 200, { 'Content-Length': 5, 'Last-Modified': 'Sun, 01 Nov 2026 19:00:00 GMT' }, 'hello', undefined],
])('a file with %s fails', async (_, status, headers, body, range) => {
  const { driver } = await openOn(
    fileAt(
      ({ headers: { host } }) => `http://${host}/p/file`,
      (_request, response) => {
        response.writeHead(status, headers);
        response.write(body, () => response.destroy());
      },
    ),
  );
  await expect(failure(read(driver, range))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it.each([
  [
    'that says how much too large it is',
    'CONTENT_CORRUPT',
    (response: ServerResponse) => void response.writeHead(200, { 'Content-Length': 1e9 }).write('x'),
  ],
  [
    'without an end',
    'CONTENT_CORRUPT',
    async (response: ServerResponse) => {
      while (!response.destroyed) {
        if (response.write('x'.repeat(10_000))) continue;
        await drained(response);
      }
    },
  ],
  ['that breaks off', 'STORAGE_UNAVAILABLE', (response: ServerResponse) => void response.write('x', () => response.destroy())],
  ['that is not there', 'UNSUPPORTED_OPERATION', (response: ServerResponse) => void response.writeHead(404).end()],
  ['that leads in a circle', 'UNSUPPORTED_OPERATION', (response: ServerResponse) => void response.writeHead(302, { Location: '/x' }).end()],
])('a picture %s is refused, and its connection is left', async (_, code, answer) => {
  const { driver, server } = await openOn(
    fileAt(
      ({ headers: { host } }) => `http://${host}/p/file`,
      (_request, response) => answer(response),
    ),
  );
  await expect(failure(picture(driver, 100_000))).resolves.toMatchObject({ code });
  await driver.close();
  await waitFor('connections to end', async () => (await countConnections(Number(new URL(server.url).port))) === 0);
});

it('a picture whose host stands still ends with its caller', async () => {
  const { driver } = await openOn(
    fileAt(
      ({ headers: { host } }) => `http://${host}/p/file`,
      (_request, response) => void response.write('x'),
    ),
  );
  const abort = new AbortController();
  const asked = driver.thumbnail(at('/file'), { widthPixels: 144, maxBytes: 100, signal: abort.signal });
  setImmediate(() => abort.abort());
  await expect(failure(asked)).resolves.toMatchObject({ code: 'CANCELLED' });
});

it('a redirect of a file in a circle ends', async () => {
  const { driver, server } = await openOn(
    fileAt(
      ({ headers }) => `http://${headers.host}/d/file`,
      (_request, response) => void response.writeHead(302, { Location: '/d/file' }).end(),
    ),
  );
  const before = server.requests();
  await failure(read(driver));
  expect(server.requests() - before).toBeLessThan(10);
});

it('a token that is refused is told without it, and not asked about again and again', async () => {
  const { driver, server } = await openOn((_request, response) => say(response, null, 401, `token ${SECRET} is expired`));
  const before = server.requests();
  await expect(failure(driver.stat(at('/file')))).resolves.toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
  expect(server.requests() - before).toBe(1);
});

it.each([
  ['of megabytes', 'x'.repeat(3_000_000)],
  ['that is no header', 'x\r\nEvil: 1'],
])('a login that gives a token %s is none: it would be kept with the storage', async (_, token) => {
  const server = await startHttpServer((request, response) => {
    if (request.url === '/api/auth/login') return say(response, { token });
    say(response, request.url === '/api/me' ? { username: 'u', role: 0 } : ROOT);
  });
  onTestFinished(() => server.stop());
  let kept = '';
  const keptItem = () => ({
    get value() {
      return kept;
    },
    async replace(before: string, after: string) {
      if (kept === before) kept = after;
      return kept;
    },
  });
  const addition = { url: server.url, username: 'u', password: SECRET, root_folder_path: '/' };
  const opening = openListDriver.open(JSON.stringify(addition), { ...testSurroundings(), keptItem });
  await expect(failure(opening)).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('another shape') });
  expect(kept).not.toContain('xxx');
  expect(kept).not.toContain('Evil');
});

it('a gateway that says it stored what it did not is found out', async () => {
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PUT') return void request.resume().once('end', () => say(response, null));
    if (request.url !== '/api/fs/get') return say(response, null);
    say(response, { ...entry('file'), size: 3, raw_url: 'x', provider: 'x' });
  });
  await expect(failure(put(driver, '/file', 'hello', { sizeBytes: 5 }))).resolves.toMatchObject({ code: 'CONTENT_CORRUPT' });
});

it.each([
  ['did not do', 5],
  ['lost bytes of', 4],
] as const)('a rename over a file that a gateway says it did, and %s, is told', async (what, keptBytes) => {
  let isRenamed = false;
  const { driver } = await openOn(async (request, response) => {
    const { path = '' } = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') as { path?: string };
    isRenamed ||= request.url === '/api/fs/rename';
    if (request.url !== '/api/fs/get') return say(response, null);
    if (path === '/') return say(response, ROOT);
    if (path === '/old' && isRenamed && what !== 'did not do') return say(response, null, 500, 'object not found');
    say(response, { ...entry(path.slice(1)), size: isRenamed ? keptBytes : 5, raw_url: 'x', provider: 'x' });
  });
  const renaming = failure(driver.rename(at('/old'), at('/file'), { overwrite: true }));
  await expect(renaming).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(isRenamed).toBe(true);
});

it.each([
  ['an upload', '/api/fs/rename', (driver: Required<StorageDriver>) => put(driver, '/file', 'hello', { sizeBytes: 5 })],
  ['a copy', '/api/fs/move', (driver: Required<StorageDriver>) => driver.copy(at('/old'), at('/file'), { overwrite: true })],
] as const)('%s over a file of its size, that a gateway says it replaced, and did not, is told', async (_, step, change) => {
  let isReplaced = false;
  const { driver } = await openOn(async (request, response) => {
    if (request.method === 'PUT') return void request.resume().once('end', () => say(response, null));
    const { path = '' } = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') as { path?: string };
    isReplaced ||= request.url === step;
    if (request.url !== '/api/fs/get') return say(response, null);
    say(response, path === '/' ? ROOT : { ...entry(path.slice(1)), raw_url: 'x', provider: 'x' });
  });
  await expect(failure(change(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(isReplaced).toBe(true);
});

/** Of a gateway whose copies have a size of their own, and in which another one replaces them right after. */
async function openForCopies(copiedBytes: number, isThere: boolean) {
  const calls: string[] = [];
  const opened = await openOn(async (request, response) => {
    const { path = '' } = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') as { path?: string };
    const { url = '' } = request;
    const isMoved = calls.includes('/api/fs/move');
    if (url !== '/api/fs/get') calls.push(url);
    if (url !== '/api/fs/get') return say(response, null);
    if (path === '/') return say(response, ROOT);
    if (path === '/file' && !isThere && !isMoved) return say(response, null, 500, 'object not found');
    const size = path === '/old' ? 5 : path === '/file' ? 2 : copiedBytes;
    say(response, { ...entry(path.slice(path.lastIndexOf('/') + 1)), size, raw_url: 'x', provider: 'x' });
  });
  return { ...opened, calls };
}

it.each([
  ['to a free name', false],
  ['over a file', true],
])('of a copy that a gateway cut short, %s, nothing is left, and it is told', async (_, isThere) => {
  const { driver, calls } = await openForCopies(3, isThere);
  await expect(failure(driver.copy(at('/old'), at('/file'), { overwrite: true }))).resolves.toMatchObject({ code: 'CONTENT_CORRUPT' });
  expect(calls).toEqual(['mkdir', 'copy', 'rename', 'remove'].map((call) => `/api/fs/${call}`));
});

it('a copy whose source grew before it, and that another one replaced right after it, is one', async () => {
  const { driver } = await openForCopies(7, false);
  await expect(driver.copy(at('/old'), at('/file'), { overwrite: true })).resolves.toMatchObject({ sizeBytes: 2 });
});

it('a removal that a gateway says it did, and did not, is told', async () => {
  const { driver } = await openOn((request, response) =>
    say(response, request.url === '/api/fs/get' ? { ...entry('file'), raw_url: 'x', provider: 'x' } : null),
  );
  await expect(failure(driver.remove(at('/file'), { recursive: false }))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('a removal that was done is told so though the look behind it fails, and its caller goes', async () => {
  const caller = new AbortController();
  let isRemoved = false;
  const { driver } = await openOn((request, response) => {
    if (isRemoved) {
      caller.abort();
      return void response.writeHead(500).end();
    }
    isRemoved = request.url === '/api/fs/remove';
    say(response, isRemoved ? null : { ...entry('d'), is_dir: true, raw_url: 'x', provider: 'x' });
  });
  await driver.remove(at('/d'), { recursive: true, signal: caller.signal });
  expect(caller.signal.aborted).toBe(true);
});

it('a gateway that stores less than it was sent has not replaced the old file by then', async () => {
  const changes: (string | undefined)[] = [];
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PUT') return void request.resume().once('end', () => say(response, null));
    if (request.url !== '/api/fs/get') changes.push(request.url);
    if (request.url !== '/api/fs/get') return say(response, null);
    say(response, { ...entry('file'), size: 3, raw_url: 'x', provider: 'x' });
  });
  await expect(failure(put(driver, '/file', 'hello', { sizeBytes: 5 }))).resolves.toMatchObject({ code: 'CONTENT_CORRUPT' });
  expect(changes).toEqual(['/api/fs/remove']);
});

it.each<[string, { isRenamed: boolean; isOldGone: boolean; again?: number; isAnswered?: false }, string | undefined, string[]]>([
  ['has done it', { isRenamed: true, isOldGone: true }, undefined, ['rename']],
  ['has not done it', { isRenamed: false, isOldGone: false }, 'STORAGE_UNAVAILABLE', ['rename', 'remove']],
  ['has removed the old file and done no more', { isRenamed: false, isOldGone: true, again: 200 }, undefined, ['rename', 'rename']],
  [
    'has removed the old file and can do no more',
    { isRenamed: false, isOldGone: true, again: 500 },
    'STORAGE_UNAVAILABLE',
    ['rename', 'rename'],
  ],
  ['says nothing more', { isRenamed: true, isOldGone: true, isAnswered: false }, 'STORAGE_UNAVAILABLE', ['rename']],
])(
  'a proxy that gives up on a replacement when the gateway %s: what was sent is removed only where the old file is there',
  async (_, fate, code, expected) => {
    const { isRenamed, isOldGone, again, isAnswered = true } = fate;
    const changes: string[] = [];
    let renames = 0;
    let temporary = '';
    const { driver } = await openOn(async (request, response) => {
      const { method, url = '' } = request;
      if (method === 'PUT') {
        temporary = decodeURIComponent(String(request.headers['file-path']));
        return void request.resume().once('end', () => say(response, null));
      }
      const { path = '' } = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') as { path?: string };
      if (url !== '/api/fs/get') changes.push(url.replace('/api/fs/', ''));
      if (url === '/api/fs/rename') {
        renames += 1;
        if (renames === 2) return say(response, null, again);
        return void response.writeHead(504).end('<html>');
      }
      if (url !== '/api/fs/get') return say(response, null);
      if (renames > 0 && !isAnswered) return void response.writeHead(504).end('<html>');
      const isThere =
        path === temporary ? !(isRenamed && renames > 0) : !(isOldGone && renames > 0) || (isRenamed && renames > 0) || renames === 2;
      if (isThere) say(response, { ...entry('file'), raw_url: 'x', provider: 'x' });
      else say(response, null, 500, 'object not found');
    });
    const outcome = put(driver, '/file', 'hello', { sizeBytes: 5, overwrite: true });
    if (code === undefined) await expect(outcome).resolves.toMatchObject({ sizeBytes: 5 });
    else await expect(failure(outcome)).resolves.toMatchObject({ code });
    expect(changes).toEqual(expected);
  },
);

it.each([10, undefined])('a gateway that answers before it has all of a file (%s bytes) has not stored it', async (sizeBytes) => {
  const changes: (string | undefined)[] = [];
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PUT') return void request.once('data', () => say(response, null));
    if (request.url !== '/api/fs/get') changes.push(request.url);
    if (request.url !== '/api/fs/get') return say(response, null);
    say(response, { ...entry('file'), size: 5, raw_url: 'x', provider: 'x' });
  });
  const content = async function* () {
    yield Buffer.from('hello');
    // Whoever sends it is slow.
    await new Promise(() => undefined);
  };
  const options = { overwrite: true, ...(sizeBytes !== undefined && { sizeBytes }) };
  await expect(failure(driver.write(at('/file'), content(), options))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(changes).toEqual(['/api/fs/remove']);
});

it('a guest is let in where the gateway says so alone', async () => {
  const open = async (allow_mounted: string) => {
    const server = await startHttpServer((request, response) => {
      expect(request.headers.authorization).toBeUndefined();
      if (request.url === '/api/me') return say(response, { username: 'guest', role: 1 });
      say(response, request.url === '/api/public/settings' ? { allow_mounted } : ROOT);
    });
    onTestFinished(() => server.stop());
    const driver = await openListDriver.open(JSON.stringify({ url: server.url, root_folder_path: '/' }), testSurroundings());
    await driver.close();
  };
  await expect(failure(open('false'))).resolves.toMatchObject({ message: expect.stringContaining('allow_mounted') });
  await open('true');
});

const inCase = (name: string) => name.toLowerCase();
const inForm = (name: string) => name.normalize('NFC');
it.each([
  ['A for a, in the folder that is shown', '/', inCase, ['Secret', 'notes']],
  ['A for a, in a storage of it', '/disk', inCase, ['Secret', 'notes']],
  ['NFC for NFD', '/', inForm, ['a', 'b', 'c', 'd', 'e', 'caf\u00e9']],
  ['NFD for NFC, in a storage of it', '/disk', inForm, ['cafe\u0301']],
])('a gateway that takes two names for one is not mounted, as rules would not hold: %s', async (_what, folder, foldName, names) => {
  const places = new Map([['/', folder === '/' ? names : ['disk']], ...(folder === '/' ? [] : [[folder, names] as const])]);
  const paths = [...places].flatMap(([at, names]) => names.map((name) => `${at === '/' ? '' : at}/${name}`));
  const openAt = async (folds: boolean) => {
    const server = await startHttpServer(async (request, response) => {
      if (request.url === '/api/me') return say(response, { username: 'u', role: 0 });
      const { path } = JSON.parse(await text(request)) as { path: string };
      if (request.url === '/api/fs/list') {
        const content = (places.get(path) ?? []).map((name) => entry(name, { is_dir: name === 'disk' }));
        return say(response, { content, total: content.length });
      }
      const isThere =
        path === '/' || paths.some((each) => each === path || (folds && each.startsWith(folder) && foldName(each) === foldName(path)));
      // Storages of a gateway have the names that its admin gave them.
      if (isThere && (folder === '/' || path.startsWith(folder) || path === '/')) return say(response, ROOT);
      say(response, null, 500, 'object not found');
    });
    onTestFinished(() => server.stop());
    return openListDriver.open(JSON.stringify({ url: server.url, token: SECRET, root_folder_path: '/' }), testSurroundings());
  };
  await expect(openAt(true)).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringContaining('upper from lower case'),
  });
  const driver = await openAt(false);
  onTestFinished(() => driver.close());
  expect(await namesIn(driver, '/')).toEqual(places.get('/'));
});

it.each<[string, string, object, { offsetBytes: number; lengthBytes?: number } | undefined, string]>([
  ['that tells its length', 'hello', { 'Content-Length': 5 }, undefined, 'hello'],
  ['that tells none', 'hello', {}, undefined, 'hello'],
  ['of another date than the gateway knows', 'hello', { 'Last-Modified': 'Sun, 01 Nov 2026 19:00:00 GMT' }, undefined, 'hello'],
  ['from its start', 'hello', {}, { offsetBytes: 0, lengthBytes: 3 }, 'hel'],
  ['from within', 'hello', { 'Content-Length': 5 }, { offsetBytes: 1, lengthBytes: 3 }, 'ell'],
  ['that is empty', '', { 'Content-Length': 0 }, undefined, ''],
])('a file whose size the gateway does not know is read: %s', async (_, body, headers, range, expected) => {
  const { driver } = await openOn((request, response) => {
    const raw_url = `http://${request.headers.host}/p/file`;
    if (isApi(request)) return say(response, { ...entry('file', { size: 0, modified: '1970-01-01T00:00:00Z' }), raw_url });
    response.writeHead(200, { ...headers }).end(body);
  });
  expect(await read(driver, range)).toBe(expected);
  const { entry: opened } = await driver.read(at('/file'));
  expect(opened.sizeBytes).toBe(body === '' ? 0 : undefined);
});

/** Of a gateway that says of each file that it has 0 bytes, and whose content is this. Names that begin with `new` are free until they are taken. */
const unsizedAt = (content: string, headers: object = {}): Handler => {
  let isTaken = false;
  return async (request, response) => {
    if (!isApi(request)) return void response.writeHead(200, { ...headers }).end(content);
    const sent = await text(request);
    const { path = '' } = request.method === 'PUT' ? {} : (JSON.parse(sent) as { path?: string });
    isTaken ||= request.url === '/api/fs/rename' || request.url === '/api/fs/move';
    if (request.url === '/api/fs/rename') return say(response, null);
    if (path === '/') return say(response, request.url === '/api/fs/list' ? { content: [entry('file', { size: 0 })], total: 1 } : ROOT);
    if (path.startsWith('/new') && !isTaken) return say(response, null, 500, 'object not found');
    if (path === '/old' && isTaken) return say(response, null, 500, 'object not found');
    const size = path === '/old' ? 5 : 0;
    say(response, { ...entry(path.slice(1)), size, raw_url: `http://${request.headers.host}/p/file`, provider: 'x' });
  };
};

it('a file of which a gateway says that it has 0 bytes has a size that nobody knows, in a look and in a listing', async () => {
  const { driver } = await openOn(unsizedAt('hello'));
  const listed: unknown[] = [];
  for await (const { sizeBytes } of driver.list(at('/'))) listed.push(sizeBytes);
  expect([(await driver.stat(at('/file'))).sizeBytes, ...listed]).toEqual([undefined, undefined]);
});

it.each<[string, string, object, string | undefined, string | undefined]>([
  ['and whose content says none', 'hello', {}, undefined, undefined],
  ['and whose content says it', 'hello', { 'Content-Length': 5 }, undefined, undefined],
  ['and has less', 'hel', { 'Content-Length': 3 }, 'CONTENT_CORRUPT', 'STORAGE_UNAVAILABLE'],
  ['and has nothing', '', { 'Content-Length': 0 }, 'CONTENT_CORRUPT', 'STORAGE_UNAVAILABLE'],
])(
  'what a gateway stored, copied or renamed of which it tells no size, %s, is that as far as anybody can tell',
  async (_, content, headers, code, renamed) => {
    const after = async (change: (driver: Required<StorageDriver>) => Promise<unknown>) => {
      const { driver } = await openOn(unsizedAt(content, headers));
      return change(driver).then(
        () => undefined,
        (error: AppError) => error.code,
      );
    };
    expect(await after((driver) => put(driver, '/new', 'hello', { sizeBytes: 5 }))).toBe(code);
    expect(await after((driver) => driver.copy(at('/old'), at('/new'), { overwrite: true }))).toBe(code);
    expect(await after((driver) => driver.rename(at('/old'), at('/new'), { overwrite: true }))).toBe(renamed);
  },
);

it('an empty file goes only as the one that it was, by its date, and one without a date or a size not at all', async () => {
  const dated = (modified: string) => async (request: IncomingMessage, response: ServerResponse) => {
    say(response, { ...entry('file', { size: 0, modified }), raw_url: `http://${request.headers.host}/p/file`, provider: 'x' });
  };
  const remove = async (modified: string, onlyIf: { sizeBytes: number | undefined; modifiedAt: Date }) => {
    const { driver } = await openOn(dated(modified));
    const file = await driver.stat(at('/file'));
    return failure(driver.remove(at('/file'), { recursive: false, onlyIf: { ...file, ...onlyIf } }));
  };
  const modifiedAt = new Date(DATE);
  // It is seen there afterwards, as nobody removes it.
  await expect(remove(DATE, { sizeBytes: 0, modifiedAt })).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(remove(DATE, { sizeBytes: 0, modifiedAt: new Date(0) })).resolves.toMatchObject({ code: 'STALE_VERSION' });
  await expect(remove(DATE, { sizeBytes: 5, modifiedAt })).resolves.toMatchObject({ code: 'STALE_VERSION' });
  await expect(remove('', { sizeBytes: undefined, modifiedAt: new Date(0) })).resolves.toMatchObject({ code: 'STALE_VERSION' });
});

it.each<[string, string, object, string]>([
  ['and its content neither', 'hello', { 'Transfer-Encoding': 'chunked' }, 'STALE_VERSION'],
  // These are seen there afterwards, as nobody removes them.
  ['and its content does', 'hello', { 'Content-Length': 5 }, 'STORAGE_UNAVAILABLE'],
  ['as it is empty', '', { 'Content-Length': 0 }, 'STORAGE_UNAVAILABLE'],
])(
  'a file of which a gateway tells no size, %s, goes as the one that was copied only where its end is known',
  async (_, content, headers, code) => {
    const { driver } = await openOn(unsizedAt(content, headers));
    const file = await driver.stat(at('/file'));
    await expect(failure(driver.remove(at('/file'), { recursive: false, onlyIf: file }))).resolves.toMatchObject({ code });
  },
);

it.each<[string, string, { offsetBytes: number; lengthBytes?: number } | undefined, string | undefined]>([
  ['whole', 'hello', undefined, 'hello'],
  ['from within', 'hello', { offsetBytes: 1, lengthBytes: 3 }, 'ell'],
  ['to its end', 'hello', { offsetBytes: 2 }, 'llo'],
  ['whole, and has more', 'hello!', undefined, undefined],
  ['to its end, and has more', 'hello!', { offsetBytes: 2 }, undefined],
  ['whole, and has less', 'hell', undefined, undefined],
  ['to its end, and has less', 'hell', { offsetBytes: 2 }, undefined],
])('a file of known size that comes in chunks is held to that size: it is read %s', async (_, body, range, expected) => {
  const { driver } = await openOn(
    fileAt(
      ({ headers: { host } }) => `http://${host}/p/file`,
      (_request, response) => {
        response.write(body.slice(0, 2), () => response.end(body.slice(2)));
      },
    ),
  );
  if (expected !== undefined) expect(await read(driver, range)).toBe(expected);
  else await expect(failure(read(driver, range))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('a file whose size the gateway does not know, and that breaks off, is not taken for whole', async () => {
  const { driver } = await openOn((request, response) => {
    const raw_url = `http://${request.headers.host}/p/file`;
    if (isApi(request)) return say(response, { ...entry('file', { size: 0 }), raw_url });
    response.writeHead(200).write('hel', () => response.destroy());
  });
  await expect(failure(read(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it.each([
  ['before it is looked at', () => true],
  ['after it was looked at', (url: string) => url === '/api/fs/remove'],
])('nothing counts as removed where the gateway has no storage: it may be disabled (%s)', async (_, isDisabled) => {
  const { driver } = await openOn(async (request, response) => {
    const { path } = JSON.parse(await text(request)) as { path?: string };
    if (path === '/') return say(response, ROOT);
    if (isDisabled(request.url ?? '')) return say(response, null, 500, 'failed get storage: storage not found; rawPath: /x');
    say(response, { ...entry('file'), raw_url: '', provider: 'Local' });
  });
  const disabled = { code: 'FAILED_PRECONDITION', message: expect.stringContaining('disabled') };
  await expect(failure(driver.remove(at('/disk/file'), { recursive: true }))).resolves.toMatchObject(disabled);
});

it('beside the storages of a gateway nothing is there, and nothing to remove', async () => {
  const { driver } = await openOn(async (request, response) => {
    const { path } = JSON.parse(await text(request)) as { path?: string };
    if (path === '/') return say(response, ROOT);
    say(response, null, 500, 'failed get storage: storage not found; rawPath: /x');
  });
  await expect(failure(driver.stat(at('/none')))).resolves.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
  await expect(failure(driver.remove(at('/none'), { recursive: true }))).resolves.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
});

it.each([
  ['has the call', 500, 'DIRECTORY_NOT_EMPTY'],
  ['is an earlier one', 404, 'RECORD_NOT_FOUND'],
])('a folder that a Wharf lists as empty goes only if that Wharf says so: one that %s', async (_, code, name) => {
  const changes: unknown[] = [];
  const server = await startHttpServer(async (request, response) => {
    response.setHeader('X-Wharf-Installation', '0'.repeat(32));
    if (request.url === '/api/me') return say(response, { username: 'u', role: 0 });
    if (request.url === '/api/fs/list') return say(response, { content: [], total: 0 });
    if (request.url === '/api/fs/get') return say(response, ROOT);
    changes.push(request.url, JSON.parse(await text(request)));
    response.setHeader('X-Error-Code', name);
    say(response, null, code, 'no');
  });
  onTestFinished(() => server.stop());
  const driver = await openListDriver.open(JSON.stringify({ url: server.url, token: SECRET, root_folder_path: '/r' }), testSurroundings());
  onTestFinished(() => driver.close());
  const removal = (driver as Required<StorageDriver>).remove(at('/folder'), { recursive: false });
  await expect(failure(removal)).resolves.toMatchObject({ code: 'DIRECTORY_NOT_EMPTY' });
  expect(changes).toEqual(['/api/fs/remove_if_empty', { dir: '/r', names: ['folder'] }]);
});

it.each([
  ['looks anew, and', true, ['new'], 'DIRECTORY_NOT_EMPTY', []],
  ['looks anew, and', true, [], undefined, ['/api/fs/remove']],
  ['lets nobody have it look anew, and', false, [], undefined, ['/api/fs/remove']],
])(
  'what a gateway that is no Wharf knew of a folder a while ago does not make it empty: one that %s',
  async (_, looks, names, code, done) => {
    const changes: string[] = [];
    const { driver } = await openOn(async (request, response) => {
      const { refresh } = JSON.parse(await text(request)) as { refresh?: boolean };
      if (request.url === '/api/fs/list') {
        if (refresh && !looks) return say(response, null, 403, 'Refresh without permission');
        const content = refresh ? names.map((name) => entry(name)) : [];
        return say(response, { content, total: content.length });
      }
      if (request.url === '/api/fs/get' && changes.length === 0) return say(response, ROOT);
      if (request.url === '/api/fs/get') return say(response, null, 500, 'object not found');
      changes.push(request.url ?? '');
      say(response, null);
    });
    const refusal = await driver.remove(at('/folder'), { recursive: false }).then(
      () => undefined,
      (error: AppError) => error.code,
    );
    expect([refusal, changes]).toEqual([code, done]);
  },
);
