import { createEgress, createEgressPolicy } from '@wharf/egress';
import { type HttpServer, isMissing, makeCertificate, startHttpServer } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, collect, entriesIn, pattern, refuses, text } from '../../driver-contract/conformance/driver-calls.ts';
import { supports } from '../../driver-contract/storage-driver.ts';
import { urlTreeDriver } from './index.ts';

const CONTENT = pattern(300_000);
let server: HttpServer;
/** Bytes of /grows. */
let grown = 1000;
const egress = createEgress(
  createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }),
  createEgressPolicy({ audience: 'user', allow: ['127.0.0.1'], forbidden: [] }),
);

beforeAll(async () => {
  server = await startHttpServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    switch (pathname) {
      case '/ranges': {
        if (first === undefined) return void response.end(request.method === 'HEAD' ? undefined : CONTENT);
        const part = CONTENT.subarray(Number(first), last ? Number(last) + 1 : undefined);
        const range = `bytes ${first}-${Number(first) + part.byteLength - 1}/${CONTENT.byteLength}`;
        return void response.writeHead(206, { 'content-range': range, 'content-length': part.byteLength }).end(part);
      }
      case '/whole':
        return void response.writeHead(200, { 'content-length': CONTENT.byteLength }).end(request.method === 'HEAD' ? undefined : CONTENT);
      case '/grows': {
        if (Number(first ?? 0) >= grown) return void response.writeHead(416).end();
        const part = CONTENT.subarray(Number(first ?? 0), grown);
        const range = first === undefined ? {} : { 'content-range': `bytes ${first}-${grown - 1}/${grown}` };
        response.writeHead(first === undefined ? 200 : 206, { ...range, 'content-length': part.byteLength });
        return void response.end(request.method === 'HEAD' ? undefined : part);
      }
      case '/head-0':
        return void response
          .writeHead(200, { 'content-length': request.method === 'HEAD' ? 0 : 5 })
          .end(request.method === 'HEAD' ? '' : 'bytes');
      case '/empty':
        return void response.writeHead(200, { 'content-length': 0 }).end();
      case '/unsized':
        response.write(CONTENT.subarray(0, 1000));
        return void response.end(CONTENT.subarray(1000));
      case '/cut':
        response.writeHead(200, { 'content-length': CONTENT.byteLength }).write(CONTENT.subarray(0, 1000));
        return void setImmediate(() => response.destroy());
      case '/to':
        return void response.writeHead(302, { location: '/ranges' }).end();
      case '/circle':
        return void response.writeHead(302, { location: '/circle' }).end();
      case '/metadata':
        return void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
      case '/private':
        return void response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
      case '/file':
        return void response.writeHead(302, { location: 'file:///etc/passwd' }).end();
      case '/refused':
        return void response.writeHead(403).end();
      default:
        return void response.writeHead(404).end();
    }
  });
});
afterAll(() => server?.stop());

const open = (lines: readonly string[], rest: object = {}) =>
  urlTreeDriver.open(JSON.stringify({ url_structure: lines.map((line) => line.replace('@', server.url)).join('\n'), ...rest }), { egress });

