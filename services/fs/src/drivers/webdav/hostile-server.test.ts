import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpServer, startHttpServer } from '@wharf/harness';
import { collectGarbage, drained } from '@wharf/pace';
import { expect, it, onTestFinished } from 'vitest';
import { at, failureWithout, namesIn, put, sizeRead } from '../../driver-contract/conformance/driver-calls.ts';
import type { ByteRange, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { testEgress } from './testing/test-egress.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
const SECRET = 'canary-secret';
const DATE = 'Sun, 22 Nov 2026 19:00:00 GMT';
const HEAD = { ETag: '"v1"', 'Last-Modified': DATE };

const entry = (href: string, type = '') =>
  `<D:response><D:href>${href}</D:href><D:propstat><D:prop><D:resourcetype>${type}</D:resourcetype><D:getcontentlength>1</D:getcontentlength><D:getlastmodified>${DATE}</D:getlastmodified><D:getetag>"x"</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;
const ROOT = entry('/dav/', '<D:collection/>');
const multistatus = (...entries: readonly string[]) =>
  `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">${ROOT}${entries.join('')}</D:multistatus>`;
const answer = (response: ServerResponse, body: string | Buffer) => void response.writeHead(207).end(body);

/** A storage of a server that answers as it should until it is open, and as the handler says then. */
async function openOn(handler: Handler, items: Record<string, unknown> = {}) {
  let isOpen = false;
  const server = await startHttpServer((request, response) => {
    if (request.headers.authorization === undefined) return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
    if (isOpen) return handler(request, response);
    if (request.method === 'PROPFIND') answer(response, multistatus());
    else response.writeHead(403).end();
  });
  onTestFinished(() => server.stop());
  const addition = { address: `${server.url}/dav`, username: 'u', password: SECRET, root_folder_path: '/', ...items };
  const driver = await webdavDriver.open(JSON.stringify(addition), { egress: testEgress() });
  onTestFinished(() => driver.close());
  // It looks at its root in its own time.
  await namesIn(driver, '/');
  isOpen = true;
  return { driver: driver as Required<StorageDriver>, server };
}

const read = (driver: StorageDriver, range?: ByteRange) => sizeRead(driver, '/file', range);
const failure = (call: Promise<unknown>) => failureWithout(SECRET, call);

it('names that would lead elsewhere, or cannot be names, are left out (C4)', async () => {
  const odd = [
    ...['/dav/..', '/dav/%2E%2E', '/dav/.', '/dav/a%2Fb', '/dav/x%00y', '/dav/x%0D%0AEvil', '/dav/%ff%fe', '/etc/passwd', '/dav/../etc'],
    ...['/dav/sub/deeper', 'relative', `/dav/${'n'.repeat(300)}`, '', 'http://other.example/dav/foreign-host', '/dav/fine', '/dav/fine'],
  ];
  const { driver } = await openOn((_, response) => answer(response, multistatus(...odd.map((href) => entry(href)))));
  // Of the host in an address nothing is ever asked.
  expect(await namesIn(driver, '/')).toEqual(['foreign-host', 'fine']);
});

it.each([
  ['whose name is no UTF-8', entry('/dav/d/caf%e9.txt')],
  ['that nobody may look at', entry('/dav/d/locked').replace('200 OK', '403 Forbidden')],
  ['that lies deeper', entry('/dav/d/sub/deeper')],
  ['that lies elsewhere', entry('/other/file')],
])('a folder with an entry %s is not empty: nothing of it is removed or replaced', async (_, odd) => {
  const changes: string[] = [];
  const folder = entry('/dav/d/', '<D:collection/>');
  const { driver } = await openOn(({ method = '', url, headers }, response) => {
    if (method !== 'PROPFIND') changes.push(method);
    const isInside = url === '/dav/d/' && headers['depth'] === '1';
    answer(response, `<D:multistatus xmlns:D="DAV:">${folder}${isInside ? odd : ''}</D:multistatus>`);
  });
  expect(await namesIn(driver, '/d')).toEqual([]);
  expect(await failure(driver.remove(at('/d'), { recursive: false }))).toMatchObject({ code: 'DIRECTORY_NOT_EMPTY' });
  expect(await failure(driver.rename(at('/other'), at('/d'), { overwrite: true }))).toMatchObject({ code: 'DIRECTORY_NOT_EMPTY' });
  expect(changes).toEqual([]);
});

it('an endless listing comes as it is read, and is left', async () => {
  const { driver } = await openOn(async (_request, response) => {
    response.writeHead(207).write(multistatus().replace('</D:multistatus>', ''));
    for (let index = 0; !response.destroyed; index += 1) {
      if (response.write(entry(`/dav/file-${index}`))) continue;
      await drained(response);
    }
  });
  let entries = 0;
  for await (const _ of driver.list(at('/'))) if (++entries === 2_500) break;
  expect(entries).toBe(2_500);
});

it.each([
  ['one of them far behind', ['README', ...Array.from({ length: 20 }, (_, index) => `f${index}`), 'readme'], false, 'opened'],
  ['and nothing else', ['a', 'A'], false, 'opened'],
  [
    'to which it does not keep',
    ['README', ...Array.from({ length: 20 }, (_, index) => `f${index}`)],
    true,
    'does not tell upper from lower case',
  ],
])('a server that cannot be written to, with two spellings of a name, %s', async (_, names, isFolded, outcome) => {
  const folded = (name: string) => (isFolded ? name.toLowerCase() : name);
  const server = await startHttpServer((request, response) => {
    if (request.method !== 'PROPFIND') return void response.writeHead(403).end();
    const name = new URL(request.url ?? '', 'http://server').pathname.slice('/dav/'.length);
    const listed = request.headers['depth'] === '0' ? [] : names;
    if (name === '') return answer(response, multistatus(...listed.map((each) => entry(`/dav/${each}`))));
    if (!names.some((each) => folded(each) === folded(name))) return void response.writeHead(404).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${entry(`/dav/${name}`)}</D:multistatus>`);
  });
  onTestFinished(() => server.stop());
  const addition = { address: `${server.url}/dav`, username: 'u', password: SECRET, root_folder_path: '/' };
  const opened = await webdavDriver.open(JSON.stringify(addition), { egress: testEgress() }).then(
    (driver) => driver.close().then(() => 'opened'),
    (error: Error) => error.message,
  );
  expect(opened).toContain(outcome);
});

it('a slow server that cannot be written to is asked for all spellings at once', async () => {
  const waiting: (() => void)[] = [];
  const server = await startHttpServer((request, response) => {
    if (request.method !== 'PROPFIND') return void response.writeHead(403).end();
    const isRoot = new URL(request.url ?? '', 'http://server').pathname === '/dav/';
    const listed = request.headers['depth'] === '0' ? [] : ['ONE', 'TWO', 'THREE'];
    if (isRoot) return answer(response, multistatus(...listed.map((each) => entry(`/dav/${each}`))));
    waiting.push(() => void response.writeHead(404).end());
    if (waiting.length === 3) for (const go of waiting) go();
  });
  onTestFinished(() => server.stop());
  const addition = { address: `${server.url}/dav`, username: 'u', password: SECRET, root_folder_path: '/' };
  await (await webdavDriver.open(JSON.stringify(addition), { egress: testEgress() })).close();
  expect(waiting).toHaveLength(3);
});

it('what a server lists of the folder in which it is tried is not kept', async () => {
  const held: number[] = [];
  const long = entry(`/dav/${'x'.repeat(1_000)}`);
  const server = await startHttpServer(async ({ method, headers, url }, response) => {
    if (method !== 'PROPFIND') return void response.writeHead(method === 'MOVE' ? 412 : 201).end();
    if (url === '/dav/') return answer(response, multistatus());
    if (headers['depth'] === '0') return void response.writeHead(404).end();
    response.writeHead(207).write(multistatus().replace('</D:multistatus>', ''));
    for (let index = 0; index < 20_000; index += 1) if (!response.write(long.replace('/dav/', `${url}${index}`))) await drained(response);
    collectGarbage('regular');
    held.push(process.memoryUsage().heapUsed);
    response.end('</D:multistatus>');
  });
  onTestFinished(() => server.stop());
  collectGarbage('regular');
  const before = process.memoryUsage().heapUsed;
  const addition = { address: `${server.url}/dav`, username: 'u', password: SECRET, root_folder_path: '/' };
  await webdavDriver.open(JSON.stringify(addition), { egress: testEgress() }).catch(() => undefined);
  // The names were 20 MB.
  expect(Math.max(...held) - before).toBeLessThan(10 * 1024 * 1024);
});

it.each([
  ['entities of its own', `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><multistatus><response>&b;</response></multistatus>`],
  ['files of ours', `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><multistatus><response>&a;</response></multistatus>`],
  ['a thousand levels', `<multistatus>${'<a>'.repeat(1000)}`],
  ['half a document', '<multistatus><response>'],
  ['another document', '<html><body>Please log in</body></html>'],
  ['nothing', ''],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x3c, 0x00])],
  ['a response without an address', '<multistatus><response/></multistatus>'],
  ['a response without an end', `<multistatus><response>${'<a>x</a>'.repeat(60_000)}`],
])('XML with %s is refused', async (_, body) => {
  const { driver } = await openOn((_request, response) => answer(response, body));
  await expect(failure(namesIn(driver, '/'))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it.each([
  ['fewer bytes than announced', 200, { ...HEAD, 'Content-Length': '10' }, 'short', undefined],
  ['a range that was not asked for', 206, { ...HEAD, 'Content-Range': 'bytes 0-4/10', 'Content-Length': '5' }, 'short', { offsetBytes: 3 }],
  ['another length than its range', 206, { ...HEAD, 'Content-Range': 'bytes 3-9/10', 'Content-Length': '2' }, 'sh', { offsetBytes: 3 }],
  ['no range at all', 206, { ...HEAD, 'Content-Length': '5' }, 'short', { offsetBytes: 0, lengthBytes: 5 }],
  ['another encoding', 200, { ...HEAD, 'Content-Encoding': 'gzip', 'Content-Length': '5' }, 'short', undefined],
])('a file with %s fails', async (_, status, headers, body, range) => {
  const { driver } = await openOn((_request, response) => {
    response.writeHead(status, headers);
    response.write(body, () => response.destroy());
  });
  await expect(failure(read(driver, range))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('a server that knows no ranges gives its whole file, of which the stretch is taken', async () => {
  const { driver } = await openOn(
    (_request, response) => void response.writeHead(200, { ...HEAD, 'Content-Length': '10' }).end('0123456789'),
  );
  expect(await read(driver, { offsetBytes: 3, lengthBytes: 4 })).toBe(4);
  expect(await read(driver, { offsetBytes: 3 })).toBe(7);
});

it.each<[string, ByteRange | undefined, number | undefined]>([
  ['whole', undefined, 10],
  ['from within', { offsetBytes: 3, lengthBytes: 4 }, 4],
  ['to its end', { offsetBytes: 3 }, 7],
  ['past its end', { offsetBytes: 10 }, undefined],
])('a file whose size is listed alone, and that comes in chunks, is held to that size: it is read %s', async (_, range, expected) => {
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PROPFIND') return answer(response, multistatus(entry('/dav/file').replace('>1<', '>10<')).replace(ROOT, ''));
    response.writeHead(200, HEAD).write('01234', () => response.end('56789'));
  });
  if (expected === undefined) await expect(failure(read(driver, range))).resolves.toMatchObject({ code: 'RANGE_NOT_SATISFIABLE' });
  else expect(await read(driver, range)).toBe(expected);
});

it.each([undefined, async () => undefined])(
  'a server that keeps less than it was sent has not replaced the old file by then (question: %s)',
  async (beforePublish) => {
    const asked: string[] = [];
    const { driver } = await openOn((request, response) => {
      const { method = '', url = '' } = request;
      asked.push(method);
      if (method === 'PUT') return void request.resume().once('end', () => response.writeHead(201).end());
      if (method === 'PROPFIND')
        return answer(
          response,
          `<multistatus xmlns="DAV:">${entry(url, url === '/dav/' ? '<collection/>' : '').replaceAll('D:', '')}</multistatus>`,
        );
      response.writeHead(method === 'MOVE' && request.headers.overwrite === 'F' ? 412 : 204).end();
    });
    await expect(failure(put(driver, '/file', 'hello', { sizeBytes: 5, ...(beforePublish && { beforePublish }) }))).resolves.toMatchObject({
      code: 'CONTENT_CORRUPT',
    });
    expect(asked.filter((method) => method === 'MOVE')).toHaveLength(beforePublish ? 0 : 1);
    expect(asked.at(-1)).toBe('DELETE');
  },
);

it.each([
  ['has removed the old file', ['/dav/.wharf-new'], ['/dav/file']],
  ['has not begun', ['/dav/.wharf-new', '/dav/file'], ['/dav/file']],
])('a server that is away in a replacement and %s is left with a file of that name once it is back', async (_, left, expected) => {
  const files = new Set<string>();
  let isAway = false;
  let looks = 0;
  // Whatever the temporary name is.
  const nameOf = (url: string) => (url.includes('.wharf-tmp') ? '/dav/.wharf-new' : url);
  const { driver } = await openOn((request, response) => {
    const { method = '', url = '', headers } = request;
    if (method === 'PUT') {
      files.add(nameOf(url)).add('/dav/file');
      return void request.resume().once('end', () => response.writeHead(201).end());
    }
    if (method === 'PROPFIND') {
      // It is away for two looks.
      if (isAway) looks += 1;
      if (isAway && looks <= 2) return void response.destroy();
      if (url === '/dav/') return answer(response, multistatus());
      const body = `<multistatus xmlns="DAV:">${entry(url).replaceAll('D:', '').replace('>1<', '>5<')}</multistatus>`;
      return files.has(nameOf(url)) ? answer(response, body) : void response.writeHead(404).end();
    }
    if (method === 'DELETE') return void response.writeHead(files.delete(nameOf(url)) ? 204 : 404).end();
    const to = new URL(String(headers.destination), 'http://x').pathname;
    if (headers.overwrite === 'F') {
      if (files.has(to)) return void response.writeHead(412).end();
      files.delete(nameOf(url));
      files.add(to);
      return void response.writeHead(201).end();
    }
    isAway = true;
    files.clear();
    for (const file of left) files.add(file);
    response.destroy();
  });
  await expect(failure(put(driver, '/file', 'hello', { sizeBytes: 5, overwrite: true }))).resolves.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
  });
  await expect.poll(() => [...files].sort(), { timeout: 10_000 }).toEqual(expected);
});

it('a name that was taken, and is free for a moment while another one replaces it, is tried again', async () => {
  const files = new Set<string>();
  let moves = 0;
  const { driver } = await openOn((request, response) => {
    const { method = '', url = '', headers } = request;
    if (method === 'PUT') {
      files.add(url);
      return void request.resume().once('end', () => response.writeHead(201).end());
    }
    if (method === 'PROPFIND') {
      if (url === '/dav/') return answer(response, multistatus());
      const body = `<multistatus xmlns="DAV:">${entry(url).replaceAll('D:', '').replace('>1<', '>5<')}</multistatus>`;
      return files.has(url) ? answer(response, body) : void response.writeHead(404).end();
    }
    if (method === 'DELETE') return void response.writeHead(files.delete(url) ? 204 : 404).end();
    moves += 1;
    if (moves === 1) return void response.writeHead(412).end();
    files.delete(url);
    files.add(new URL(String(headers.destination), 'http://x').pathname);
    response.writeHead(201).end();
  });
  await expect(put(driver, '/file', 'hello', { sizeBytes: 5, overwrite: true })).resolves.toMatchObject({ sizeBytes: 5 });
  expect([...files]).toEqual(['/dav/file']);
});

it.each([10, undefined])('a server that answers before it has all of a file (%s bytes) has not stored it', async (sizeBytes) => {
  const changes: string[] = [];
  const { driver } = await openOn((request, response) => {
    const { method = '', url = '' } = request;
    if (method === 'PUT') return void request.once('data', () => response.writeHead(201).end());
    if (method !== 'PROPFIND') changes.push(method);
    if (method !== 'PROPFIND') return void response.writeHead(204).end();
    const kept = `<D:multistatus xmlns:D="DAV:">${entry(url).replace('>1<', '>5<')}</D:multistatus>`;
    answer(response, url === '/dav/' ? multistatus() : kept);
  });
  const content = async function* () {
    yield Buffer.from('hello');
    // Whoever sends it is slow.
    await new Promise(() => undefined);
  };
  const options = { overwrite: true, ...(sizeBytes !== undefined && { sizeBytes }) };
  await expect(failure(driver.write(at('/file'), content(), options))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(changes).toEqual(['DELETE']);
});

it('a server that answers while the last piece is on its way has not stored it, whatever it lists', async () => {
  // More than the systems of both ends hold.
  const content = Buffer.alloc(16_000_000);
  const changes: string[] = [];
  const { driver } = await openOn((request, response) => {
    const { method = '', url = '' } = request;
    if (method === 'PUT')
      return void request.once('data', () => {
        request.pause();
        response.writeHead(201, { Connection: 'close' }).end();
      });
    if (method !== 'PROPFIND') changes.push(method);
    if (method !== 'PROPFIND') return void response.writeHead(204).end();
    const kept = `<D:multistatus xmlns:D="DAV:">${entry(url).replace('>1<', `>${content.byteLength}<`)}</D:multistatus>`;
    answer(response, url === '/dav/' ? multistatus() : kept);
  });
  const pieces = async function* () {
    yield content;
  };
  const writing = driver.write(at('/file'), pieces(), { overwrite: true, sizeBytes: content.byteLength });
  await expect(failure(writing)).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(changes).toEqual(['DELETE']);
});

const redirected = (Location: string) => openOn((_request, response) => void response.writeHead(307, { Location }).end());

it.each(['http://other.example/x', 'http://169.254.169.254/latest/meta-data/', 'file:///etc/passwd', 'http://u:p@127.0.0.1:1/'])(
  'a redirect to %s is not followed, whatever was asked',
  async (Location) => {
    const { driver } = await redirected(Location);
    for (const call of [
      () => driver.stat(at('/file')),
      () => namesIn(driver, '/'),
      () => read(driver),
      () => put(driver, '/file', 'x'),
      () => driver.remove(at('/file'), { recursive: true }),
      () => driver.makeDirectory(at('/d')),
    ]) {
      await expect(failure(call())).resolves.toMatchObject({ code: 'FAILED_PRECONDITION', message: expect.stringContaining('address') });
    }
  },
);

it('content comes from a host that the admin named, which gets no password; without that it does not', async () => {
  const seen: (string | undefined)[] = [];
  const other: HttpServer = await startHttpServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { ...HEAD, 'Content-Length': '5' }).end('hello');
  });
  onTestFinished(() => other.stop());
  const handler: Handler = (request, response) => {
    if (request.method === 'GET') response.writeHead(302, { Location: `${other.url}/file` }).end();
    else answer(response, `<multistatus xmlns="DAV:">${entry('/dav/file').replaceAll('D:', '')}</multistatus>`);
  };
  const strict = await openOn(handler);
  await expect(failure(read(strict.driver))).resolves.toMatchObject({ code: 'FAILED_PRECONDITION' });
  expect(seen).toEqual([]);
  const named = await openOn(handler, { redirect_hosts: `127.0.0.1:${other.port}` });
  expect(await read(named.driver)).toBe(5);
  expect(seen).toEqual([undefined]);
});

it('a redirect in a circle ends', async () => {
  const { driver, server } = await redirected('/dav/other');
  const before = server.requests();
  await expect(failure(driver.stat(at('/file')))).resolves.toMatchObject({ code: 'FAILED_PRECONDITION' });
  expect(server.requests() - before).toBeLessThan(6);
});

it('a login that is refused is asked for once, and told without the password', async () => {
  const { driver, server } = await openOn(
    (_request, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end(),
  );
  const before = server.requests();
  await expect(failure(driver.stat(at('/file')))).resolves.toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
  expect(server.requests() - before).toBe(1);
});

it.each([
  ['did not do', 1],
  ['lost bytes of', 0],
] as const)('a rename over a file that a server says it did, and %s, is told', async (what, keptBytes) => {
  let isMoved = false;
  const { driver } = await openOn((request, response) => {
    const path = request.url ?? '';
    isMoved ||= request.method === 'MOVE';
    if (request.method === 'MOVE') return void response.writeHead(201).end();
    if (!path.endsWith('file')) return answer(response, multistatus());
    if (path.endsWith('/old-file') && isMoved && what !== 'did not do') return void response.writeHead(404).end();
    const file = entry(path).replace('>1<', `>${isMoved ? keptBytes : 1}<`);
    answer(response, `<D:multistatus xmlns:D="DAV:">${file}</D:multistatus>`);
  });
  const renaming = failure(driver.rename(at('/old-file'), at('/file'), { overwrite: true }));
  expect(await renaming).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(isMoved).toBe(true);
});

it.each([
  ['shows what was for a while', '/old-file', 1],
  ['takes another case for the same name', '/FILE', 1],
  ['has a file that has grown meanwhile', '/old-file', 2],
  ['fails at the first look', '/old-file', 1],
] as const)('a rename over a file by a server that %s is done', async (what, from, bytes) => {
  let isMoved = false;
  let looks = 0;
  const { driver } = await openOn((request, response) => {
    const path = request.url ?? '';
    isMoved ||= request.method === 'MOVE';
    if (request.method === 'MOVE') return void response.writeHead(201).end();
    if (!path.toLowerCase().endsWith('file')) return answer(response, multistatus());
    const isOld = path.endsWith(from);
    if (isOld && isMoved) looks += 1;
    if (isMoved && looks === 1 && what.startsWith('fails')) return void response.writeHead(500).end();
    const isGone = what.startsWith('has') || looks > 2;
    if (isOld && isMoved && isGone) return void response.writeHead(404).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${entry(path).replace('>1<', `>${isMoved ? bytes : 1}<`)}</D:multistatus>`);
  });
  expect(await driver.rename(at(from), at('/file'), { overwrite: true })).toMatchObject({ name: 'file', sizeBytes: bytes });
});

