import { once } from 'node:events';
import { readdir, readFile, readlink, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { generateContent, type HttpRequest, httpRequest, waitFor } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { createPace, forOwner } from '@wharf/pace';
import { callHeaders, createInternalTokens } from '@wharf/service-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
let folder: string;
let login: string;
const noUpload = createTestDriver('NoUpload', ['write']);

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  await installation.writeStorage({ _id: 2, mount_path: '/n', driver: 'NoUpload' });
  login = await installation.login({ id: 5, permission: 0b1000 });
  replica = await installation.open([localDriver, noUpload.definition], { isAlone: true });
});
afterAll(() => installation?.close());

const send = (request: HttpRequest) => httpRequest(replica.url, request);
const put = (path: string, body: HttpRequest['body'], headers: Record<string, string> = {}) =>
  send({
    method: 'PUT',
    path: '/api/fs/put',
    headers: { Authorization: login, 'File-Path': encodeURIComponent(path), ...headers },
    body: body ?? '',
  });
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send({ method, path: `/d${path}?${installation.sign(path)}`, headers });

describe('If-Match of put', () => {
  it('replaces a file only while it is the one of that ETag', async () => {
    const made = await put('/l/edited', 'first');
    const etag = String((await get('/l/edited')).headers['etag']);
    expect(made.headers['etag']).toBe(etag);
    expect((await put('/l/edited', 'second', { 'If-Match': `"other", ${etag}` })).json()).toMatchObject({ code: 200 });
    const late = await put('/l/edited', 'third', { 'If-Match': etag });
    expect(late.json()).toMatchObject({ code: 412, data: null });
    expect(late.headers['x-error-code']).toBe('STALE_VERSION');
    expect(await readFile(`${folder}/edited`, 'utf8')).toBe('second');
    expect((await put('/l/none-edited', 'x', { 'If-Match': '*' })).json()).toMatchObject({ code: 412 });
    expect(await readdir(folder)).not.toContain('none-edited');
  });

  it('holds while the new content comes', async () => {
    await put('/l/raced', 'first');
    const etag = String((await get('/l/raced')).headers['etag']);
    const body = async function* () {
      yield Buffer.from('mine');
      await writeFile(`${folder}/raced`, 'of somebody else');
    };
    expect((await put('/l/raced', body(), { 'If-Match': etag, 'X-File-Size': '4' })).json()).toMatchObject({ code: 412 });
    expect(await readFile(`${folder}/raced`, 'utf8')).toBe('of somebody else');
  });

  it('lets one of those through that come at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const etag = String((await put('/l/shared', 'first')).headers['etag']);
      const saves = Array.from({ length: 6 }, (_, index) => `save ${index}`);
      const answers = await Promise.all(saves.map((text) => put('/l/shared', text, { 'If-Match': etag })));
      const codes = answers.map((answer) => (answer.json() as { code: number }).code);
      const [saved, ...lost] = saves.filter((_, index) => codes[index] === 200);
      expect(lost, `round ${round}`).toEqual([]);
      expect(await readFile(`${folder}/shared`, 'utf8')).toBe(saved);
    }
  });

  it('knows a file from one of the same size that was to have the same date', async () => {
    const dated = { 'Last-Modified': 'Sun, 06 Nov 1994 08:49:37 GMT' };
    const known = String((await put('/l/dated', 'first', dated)).headers['etag']);
    const saved = await put('/l/dated', 'other', { ...dated, 'If-Match': known });
    expect(saved.json()).toMatchObject({ code: 200 });
    expect((await put('/l/dated', 'third', { ...dated, 'If-Match': known })).json()).toMatchObject({ code: 412 });
    expect((await put('/l/dated', 'third', { 'If-Match': String(saved.headers['etag']) })).json()).toMatchObject({ code: 200 });
  });

  it('keeps nobody waiting behind one whose body does not come', async () => {
    const etag = String((await put('/l/waited', 'first')).headers['etag']);
    const stuck = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const body = async function* () {
      yield Buffer.from('mi');
      begun.resolve();
      await stuck.promise;
      yield Buffer.from('ne');
    };
    const late = put('/l/waited', body(), { 'If-Match': etag, 'X-File-Size': '4' });
    await begun.promise;
    expect((await put('/l/waited', 'yours', { 'If-Match': etag })).json()).toMatchObject({ code: 200 });
    stuck.resolve();
    expect((await late).json()).toMatchObject({ code: 412 });
    expect(await readFile(`${folder}/waited`, 'utf8')).toBe('yours');
  });

  it('holds for a form, too', async () => {
    const etag = String((await put('/l/formed', 'first')).headers['etag']);
    expect((await putForm('/l/formed', form('second'), { 'If-Match': etag })).json()).toMatchObject({ code: 200 });
    expect((await putForm('/l/formed', form('third'), { 'If-Match': etag })).json()).toMatchObject({ code: 412 });
    expect(await readFile(`${folder}/formed`, 'utf8')).toBe('second');
  });

  it('is not the only condition that is heeded: a date and other tags are, too', async () => {
    await put('/l/since', 'first', { 'Last-Modified': '1000000000000' });
    const { headers } = await get('/l/since');
    const [etag, date] = [String(headers['etag']), String(headers['last-modified'])];
    const earlier = new Date(Date.parse(date) - 1_000).toUTCString();
    const failing: Record<string, string>[] = [{ 'If-Unmodified-Since': earlier }, { 'If-None-Match': `"x", ${etag}` }];
    for (const late of failing) {
      expect((await put('/l/since', 'lost', late)).json()).toMatchObject({ code: 412 });
      expect((await put('/l/since', 'x', { ...late, 'As-Task': 'true' })).json()).toMatchObject({ code: 400 });
    }
    expect(await readFile(`${folder}/since`, 'utf8')).toBe('first');
    const holding: Record<string, string>[] = [
      { 'If-Unmodified-Since': date },
      { 'If-None-Match': etag },
      { 'If-Unmodified-Since': 'no date' },
    ];
    for (const [index, held] of holding.entries()) {
      expect((await put('/l/since', `save ${index}`, held)).json()).toMatchObject({ code: 200 });
      expect((await put('/l/since-new', `save ${index}`, { ...held, 'If-Match': '"x"' })).json()).toMatchObject({ code: 412 });
    }
    expect(await readFile(`${folder}/since`, 'utf8')).toBe('save 2');
    expect((await put('/l/since-new', 'new', { 'If-Unmodified-Since': date })).json()).toMatchObject({ code: 200 });
  });

  it('is refused with As-Task', async () => {
    expect((await put('/l/edited', 'x', { 'If-Match': '*', 'As-Task': 'true' })).json()).toMatchObject({ code: 400 });
  });
});