describe('UrlTree', () => {
  it('shows the lines as folders and files', async () => {
    const driver = await open([
      'top:',
      '  a.bin:12:1600000000:@/ranges',
      '  inner:',
      '    @/whole',
      '12:30.txt:5:@/x',
      'b:@/ranges?q=1#x',
      '%c3%a9:',
      '@/d%20e',
    ]);
    expect((await entriesIn(driver, '/')).map(({ name }) => name)).toEqual(['top', '12:30.txt', 'b', '%c3%a9', 'd e']);
    expect(await driver.stat(at('/top/a.bin'))).toMatchObject({ sizeBytes: 12, modifiedAt: new Date(1_600_000_000_000) });
    expect(await driver.stat(at('/12:30.txt'))).toMatchObject({ sizeBytes: 5 });
    expect(await driver.stat(at('/top/inner/whole'))).toMatchObject({ sizeBytes: undefined, isDirectory: false });
    await refuses('NOT_A_DIRECTORY', entriesIn(driver, '/b'));
    expect(supports(driver, 'link') && (await driver.link(at('/b'))).url).toBe(`${server.url}/ranges?q=1`);
  });

  it.each([
    ['a:\n   b:', 2],
    ['  a:', 1],
    ['a:\n\n\tb:', 3],
    ['nothing', 1],
    ['x:ftp://host/file', 1],
    ['a:\na:', 2],
    ['..:http://host/x', 1],
    ['http://host/', 1],
    ['a/b:http://host/x', 1],
    ['http://user:secret@host/x', 1],
    ['http://[::/x', 1],
  ])('%j is refused with its line', async (structure, line) => {
    const refused = urlTreeDriver.open(JSON.stringify({ url_structure: structure }), { egress });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`line ${line}: `) });
  });

  it.each(['ranges', 'whole'])('reads ranges of a server with and without them (%s), of known and of unknown size', async (name) => {
    for (const driver of [
      await open([`f:@/${name}`]),
      await open([`f:${CONTENT.byteLength}:@/${name}`]),
      await open([`f:@/${name}`], { head_size: true }),
    ]) {
      expect((await collect(await driver.read(at('/f')))).equals(CONTENT)).toBe(true);
      for (const [offsetBytes, lengthBytes] of [
        [0, 5],
        [70_000, 100_000],
        [299_999, 10],
      ] as const)
        expect(
          (await collect(await driver.read(at('/f'), { offsetBytes, lengthBytes }))).equals(
            CONTENT.subarray(offsetBytes, offsetBytes + lengthBytes),
          ),
        ).toBe(true);
    }
  });

  it('asks for sizes once, and shows files of servers that do not tell', async () => {
    const driver = await open(['a:@/whole', 'b:@/none', 'c:7:@/whole'], { head_size: true });
    const before = server.requests();
    for (let round = 0; round < 3; round++)
      expect((await entriesIn(driver, '/')).map(({ sizeBytes }) => sizeBytes)).toEqual([CONTENT.byteLength, undefined, 7]);
    expect(server.requests() - before).toBe(2);
    await refuses('CONTENT_CORRUPT', driver.read(at('/c')));
  });

  it('a file that has another size by now is read as it is', async () => {
    const driver = await open(['f:@/grows', 'w:1000:@/grows'], { head_size: true });
    const read = async (range?: { offsetBytes: number; lengthBytes?: number }) =>
      (await collect(await driver.read(at('/f'), range))).byteLength;
    expect(await read()).toBe(1000);
    grown = 3000;
    expect([await read({ offsetBytes: 2000 }), await read()]).toEqual([1000, 3000]);
    await refuses('CONTENT_CORRUPT', driver.read(at('/w')));
    grown = 2000;
    expect([await read({ offsetBytes: 500 }), await read()]).toEqual([1500, 2000]);
    expect(await driver.stat(at('/f'))).toMatchObject({ sizeBytes: 2000 });
  });

  it('a file of which its server says at first that it is empty is read, and an empty one is none that breaks off', async () => {
    const driver = await open(['f:@/head-0', 'e:@/empty'], { head_size: true });
    expect(text(await collect(await driver.read(at('/e'))))).toBe('');
    expect(text(await collect(await driver.read(at('/f'))))).toBe('bytes');
  });

  it('a server that fails is not waited for by each listing', async () => {
    const failing = await startHttpServer((_, response) => void response.destroy());
    onTestFinished(() => failing.stop());
    const driver = await open(
      [...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((name) => `${name}:${failing.url}/${name}`), 'z:@/whole'],
      {
        head_size: true,
      },
    );
    const sizes = async () => (await entriesIn(driver, '/')).map(({ sizeBytes }) => sizeBytes);
    const expected = [...Array(10).fill(undefined), CONTENT.byteLength];
    expect(await sizes()).toEqual(expected);
    const asked = failing.requests();
    expect(await sizes()).toEqual(expected);
    expect(failing.requests()).toBe(asked);
  });

  it('a file of unknown size ends where its server says, and one that breaks off fails', async () => {
    const driver = await open(['u:@/unsized', 'c:@/cut', 's:300000:@/cut']);
    expect(text(await collect(await driver.read(at('/u'))))).toBe(text(CONTENT));
    for (const path of ['/c', '/s']) await refuses('STORAGE_UNAVAILABLE', driver.read(at(path)).then(collect));
  });

  it('follows redirects on the public Internet alone', async () => {
    const driver = await open([
      'to:@/to',
      'circle:@/circle',
      'metadata:@/metadata',
      'private:@/private',
      'file:@/file',
      'lan:http://192.168.1.1/x',
      'r:@/refused',
      'n:@/none',
    ]);
    expect((await collect(await driver.read(at('/to')))).equals(CONTENT)).toBe(true);
    await refuses('STORAGE_UNAVAILABLE', driver.read(at('/circle')));
    for (const name of ['metadata', 'private', 'lan', 'r']) await refuses('PERMISSION_DENIED', driver.read(at(`/${name}`)));
    await refuses('UNSUPPORTED_OPERATION', driver.read(at('/file')));
    await refuses('ENTRY_NOT_FOUND', driver.read(at('/n')));
  });

  it('a certificate that nobody signed is refused (C21)', async () => {
    const certificate = await makeCertificate('127.0.0.1');
    if (isMissing(certificate)) throw new Error(certificate.missing);
    const secure = await startHttpServer((_, response) => void response.end('x'), certificate);
    onTestFinished(() => secure.stop());
    const driver = await open([`f:${secure.url}/x`]);
    await expect(driver.read(at('/f'))).rejects.toMatchObject({ message: expect.stringContaining('certificate') });
    expect(secure.requests()).toBe(0);
  });

  it('a call that is aborted ends its request', async () => {
    const driver = await open(['f:@/ranges']);
    const abort = new AbortController();
    const content = await driver.read(at('/f'), undefined, { signal: abort.signal });
    const reading = (async () => {
      for await (const _ of content) abort.abort();
    })();
    await refuses('CANCELLED', reading);
  });
});