it.each([
  ['did not do, is told', 'STORAGE_UNAVAILABLE'],
  ['did not do, though nobody had looked before, is told', 'STORAGE_UNAVAILABLE'],
  ['shows late, is done', undefined],
  ['shows late, and fails at a look, is done', undefined],
] as const)('an upload over a file of its size, whose move a server says it did, and %s', async (what, code) => {
  let isMoved = false;
  let looks = 0;
  const removed: string[] = [];
  const { driver } = await openOn((request, response) => {
    const { method, url = '' } = request;
    isMoved ||= method === 'MOVE';
    if (method === 'DELETE') removed.push(url.includes('.wharf-tmp') ? 'ours' : url);
    if (method !== 'PROPFIND') return void request.resume().once('end', () => response.writeHead(201).end());
    if (url === '/dav/') return answer(response, multistatus());
    if (isMoved) looks += 1;
    if (looks === 2 && what.includes('fails')) return void response.writeHead(500).end();
    const isLeft = !isMoved || what.startsWith('did not') || looks < 4;
    if (url.includes('.wharf-tmp') && !isLeft) return void response.writeHead(404).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${entry(url).replace('"x"', isLeft ? '"old"' : '"new"')}</D:multistatus>`);
  });
  const beforePublish = what.includes('nobody') ? undefined : async () => undefined;
  const storing = put(driver, '/file', '!', { overwrite: true, beforePublish });
  if (code === undefined) expect(await storing).toMatchObject({ version: 'new', sizeBytes: 1 });
  else {
    expect(await failure(storing)).toMatchObject({ code });
    expect(removed).toEqual(['ours']);
  }
  expect(isMoved).toBe(true);
});

it.each([
  ['says it did, and shows', 204, 'STORAGE_UNAVAILABLE'],
  ['denies, and shows', 404, 'STORAGE_UNAVAILABLE'],
  ['says it did, and shows for a while', 204, undefined],
  ['says it did, and fails at looks', 204, undefined],
] as const)('a removal that a server %s is told', async (what, status, code) => {
  let looks = 0;
  const { driver } = await openOn((request, response) => {
    if (request.method === 'DELETE') return void response.writeHead(status).end();
    looks += 1;
    if (what.endsWith('looks') && looks > 1) return void response.writeHead(500).end();
    if (what.endsWith('while') && looks > 2) return void response.writeHead(404).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${entry(request.url ?? '')}</D:multistatus>`);
  });
  const removing = driver.remove(at('/file'), { recursive: false });
  if (code === undefined) await removing;
  else expect(await failure(removing)).toMatchObject({ code });
});