it('a body that something on the way has cut, and given another length, replaces nothing', async () => {
  await put('/l/long', 'the old content');
  expect((await put('/l/long', 'the new', { 'X-File-Size': '15' })).headers['x-error-code']).toBe('CONTENT_CORRUPT');
  expect(await readFile(`${folder}/long`, 'utf8')).toBe('the old content');
});

describe('who uploads without a gateway', () => {
  it('needs a login of ours', async () => {
    expect((await put('/l/in', 'text')).json()).toMatchObject({ code: 200, message: 'success' });
    expect(await readFile(`${folder}/in`, 'utf8')).toBe('text');
    for (const Authorization of ['', 'rubbish', `${login}x`])
      expect((await put('/l/out', 'text', { Authorization })).json()).toMatchObject({ code: 401, data: null });
    expect(await readdir(folder)).not.toContain('out');
  });

  it.each([
    ['an address of the site alone', () => ({ 'wharf-site-url': 'http://x' }), 401],
    ['an identity alone', () => ({ 'wharf-identity': replica.kit.tokens.mint(ADMIN) }), 401],
    [
      'an identity that we did not make',
      () =>
        callHeaders(createInternalTokens(Buffer.alloc(32), Date.now), {
          identity: ADMIN,
          requestId: 'x',
          revisions: { auth: 0, admin: 0 },
          siteUrl: 'http://x',
        }),
      // As it is told to clients of a gateway whose clock or secret is another one: they are logged in all the same.
      500,
    ],
  ])('gains nothing from %s', async (_what, headers, code) => {
    expect((await put('/l/out', 'text', { Authorization: '', ...headers() })).json()).toMatchObject({ code });
    expect(await readdir(folder)).not.toContain('out');
  });

  it.each([
    ['', {}],
    [', as a task', { 'As-Task': 'true' }],
  ])('is refused when the login ended while the upload was under way%s', async (how, headers) => {
    const id = how === '' ? 61 : 62;
    const ended = await installation.login({ id, permission: 0b1000 });
    await writeFile(`${folder}/kept`, 'old');
    const clock = vi.useFakeTimers({ toFake: ['performance'] });
    try {
      async function* body() {
        yield Buffer.from('new');
        await waitFor('the upload', async () => (await readdir(folder, { recursive: true })).some((name) => /wharf-tmp.*\d/.test(name)));
        await modelsOf(replica.kit.store).sessions.deleteMany({ user_id: id });
        clock.advanceTimersByTime(3_000);
      }
      const answer = await put('/l/kept', body(), { Authorization: ended, ...headers });
      expect(answer.json()).toMatchObject({ code: 401, message: 'token is invalidated' });
      expect(await readFile(`${folder}/kept`, 'utf8')).toBe('old');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is whoever the gateway says', async () => {
    const headers = callHeaders(replica.kit.tokens, {
      identity: USER,
      requestId: 'x',
      revisions: { auth: 0, admin: 0 },
      siteUrl: 'http://x',
    });
    expect((await put('/l/forwarded', 'text', { Authorization: '', ...headers })).json()).toMatchObject({ code: 200 });
  });
});

const form = (content: string, tail = '--b--\r\n') =>
  `--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="../evil"\r\n\r\n${content}\r\n${tail}`;
const FIELD = '--b\r\nContent-Disposition: form-data; name="field"\r\n\r\nx\r\n';
const putForm = (path: string, body: HttpRequest['body'], headers: Record<string, string> = {}) =>
  send({
    method: 'PUT',
    path: '/api/fs/form',
    headers: { Authorization: login, 'File-Path': encodeURIComponent(path), 'Content-Type': 'multipart/form-data; boundary=b', ...headers },
    body: body ?? '',
  });

describe('an upload', () => {
  it('answers with its whole task', async () => {
    const task = {
      state: 2,
      status: 'uploading',
      progress: 100,
      error: '',
      name: 'upload t to [/l](/deep)',
      id: expect.stringMatching(/^[\w-]{21}$/),
    };
    expect((await put('/l/deep/t', 'text')).json()).toMatchObject({ code: 200, message: 'success', data: { task } });
    expect((await putForm('/l/deep/t', form('formed'))).json()).toMatchObject({ code: 200, message: 'success', data: { task } });
    expect(await readFile(`${folder}/deep/t`, 'utf8')).toBe('formed');
  });

  it('by form takes the file whose name is in File-Path, in any size', async () => {
    const content = 'x'.repeat(3_000_000);
    await putForm('/l/big form', form(content));
    expect((await readFile(`${folder}/big form`)).length).toBe(content.length);
    expect(await readdir(folder)).not.toContain('evil');
  });

  it('by form takes the part that is called file, whatever other files stand beside it', async () => {
    const part = (field: string, content: string) =>
      `--b\r\nContent-Disposition: form-data; name="${field}"; filename="x"\r\n\r\n${content}\r\n`;
    const other = part('other', 'y'.repeat(200_000));
    const body = `${other}${part('file', 'the one')}${part('file', 'another')}${other}--b--\r\n`;
    expect((await putForm('/l/one of four', body)).json()).toMatchObject({ code: 200 });
    expect(await readFile(`${folder}/one of four`, 'utf8')).toBe('the one');
    expect((await putForm('/l/none of them', `${other}--b--\r\n`)).json()).toMatchObject({ code: 400, data: null });
    expect(await readdir(folder)).not.toContain('none of them');
  });

  it.each([
    ['a form that ends too early', () => putForm('/l/broken', form('text', '')), 400],
    ['a form without a file', () => putForm('/l/broken', '--b--\r\n'), 400],
    ['a form of many parts before its file', () => putForm('/l/broken', `${FIELD.repeat(100)}${form('text')}`), 400],
    ['a form of many parts behind its file', () => putForm('/l/broken', form('text', `${FIELD.repeat(100)}--b--\r\n`)), 400],
    ['a form that is none', () => putForm('/l/broken', 'text', { 'Content-Type': 'text/plain' }), 400],
    ['a form without a boundary', () => putForm('/l/broken', 'text', { 'Content-Type': 'multipart/form-data' }), 400],
    [
      'a body longer than announced',
      () =>
        put(
          '/l/broken',
          (async function* () {
            yield Buffer.alloc(100_000);
          })(),
          { 'X-File-Size': '10' },
        ),
      400,
    ],
    ['a body with another hash', () => put('/l/broken', 'text', { 'X-File-Md5': '0'.repeat(32) }), 500],
    ['no path', () => put('', 'text'), 400],
    ['a path out of the root', () => put('/l/../../x', 'text'), 403],
    ['a place without a storage', () => put('/none/broken', 'text'), 500],
    ['a storage that takes none', () => put('/n/broken', 'text'), 500],
    ['a storage that takes none, by form', () => putForm('/n/broken', form('text')), 405],
  ])('of %s is answered, and leaves nothing', async (_what, run, code) => {
    const answer = await run();
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ code, data: null });
    expect((await readdir(folder, { recursive: true })).filter((name) => /broken|tmp/.test(name))).toEqual([]);
  });

  it('that is refused early is answered all the same, after all that the client sends', async () => {
    const big = Buffer.alloc(4 * 1024 * 1024);
    expect((await put('/l/x', big, { Authorization: 'rubbish' })).json()).toMatchObject({ code: 401 });
    await put('/l/there', 'old');
    expect((await put('/l/there', big, { Overwrite: 'false' })).json()).toMatchObject({ code: 403, message: 'file exists' });
    expect(await readFile(`${folder}/there`, 'utf8')).toBe('old');
  });

  it('that breaks off leaves the old file and no debris', async () => {
    await put('/l/kept', 'old');
    for (const [path, head] of [
      ['/api/fs/put', ''],
      ['/api/fs/form', 'Content-Type: multipart/form-data; boundary=b\r\n'],
    ]) {
      const socket = connect(Number(new URL(replica.url).port), '127.0.0.1');
      await once(socket, 'connect');
      const start = path === '/api/fs/form' ? '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' : '';
      socket.write(
        `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${login}\r\nFile-Path: /l/kept\r\n${head}Content-Length: 9000000\r\n\r\n${start}`,
      );
      socket.write(Buffer.alloc(2_000_000, 'n'));
      await waitFor('the upload to begin', async () => (await readdir(folder, { recursive: true })).some((name) => name.includes('tmp')));
      socket.destroy();
      await waitFor('its end', async () => (await readdir(folder, { recursive: true })).every((name) => !/wharf-tmp.*\d/.test(name)));
    }
    expect(await readFile(`${folder}/kept`, 'utf8')).toBe('old');
    expect(replica.log()).not.toContain('unforeseen');
  });
});

