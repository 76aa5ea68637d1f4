import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir, waitFor } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_FILE_BYTES, PartMap } from '../src/domain/part-map.ts';
import { type Destination, type Draft, type FetchOptions, fetchFile, type SavedFetch } from '../src/fetch/fetch-file.ts';
import { createRateLimit } from '../src/fetch/rate-limit.ts';
import { createScratch, newScratchId, type ScratchFile } from '../src/fetch/scratch.ts';
import { fetchState } from '../src/tasks/fetch-task.ts';
import { type AwkwardServer, type Behaviour, content, sha256, startAwkwardServer } from './awkward-server.ts';

const MIB = 1024 * 1024;
const OLD = 'Sun, 22 Nov 2020 19:00:00 GMT';
let dir: TempDir;
const servers: AwkwardServer[] = [];

beforeEach(async () => {
  dir = await makeTempDir('fetch');
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  await dir.remove();
});

async function serve(behaviour: Behaviour): Promise<AwkwardServer> {
  const server = await startAwkwardServer(behaviour);
  servers.push(server);
  return server;
}

/** Files go through the scratch folder to the folder `done`. */
function destination(): Destination {
  const scratch = createScratch({ dir: join(dir.path, 'scratch'), maxBytes: 0, onFreed: () => {} });
  const draftOf = (file: ScratchFile, name: string) => ({
    id: file.id,
    sink: file.sink,
    async commit(expected: { sizeBytes: number; digests: Readonly<Record<string, string>> }) {
      await file.verify(expected);
      await fs.mkdir(join(dir.path, 'done'), { recursive: true });
      await fs.writeFile(join(dir.path, 'done', name), file.read());
      await file.remove();
    },
    abort: () => file.remove(),
    release: () => file.close(),
  });
  const names = new Map<string, string>();
  return {
    async begin({ name, sizeBytes }, note) {
      const id = newScratchId(sizeBytes);
      await note(id);
      const file = await scratch.begin(id);
      names.set(file.id, name);
      return draftOf(file, name);
    },
    async resume(id) {
      const file = await scratch.resume(id);
      return file && draftOf(file, names.get(id) ?? 'resumed');
    },
    async drop(id) {
      await (await scratch.resume(id))?.remove();
    },
  };
}

function optionsFor(url: string, changes: Partial<FetchOptions> = {}): FetchOptions {
  const policy = createEgressPolicy({ allow: ['127.0.0.1', 'localhost', '::1'], forbidden: [], audience: 'user' });
  const network = { policy, client: createGuardedClient(policy, { maxConnections: 16 }), headersTimeoutMs: 5_000 };
  return {
    network,
    url,
    destination: destination(),
    saved: undefined,
    digests: {},
    connections: 4,
    limits: [],
    stallMs: 5_000,
    saveEveryMs: 0,
    maxBytes: Number.POSITIVE_INFINITY,
    clock: Date.now,
    signal: new AbortController().signal,
    onFile: () => {},
    onVerify: () => {},
    onProgress: () => {},
    onSave: async () => {},
    ...changes,
  };
}

async function expectArrived(options: FetchOptions, expected: Buffer): Promise<void> {
  const { name, sizeBytes } = await fetchFile(options);
  expect(sizeBytes).toBe(expected.length);
  expect(sha256(await fs.readFile(join(dir.path, 'done', name)))).toBe(sha256(expected));
  expect(await fs.readdir(join(dir.path, 'scratch'))).toEqual([]);
}