it('a folder that was removed is told so though its caller goes while it is looked at', async () => {
  const caller = new AbortController();
  let isRemoved = false;
  const { driver } = await openOn((request, response) => {
    const wasRemoved = isRemoved;
    isRemoved ||= request.method === 'DELETE';
    if (wasRemoved) caller.abort();
    if (isRemoved) return void response.writeHead(wasRemoved ? 404 : 204).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${ROOT}</D:multistatus>`);
  });
  await driver.remove(at('/d'), { recursive: true, signal: caller.signal });
  expect(caller.signal.aborted).toBe(true);
});

it('a part of a tree that could not be removed is told', async () => {
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PROPFIND') return answer(response, `<D:multistatus xmlns:D="DAV:">${ROOT}</D:multistatus>`);
    const failed = '<D:response><D:href>/dav/d/x</D:href><D:status>HTTP/1.1 423 Locked</D:status></D:response>';
    answer(response, `<D:multistatus xmlns:D="DAV:">${failed}</D:multistatus>`);
  });
  await expect(failure(driver.remove(at('/d'), { recursive: true }))).resolves.toMatchObject({ code: 'FAILED_PRECONDITION' });
});

it('a server that takes another size than was sent is told', async () => {
  const { driver } = await openOn((request, response) => {
    const isFolder = request.url === '/dav/';
    if (request.method !== 'PROPFIND') return void response.writeHead(201).end();
    answer(response, isFolder ? multistatus() : `<D:multistatus xmlns:D="DAV:">${entry('/dav/file')}</D:multistatus>`);
  });
  await expect(failure(put(driver, '/file', 'hello'))).resolves.toMatchObject({ code: 'CONTENT_CORRUPT' });
});

/** Of a server that says of a file, and of what it is replaced with at once, other sizes than of its copy. */
async function openForCopies(copiedBytes: number, there: readonly string[] = []) {
  const sizes = new Map(['/dav/old', ...there].map((url) => [url, 5]));
  const opened = await openOn((request, response) => {
    const { method = '', url = '', headers } = request;
    const to = new URL(String(headers.destination ?? '/'), 'http://a').pathname;
    if (method === 'COPY') sizes.set(to, copiedBytes);
    if (method === 'MOVE') sizes.set(to, 1);
    if (method === 'MOVE' || method === 'DELETE') sizes.delete(url);
    if (method !== 'PROPFIND') return void response.writeHead(201).end();
    if (url === '/dav/') return answer(response, multistatus());
    if (!sizes.has(url)) return void response.writeHead(404).end();
    answer(response, `<D:multistatus xmlns:D="DAV:">${entry(url).replace('>1<', `>${sizes.get(url)}<`)}</D:multistatus>`);
  });
  return { ...opened, names: () => [...sizes.keys()] };
}

it.each([
  ['to a free name', []],
  ['over a file', ['/dav/file']],
])('of a copy that the server cut short, %s, nothing is left, and it is told', async (_, there) => {
  const { driver, names } = await openForCopies(3, there);
  await expect(failure(driver.copy(at('/old'), at('/file'), { overwrite: true }))).resolves.toMatchObject({ code: 'CONTENT_CORRUPT' });
  expect(names()).toEqual(['/dav/old', ...there]);
});

it('a copy whose source grew before it, and that another one replaced right after it, is one', async () => {
  const { driver, names } = await openForCopies(7);
  await expect(driver.copy(at('/old'), at('/file'), { overwrite: false })).resolves.toMatchObject({ sizeBytes: 1 });
  expect(names()).toEqual(['/dav/old', '/dav/file']);
});