/** How many of thirty long pieces of work of nobody, which came before, go on before one of whoever calls this. */
async function goneBefore(): Promise<number> {
  const nobodys = Array.from({ length: 30 }, () => forOwner('', () => createPace()));
  const own = createPace();
  const until = performance.now() + 6;
  while (performance.now() < until);
  let gone = 0;
  const steps = nobodys.map(async (pace) => {
    await pace.step();
    gone += 1;
  });
  await own.step();
  const before = gone;
  await Promise.all(steps);
  return before;
}

it('downloads and tasks wait for no long pieces of work but one of each other owner', async () => {
  await noUpload.storeOf().write(mpath('/paced'), bytesOf('x'), { overwrite: true });
  let before = 0;
  noUpload.beforeCalls(async () => {
    before = await goneBefore();
  });
  onTestFinished(() => noUpload.beforeCalls(async () => undefined));
  expect((await get('/n/paced')).status).toBe(200);
  expect(before).toBeOneOf([1, 2, 3]);
  await installation.login({ id: ADMIN.id, permission: 0xffff });
  const copy = { src_dir: '/n', dst_dir: '/l', names: ['paced'], overwrite: false, skip_existing: false, merge: false };
  await replica.fs.copyEntries(copy, installation.as());
  await waitFor('the copy', async () => (await readdir(folder)).includes('paced'));
  expect(before).toBeOneOf([1, 2, 3]);
});