describe('a size that no file has', () => {
  const giant = '9007199254740991';
  it.each([
    ['in a range', 206, { 'Content-Range': `bytes 0-9007199254740990/${giant}`, 'Content-Length': giant }],
    ['just over the bound', 206, { 'Content-Range': `bytes 0-${MAX_FILE_BYTES}/${MAX_FILE_BYTES + 1}` }],
    ['past what numbers can tell apart', 206, { 'Content-Range': 'bytes 0-9007199254740992/9007199254740993' }],
    ['as its length', 200, { 'Content-Length': giant }],
  ] as const)('%s is refused before anything is begun', async (_where, status, headers) => {
    const server = await serve({
      content: Buffer.alloc(0),
      handle: (_request, response) => {
        response.writeHead(status, { ETag: '"one"', ...headers }).write('x');
        return true;
      },
    });
    const saved: unknown[] = [];
    const options = optionsFor(`${server.url}/file.bin`, { onSave: async (state) => void saved.push(state) });
    await expect(fetchFile(options)).rejects.toThrow('a size that is not believed');
    expect(saved).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it('in a checkpoint of an earlier version is not gone on with', () => {
    const parts = { sizeBytes: 2 ** 53 - 1, partBytes: 16 * MIB, validator: { etag: '"one"', lastModified: '' }, done: '', begun: [] };
    const stateOf = (changes: Partial<typeof parts>) =>
      fetchState.parse({ fetch: { name: 'file.bin', draftId: 'a', parts: { ...parts, ...changes } } });
    for (const changes of [{}, { sizeBytes: 2 ** 43 }, { sizeBytes: MIB, partBytes: 0 }, { sizeBytes: 2 ** 40, partBytes: 0.5 }])
      expect(stateOf(changes)).toEqual({ fetch: { name: 'file.bin', draftId: 'a', parts: undefined } });
    expect(stateOf({ sizeBytes: 2 ** 40 })).toMatchObject({ fetch: { parts: { sizeBytes: 2 ** 40 } } });
  });
});

it('ranges that come in an encoding nobody asked for are not taken for the file', async () => {
  const bytes = content(5 * MIB);
  const server = await serve({
    content: bytes,
    etag: '"one"',
    handle(request, response, index) {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      if (index === 0 || end === undefined) return false;
      const length = Number(end) - Number(start) + 1;
      const range = { 'Content-Range': `bytes ${start}-${end}/${bytes.length}`, 'Content-Length': String(length) };
      response.writeHead(206, { ETag: '"one"', 'Content-Encoding': 'gzip', ...range }).end(Buffer.alloc(length));
      return true;
    },
  });
  await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
});

describe('a file arrives byte by byte as it is', () => {
  it.each([0, 1, 65_536, MIB - 1, MIB, MIB + 1, 21 * MIB + 7, 64 * MIB])('of %i bytes, in parts', async (sizeBytes) => {
    const server = await serve({ content: content(sizeBytes), etag: '"one"' });
    await expectArrived(optionsFor(`${server.url}/file.bin`), content(sizeBytes));
  });

  it('over several connections where the server can', async () => {
    const server = await serve({ content: content(5 * MIB), etag: '"one"' });
    await expectArrived(optionsFor(`${server.url}/file.bin`), content(5 * MIB));
    expect(server.requests.map(({ headers }) => headers.range).sort()).toEqual(
      ['bytes=0-', 'bytes=1048576-2097151', 'bytes=2097152-3145727', 'bytes=3145728-4194303', 'bytes=4194304-5242879'].sort(),
    );
    expect(server.requests.every(({ headers }) => headers['accept-encoding'] === 'identity')).toBe(true);
  });

  it('from a server without ranges', async () => {
    const server = await serve({ content: content(9 * MIB), ranges: false });
    await expectArrived(optionsFor(`${server.url}/file.bin`), content(9 * MIB));
    expect(server.requests).toHaveLength(1);
  });

  it.each([0, 1])('of which the answer that it has its name is lost, also when %i questions fail then: it comes once', async (failing) => {
    const server = await serve({ content: content(MIB), ranges: false });
    const there = destination();
    let begun = 0;
    let named: Draft | undefined;
    let fails = failing;
    const away = () => new AppError('STORAGE_UNAVAILABLE', 'fs is away');
    const losing: Destination = {
      async begin(file, note) {
        begun += 1;
        const draft = await there.begin(file, note);
        const commit: Draft['commit'] = async (expected) => {
          await draft.commit(expected);
          named = { ...draft, published: { sizeBytes: expected.sizeBytes } };
          throw away();
        };
        return { ...draft, commit };
      },
      async resume(id) {
        if (named && fails-- > 0) throw away();
        return named ?? there.resume(id);
      },
      drop: there.drop,
    };
    await expectArrived(optionsFor(server.url, { destination: losing }), content(MIB));
    expect(begun).toBe(1);
  });

  it('whose storing is cut off is stored from what is here, though its source has no ranges', async () => {
    const server = await serve({ content: content(MIB), ranges: false });
    const there = destination();
    let begun = 0;
    const failing: Destination = {
      ...there,
      async begin(file, note) {
        begun += 1;
        const commit = () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'away'));
        return { ...(await there.begin(file, note)), commit };
      },
    };
    await expectArrived(optionsFor(server.url, { destination: failing }), content(MIB));
    expect([begun, server.requests.length]).toEqual([1, 1]);
  });

  it('from a server that does not know how long it is', async () => {
    const bytes = content(3 * MIB);
    const server = await serve({
      content: bytes,
      handle: (_request, response) => {
        response.writeHead(200);
        response.write(bytes.subarray(0, MIB));
        response.end(bytes.subarray(MIB));
        return true;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
  });

  it('from a server that drops its connections at random bytes', async () => {
    const bytes = content(18 * MIB);
    const server = await serve({
      content: bytes,
      etag: '"one"',
      dropAfter: (request) => (request < 12 ? 300_001 + request * 77_777 : undefined),
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
  });

  it('from a server without ranges that drops its first connection', async () => {
    const bytes = content(2 * MIB);
    const server = await serve({ content: bytes, ranges: false, dropAfter: (request) => (request === 0 ? 700_000 : undefined) });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
    expect(server.requests).toHaveLength(2);
  });

  it('from a server that answers with other ranges than it was asked for', async () => {
    const bytes = content(9 * MIB);
    const server = await serve({
      content: bytes,
      etag: '"one"',
      handle: (request, response) => {
        if (!/^bytes=[1-9]/.test(request.headers.range ?? '')) return false;
        response
          .writeHead(206, { ETag: '"one"', 'Content-Range': `bytes 0-99/${bytes.length}`, 'Content-Length': '100' })
          .end(bytes.subarray(0, 100));
        return true;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
  });

  it('from a server that says ranges and then sends the whole file', async () => {
    const bytes = content(9 * MIB);
    const server = await serve({
      content: bytes,
      etag: '"one"',
      handle: (request, response) => {
        if (!/^bytes=[1-9]/.test(request.headers.range ?? '')) return false;
        response.writeHead(200, { ETag: '"one"', 'Content-Length': String(bytes.length) }).end(bytes);
        return true;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
  });

  it('from a server that allows one connection at a time', async () => {
    const bytes = content(17 * MIB);
    let open = 0;
    const server = await serve({
      content: bytes,
      etag: '"one"',
      handle: (_request, response) => {
        if (open > 0) {
          response.writeHead(503).end();
          return true;
        }
        open += 1;
        response.once('close', () => {
          open -= 1;
        });
        return false;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), bytes);
  });

  it('from a server that compresses although it was asked not to', async () => {
    const bytes = Buffer.from('all work and no play '.repeat(200_000));
    const server = await serve({
      content: gzipSync(bytes),
      ranges: false,
      headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'text/plain' },
    });
    await expectArrived(optionsFor(`${server.url}/file.txt`), bytes);
  });

  it('an archive that is called gzip-encoded stays what it is', async () => {
    const bytes = gzipSync(content(50_000));
    const server = await serve({ content: bytes, headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'application/gzip' } });
    await expectArrived(optionsFor(`${server.url}/file.tar.gz`), bytes);
  });

  it('when it changes in the middle: the new one arrives whole', async () => {
    const old = content(40 * MIB, 1);
    const fresh = content(39 * MIB, 2);
    const behaviour: Behaviour = { content: old, etag: '"one"' };
    const server = await serve(behaviour);
    const onProgress = (bytes: number) => {
      if (bytes > 12 * MIB) Object.assign(behaviour, { content: fresh, etag: '"two"' });
    };
    await expectArrived(optionsFor(`${server.url}/file.bin`, { onProgress }), fresh);
  });

  it('when it changes without a word but its length', async () => {
    const fresh = content(39 * MIB, 2);
    const behaviour: Behaviour = { content: content(40 * MIB, 1), lastModified: OLD };
    const server = await serve(behaviour);
    const onProgress = (bytes: number) => {
      if (bytes > 12 * MIB) behaviour.content = fresh;
    };
    await expectArrived(optionsFor(`${server.url}/file.bin`, { onProgress }), fresh);
  });
});

describe('of a source that says nothing by which a change would be noticed', () => {
  const NOW = new Date(Date.now() + 60_000).toUTCString();
  it.each([
    ['neither ETag nor Last-Modified', {}],
    ['a weak ETag alone', { etag: 'W/"one"' }],
    ['the moment as the date of the file', { lastModified: NOW }],
  ])('%s: one state arrives whole, over one connection', async (_what, says) => {
    const old = content(9 * MIB, 1);
    const behaviour: Behaviour = { content: old, ...says };
    const server = await serve(behaviour);
    const onProgress = (bytes: number) => {
      if (bytes > 3 * MIB) behaviour.content = content(9 * MIB, 2);
    };
    await expectArrived(optionsFor(`${server.url}/file.bin`, { onProgress, limits: [createRateLimit(16 * MIB)] }), old);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['neither ETag nor Last-Modified', {}],
    ['a weak ETag alone', { etag: 'W/"one"' }],
  ])('%s: after a break it begins anew', async (_what, says) => {
    const fresh = content(2 * MIB, 2);
    const behaviour: Behaviour = { content: content(2 * MIB, 1), ...says };
    behaviour.dropAfter = (request) => {
      if (request > 0) return undefined;
      behaviour.content = fresh;
      return 700_000;
    };
    const server = await serve(behaviour);
    await expectArrived(optionsFor(`${server.url}/file.bin`, { connections: 1 }), fresh);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual(['bytes=0-', 'bytes=0-']);
  });

  it.each([
    ['a weak ETag, and a date', { etag: 'W/"one"' }],
    ['a date', {}],
  ])('%s that is another one with each of its machines: it comes whole in the end', async (_what, says) => {
    const one = content(9 * MIB, 1);
    let answers = 0;
    const server = await serve({
      content: one,
      ...says,
      handle(_request, response) {
        answers += 1;
        response.setHeader('Last-Modified', answers % 2 === 0 ? OLD : 'Sun, 22 Nov 2020 20:00:00 GMT');
        return false;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), one);
    expect(server.requests.at(-1)?.headers.range).toBeUndefined();
  });

  it('a date that its ranges leave out: it comes without them', async () => {
    const old = content(9 * MIB, 1);
    const server = await serve({
      content: old,
      lastModified: OLD,
      handle(request, response) {
        const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        if (end === undefined) return false;
        const body = content(9 * MIB, 2).subarray(Number(start), Number(end) + 1);
        response
          .writeHead(206, { 'Content-Range': `bytes ${start}-${end}/${old.length}`, 'Content-Length': String(body.length) })
          .end(body);
        return true;
      },
    });
    await expectArrived(optionsFor(`${server.url}/file.bin`), old);
    expect(server.requests.at(-1)?.headers.range).toBeUndefined();
  });
});

it.each([
  ['a date', undefined],
  ['a date and a weak ETag', 'W/"one"'],
])('a source that says %s comes in parts, and the new one whole when it changes', async (_what, etag) => {
  const fresh = content(40 * MIB, 2);
  const behaviour: Behaviour = { content: content(40 * MIB, 1), lastModified: OLD, ...(etag === undefined ? {} : { etag }) };
  const server = await serve(behaviour);
  const onProgress = (bytes: number) => {
    if (bytes > 12 * MIB) Object.assign(behaviour, { content: fresh, lastModified: 'Mon, 23 Nov 2020 19:00:00 GMT' });
  };
  await expectArrived(optionsFor(`${server.url}/file.bin`, { onProgress }), fresh);
  expect(server.requests.length).toBeGreaterThan(40);
  expect(server.requests.some(({ headers }) => headers['if-range'] !== undefined)).toBe(false);
});

describe('a fetch that was ended goes on', () => {
  it('where it stopped, fetching again at most the parts that were on their way', async () => {
    const bytes = content(40 * MIB);
    const server = await serve({ content: bytes, etag: '"one"' });
    const stop = new AbortController();
    const files = destination();
    let saved: SavedFetch | undefined;
    const first = optionsFor(`${server.url}/file.bin`, {
      destination: files,
      signal: stop.signal,
      connections: 2,
      onSave: async (state) => {
        saved = state;
      },
      onProgress: (done) => {
        if (done > 20 * MIB) stop.abort();
      },
    });
    await expect(fetchFile(first)).rejects.toMatchObject({ code: 'CANCELLED' });
    if (!saved?.parts) throw new Error('nothing was saved');
    // 20 MiB had come over two connections: of forty parts at most two were on their way.
    const map = new PartMap(saved.parts);
    const missing = [...map.missing()];
    expect(missing.length).toBeLessThanOrEqual(22);
    const before = server.requests.length;
    const second = optionsFor(`${server.url}/file.bin`, { destination: files, saved, onSave: async () => {} });
    await expectArrived(second, bytes);
    const asked = server.requests.slice(before).map(({ headers }) => headers.range);
    const ranges = missing.map((part) => map.range(part)).filter(({ start }) => start > 0);
    expect(asked.sort()).toEqual(['bytes=0-', ...ranges.map(({ start, end }) => `bytes=${start}-${end}`)].sort());
  });

  it('in the middle of a part that comes slowly', async () => {
    const bytes = content(2 * MIB);
    const server = await serve({ content: bytes, etag: '"one"' });
    const files = destination();
    let saved: SavedFetch | undefined;
    const stop = new AbortController();
    const stopped = {
      destination: files,
      connections: 1,
      signal: stop.signal,
      limits: [createRateLimit(MIB)],
      onSave: async (state: SavedFetch | undefined) => {
        saved = state;
        if (state?.parts?.begun.some((each) => each.bytes > 300_000)) stop.abort();
      },
    };
    await expect(fetchFile(optionsFor(`${server.url}/file.bin`, stopped))).rejects.toMatchObject({ code: 'CANCELLED' });
    const [begun] = saved?.parts?.begun ?? [];
    expect(begun).toMatchObject({ part: 0 });
    const before = server.requests.length;
    await expectArrived(optionsFor(`${server.url}/file.bin`, { destination: files, saved, connections: 1 }), bytes);
    expect(server.requests.slice(before).map(({ headers }) => headers.range)).toContain(`bytes=${begun?.bytes}-${MIB - 1}`);
  });

  it.each([
    ['nothing to be known by', { etag: '', lastModified: '' }],
    ['a weak ETag', { etag: 'W/"one"', lastModified: '' }],
  ])('from the start when an earlier version had parts of a source that said %s', async (_what, validator) => {
    const bytes = content(2 * MIB, 2);
    const server = await serve({ content: bytes, etag: validator.etag || '"two"' });
    const files = destination();
    const draft = await files.begin({ name: 'file.bin' as EntryName, sizeBytes: bytes.length, hasDigests: false }, async () => {});
    const parts = PartMap.begin(bytes.length, validator);
    parts.advance(0, MIB);
    await draft.release();
    const saved = { name: 'file.bin' as EntryName, draftId: draft.id, parts: parts.save() };
    await expectArrived(optionsFor(`${server.url}/file.bin`, { destination: files, saved }), bytes);
  });

  it('from the start when the source is another one by now', async () => {
    const behaviour: Behaviour = { content: content(24 * MIB, 1), etag: '"one"' };
    const server = await serve(behaviour);
    const stop = new AbortController();
    const files = destination();
    let saved: SavedFetch | undefined;
    const changes = {
      destination: files,
      onSave: async (state: SavedFetch | undefined) => {
        saved = state;
      },
    };
    const onProgress = (done: number) => {
      if (done > 12 * MIB) stop.abort();
    };
    await expect(fetchFile(optionsFor(`${server.url}/f`, { ...changes, onProgress, signal: stop.signal }))).rejects.toThrowError();
    Object.assign(behaviour, { content: content(24 * MIB, 2), etag: '"two"' });
    await expectArrived(optionsFor(`${server.url}/f`, { ...changes, saved }), content(24 * MIB, 2));
  });
});

describe('redirects', () => {
  const redirecting = (hops: number) =>
    serve({
      content: content(100_000),
      etag: '"one"',
      handle: (request, response) => {
        const hop = Number(/^\/hop(\d+)$/.exec(request.url ?? '')?.[1] ?? hops);
        if (hop >= hops) return false;
        response.writeHead(302, { Location: `/hop${hop + 1}` }).end();
        return true;
      },
    });

  it('ten are followed', async () => {
    const server = await redirecting(10);
    await expectArrived(optionsFor(`${server.url}/hop0`), content(100_000));
  });

  it('eleven are too many', async () => {
    const server = await redirecting(11);
    await expect(fetchFile(optionsFor(`${server.url}/hop0`))).rejects.toThrowError(/more than 10 redirects/);
  });

  it('each is checked: none leads to an address that is not allowed, nor to another scheme', async () => {
    for (const target of [
      'http://127.0.0.2:1/',
      'http://[::ffff:127.0.0.2]/',
      'http://169.254.169.254/latest',
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
    ]) {
      const server = await serve({
        content: content(1),
        handle: (_request, response) => {
          response.writeHead(302, { Location: target }).end();
          return true;
        },
      });
      await expect(fetchFile(optionsFor(`${server.url}/f`))).rejects.toMatchObject({
        code: /^(?:file|ftp)/.test(target) ? 'UNSUPPORTED_OPERATION' : 'PERMISSION_DENIED',
      });
    }
  });

  it('what proves who we are stays with its host', async () => {
    const other = await serve({ content: content(1000) });
    const server = await serve({
      content: content(1),
      handle: (_request, response) => {
        response.writeHead(302, { Location: `${other.url}/g` }).end();
        return true;
      },
    });
    const options = optionsFor(`${server.url.replace('http://', 'http://user:pass@')}/f`);
    await expectArrived({ ...options, network: { ...options.network, headers: { Cookie: 'session=1' } } }, content(1000));
    expect(server.requests[0]?.headers).toMatchObject({ authorization: `Basic ${btoa('user:pass')}`, cookie: 'session=1' });
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
    expect(other.requests[0]?.headers.cookie).toBeUndefined();
  });
});

describe('what is told', () => {
  it.each([403, 404, 410, 451])('the source says %i', async (status) => {
    const server = await serve({
      content: content(1),
      handle: (_request, response) => {
        response.writeHead(status).end('<html>an error page is no file</html>');
        return true;
      },
    });
    await expect(fetchFile(optionsFor(`${server.url}/f`))).rejects.toThrowError(new RegExp(`answers ${status}`));
    expect(server.requests).toHaveLength(1);
  });

  it('a digest that does not hold; nothing is left', async () => {
    const bytes = content(5 * MIB);
    const server = await serve({
      content: bytes,
      etag: '"one"',
      headers: { 'Repr-Digest': `sha-256=:${Buffer.from(sha256(content(10)), 'hex').toString('base64')}:` },
    });
    await expect(fetchFile(optionsFor(`${server.url}/f`))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect(await fs.readdir(join(dir.path, 'scratch'))).toEqual([]);
    await expect(fetchFile(optionsFor(`${server.url}/f`, { digests: { sha256: sha256(bytes) } }))).resolves.toBeDefined();
  });

  it('a source that trickles is given up', async () => {
    const server = await serve({
      content: content(1),
      handle: (_request, response) => {
        response.writeHead(200, { 'Content-Length': '1000000' });
        const trickle = setInterval(() => response.write('x'), 20);
        response.once('close', () => clearInterval(trickle));
        return true;
      },
    });
    const stop = new AbortController();
    const fetching = fetchFile(optionsFor(`${server.url}/f`, { stallMs: 150, signal: stop.signal }));
    fetching.catch(() => undefined);
    await waitFor('another try', () => server.requests.length > 1, { withinMs: 20_000 });
    stop.abort();
    await expect(fetching).rejects.toThrowError();
  });

  it('a file over the limit is refused, also when its length is not known', async () => {
    const known = await serve({ content: content(2 * MIB), etag: '"one"' });
    await expect(fetchFile(optionsFor(`${known.url}/f`, { maxBytes: MIB }))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    const unknown = await serve({
      content: content(1),
      handle: (_request, response) => {
        response.writeHead(200);
        response.end(content(2 * MIB));
        return true;
      },
    });
    await expect(fetchFile(optionsFor(`${unknown.url}/f`, { maxBytes: MIB }))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    expect(await fs.readdir(join(dir.path, 'scratch'))).toEqual([]);
  });
});

it('a rate limit holds for all connections together', async () => {
  const server = await serve({ content: content(9 * MIB), etag: '"one"' });
  const startedAt = Date.now();
  const limits = [createRateLimit(16 * MIB)];
  await expectArrived(optionsFor(`${server.url}/f`, { limits }), content(9 * MIB));
  expect(Date.now() - startedAt).toBeGreaterThan(250);
});