describe('a download', () => {
  const text = '0123456789';
  beforeEach(() => writeFile(`${folder}/digits.txt`, text));

  it('says all there is to say', async () => {
    const answer = await get('/l/digits.txt');
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.text()).toBe(text);
    expect(answer.headers).toMatchObject({
      'content-length': '10',
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename="digits.txt"; filename*=utf-8\'\'digits.txt',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-cache',
      'content-security-policy': expect.stringContaining('sandbox'),
      etag: expect.stringMatching(/^"[0-9a-f]+-a"$/),
    });
  });

  it.each(['x.js', 'x.mjs', 'x.css', 'x.wasm', 'x.JS'])(
    'of %s is no script and no style of a page of our own origin (C10)',
    async (name) => {
      await writeFile(`${folder}/${name}`, text);
      expect((await get(`/l/${name}`)).headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
    },
  );

  it('by HEAD says the same without the bytes, whatever range is asked', async () => {
    const [head, full] = [await get('/l/digits.txt', { Range: 'bytes=1-2' }, 'HEAD'), await get('/l/digits.txt')];
    expect([head.status, head.body.length]).toEqual([200, 0]);
    for (const name of ['content-length', 'etag', 'last-modified', 'content-type']) expect(head.headers[name]).toBe(full.headers[name]);
  });

  it.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, text, 'bytes 0-9/10'],
    ['bytes=8-100', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, 'range not satisfiable\n', 'bytes */10'],
    ['bytes=x', 200, text, undefined],
  ])('of %s is %i %j', async (Range, status, body, contentRange) => {
    const answer = await get('/l/digits.txt', { Range });
    expect([answer.status, answer.text(), answer.headers['content-range']]).toEqual([status, body, contentRange]);
    expect(answer.headers['content-length']).toBe(String(body.length));
  });

  it('of several ranges has them as parts', async () => {
    const answer = await get('/l/digits.txt', { Range: 'bytes=0-1,8-' });
    expect(answer.status).toBe(206);
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(
      answer
        .text()
        .split('\r\n')
        .filter((line) => /^(01|89|Content-Range.*)$/.test(line)),
    ).toEqual(['Content-Range: bytes 0-1/10', '01', 'Content-Range: bytes 8-9/10', '89']);
  });

  it('keeps to conditions', async () => {
    const { etag = '', 'last-modified': date = '' } = (await get('/l/digits.txt')).headers;
    const status = async (headers: Record<string, string>) => (await get('/l/digits.txt', headers)).status;
    expect(await status({ 'If-None-Match': etag })).toBe(304);
    expect(await status({ 'If-Modified-Since': date })).toBe(304);
    expect(await status({ 'If-Match': '"x"' })).toBe(412);
    expect(await status({ Range: 'bytes=0-1', 'If-Range': etag })).toBe(206);
    expect(await status({ Range: 'bytes=0-1', 'If-Range': '"x"' })).toBe(200);
  });

  it('comes again where nothing tells whether it has changed: a storage without dates says 1970', async () => {
    await utimes(`${folder}/digits.txt`, 0, 0);
    const { etag = '', 'last-modified': date = '' } = (await get('/l/digits.txt')).headers;
    for (const headers of [{ 'If-None-Match': etag }, { 'If-Modified-Since': date }])
      expect([(await get('/l/digits.txt', headers)).status, (await get('/l/digits.txt', headers)).text()]).toEqual([200, text]);
    for (const known of [etag, date]) expect((await get('/l/digits.txt', { Range: 'bytes=2-4', 'If-Range': known })).text()).toBe(text);
    expect((await get('/l/digits.txt', { 'If-Match': '"x"' })).status).toBe(412);
  });

  it('of an empty file is empty', async () => {
    await writeFile(`${folder}/empty`, '');
    const answer = await get('/l/empty');
    expect([answer.status, answer.headers['content-length'], answer.body.length]).toEqual([200, '0', 0]);
  });

  it('is refused with a real status and a line of text, and the signature comes first', async () => {
    const path = (text: string, query = installation.sign(text)) => send({ path: `/d${text}?${query}` });
    const refused = async (answer: ReturnType<typeof send>) => [(await answer).status, (await answer).text()];
    expect(await refused(path('/l/digits.txt', ''))).toEqual([401, 'expire missing\n']);
    expect(await refused(path('/l/none', 'sign=abc:0'))).toEqual([401, 'sign invalid\n']);
    expect(await refused(path('/none/x', 'sign=abc:0'))).toEqual([401, 'sign invalid\n']);
    expect(await refused(path('/l/digits.txt', installation.sign('/l/other')))).toEqual([401, 'sign invalid\n']);
    expect(await refused(path('/l/none'))).toEqual([404, 'object not found\n']);
    expect((await path('/l/none')).headers['x-error-code']).toBe('ENTRY_NOT_FOUND');
    expect(await refused(path('/l'))).toEqual([409, 'not a file\n']);
    expect(await refused(path('/l/%2e%2e/x'))).toEqual([403, 'using relative path is not allowed\n']);
    expect(await refused(path('/l/%ff'))).toEqual([400, 'the path is not percent-encoded UTF-8\n']);
    expect(await refused(send({ path: '/elsewhere' }))).toEqual([404, 'not found\n']);
  });

  it('that the client leaves releases the file', async () => {
    await writeFile(`${folder}/big`, Buffer.alloc(64 * 1024 * 1024));
    const open = async () => {
      const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
      return links.filter((link) => link === `${folder}/big`).length;
    };
    for (const range of ['', 'Range: bytes=0-9,1000-60000000\r\n']) {
      const socket = connect(Number(new URL(replica.url).port), '127.0.0.1');
      socket.write(`GET /d/l/big?${installation.sign('/l/big')} HTTP/1.1\r\nHost: x\r\n${range}\r\n`);
      await once(socket, 'readable');
      await waitFor('the file to be open', async () => (await open()) > 0);
      socket.destroy();
      await waitFor('the file to be closed', async () => (await open()) === 0);
    }
  });
});

it('what was uploaded is what comes back', async () => {
  const content = Buffer.concat([...generateContent('there and back', 3_000_001)]);
  await put('/l/日本 ü.bin', content);
  const answer = await send({ path: `/p${encodeURI('/l/日本 ü.bin')}?${installation.sign('/l/日本 ü.bin')}` });
  expect(answer.body.equals(content)).toBe(true);
});
