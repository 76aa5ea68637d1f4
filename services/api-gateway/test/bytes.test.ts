import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describeContent, download, generateContent, httpRequest, upload, waitFor } from '@wharf/harness';
import { readCallHeaders } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTENT_SEED, type DataPlane, startDataPlane, unusedUrl } from './data-plane.ts';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

const AS_ADMIN = { Authorization: PERMANENT_TOKEN };
const SIZE_BYTES = 64 * 1024 * 1024;
const NEVER = new AbortController().signal;

let plane: DataPlane;
let gateway: Gateway;

beforeAll(async () => {
  plane = await startDataPlane();
  gateway = await openGateway({ fsDataUrl: plane.url });
}, 60_000);
afterAll(async () => {
  await gateway?.close();
  await plane?.stop(0);
});

describe('requests for bytes, with the data plane in another process', () => {
  it('a download streams through, with status and headers', async () => {
    const path = `/d/bytes/${SIZE_BYTES}?sign=a%2Bb`;
    const { status, headers, sizeBytes, sha256 } = await download(gateway.base, { path, headers: { Range: 'bytes=0-' } });
    expect({ sizeBytes, sha256 }).toEqual(describeContent(CONTENT_SEED, SIZE_BYTES));
    expect([status, headers['content-range'], headers.etag]).toEqual([206, `bytes 0-${SIZE_BYTES - 1}/${SIZE_BYTES}`, '"x"']);
    expect(plane.seen.at(-1)?.range).toBe('bytes=0-');
  });

  it.each(['many', 'long'])('as %s headers as the gateway takes pass, with what it adds', async (kind) => {
    const [count, text] = kind === 'many' ? [195, 'x'] : [31, 'x'.repeat(1_030)];
    const further = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, text]));
    expect((await gateway.request({ path: '/d/bytes/5', headers: further })).status).toBe(206);
    const answer = await upload(gateway.base, {
      path: '/api/fs/put',
      headers: { ...AS_ADMIN, ...further, 'File-Path': '/a', 'Content-Length': SIZE_BYTES },
      body: generateContent(CONTENT_SEED, SIZE_BYTES),
    });
    expect(answer.json()).toEqual(describeContent(CONTENT_SEED, SIZE_BYTES));
  });

  it('HEAD has the headers alone', async () => {
    const answer = await gateway.request({ method: 'HEAD', path: '/p/bytes/0' });
    expect([answer.status, answer.body.length]).toEqual([404, 0]);
    const known = await gateway.request({ method: 'HEAD', path: '/d/bytes/5' });
    expect([known.status, known.headers['content-length'], known.body.length]).toEqual([206, '5', 0]);
  });

  it.each([true, false])('an upload streams through; with a length: %s', async (isLengthKnown) => {
    const headers = { ...AS_ADMIN, 'File-Path': '/a', ...(isLengthKnown ? { 'Content-Length': SIZE_BYTES } : {}) };
    const answer = await upload(gateway.base, { path: '/api/fs/put', headers, body: generateContent(CONTENT_SEED, SIZE_BYTES) });
    expect(answer.json()).toEqual(describeContent(CONTENT_SEED, SIZE_BYTES));
  });

  it('a data plane that takes nothing holds the client back', async () => {
    const abort = new AbortController();
    let sentBytes = 0;
    const isRefused = upload(
      gateway.base,
      {
        path: '/api/fs/put',
        headers: { ...AS_ADMIN, 'File-Path': '/stall', 'Content-Length': SIZE_BYTES * 16 },
        body: generateContent(CONTENT_SEED, SIZE_BYTES * 16),
        signal: abort.signal,
      },
      (bytes) => {
        sentBytes = bytes;
      },
    ).then(
      () => false,
      () => true,
    );
    let before = -1;
    const standsStill = () => {
      const isSame = sentBytes > 0 && sentBytes === before;
      before = sentBytes;
      return isSame;
    };
    await waitFor('the data plane to take no more', plane.isStalled);
    await waitFor('the upload to stand still', standsStill, { everyMs: 500, withinMs: 20_000 });
    // What fits into the buffers of two connections.
    expect(sentBytes).toBeLessThan(SIZE_BYTES);
    abort.abort();
    expect(await isRefused).toBe(true);
    plane.resume();
    await waitFor('the data plane to hear of it', () => plane.aborted.includes('/api/fs/put'));
  });

  it('a client that goes away ends the download behind the gateway', async () => {
    await expect(
      download(gateway.base, { path: '/d/endless/1' }, (receivedBytes) => {
        if (receivedBytes > 1_000_000) throw new Error('enough');
      }),
    ).rejects.toThrow('enough');
    await waitFor('the data plane to hear of it', () => plane.aborted.includes('/d/endless/1'));
  });

  it('a refusal that comes before the body is read reaches the client', async () => {
    const headers = { ...AS_ADMIN, 'File-Path': '/refuse', 'Content-Length': SIZE_BYTES };
    const answer = await upload(gateway.base, { path: '/api/fs/put', headers, body: generateContent(CONTENT_SEED, SIZE_BYTES) });
    expect(answer.json()).toEqual({ code: 403 });
  });

  it('the path of a download arrives as it was sent, at the data plane in another process', async () => {
    const path = '/d/bytes/5/%E6%96%87/..%2f%2e%2e//a%20b%252f?sign=x:0&d';
    const { status, headers, body } = await gateway.request({ path });
    expect([status, headers['x-asked'], body.length]).toEqual([206, path, 5]);
  });

  it('downloads one after the other come over one connection', async () => {
    const ports = new Set<unknown>();
    for (const size of [5, 4_096, 300_000, 0, 5]) ports.add((await gateway.request({ path: `/d/bytes/${size}?kept` })).headers['x-from']);
    expect(ports.size).toBe(1);
  });

  it('downloads at once have each their own bytes', async () => {
    const sizes = Array.from({ length: 50 }, (_, i) => (i * 7_919) % 300_000);
    const answers = await Promise.all(sizes.map((size) => download(gateway.base, { path: `/d/bytes/${size}` })));
    expect(answers.map(({ sizeBytes, sha256 }) => ({ sizeBytes, sha256 }))).toEqual(
      sizes.map((size) => describeContent(CONTENT_SEED, size)),
    );
  });

  it('the path arrives as it was sent', async () => {
    const path = '/d/%E6%96%87/..%2f%2e%2e//a%20b%252f?sign=x:0&d';
    let url = '';
    const listener = await openGateway({
      bytes: (request, response) => {
        url = request.url ?? '';
        response.end();
      },
    });
    await listener.request({ path });
    await listener.close();
    expect(url).toBe(path);
  });
});

describe('headers that concern one connection, with the data plane in another process', () => {
  /** Sends one request exactly as given; the server closes after its answer. */
  const statusOf = async (head: string): Promise<number> => {
    const { hostname, port } = new URL(gateway.base);
    const socket = connect(Number(port), hostname);
    socket.write(`${head}\r\nHost: gateway\r\nAuthorization: ${PERMANENT_TOKEN}\r\nConnection: close\r\n\r\n`);
    return Number((await text(socket)).split(' ')[1]);
  };
  // Node's client throws for a Trailer without a chunked body, where nobody catches it: that was the end of the gateway.
  it.each([
    ['HEAD /d/bytes/5', 206],
    ['GET /d/bytes/5', 206],
    ['OPTIONS /api/fs/tus', 404],
    ['DELETE /api/fs/tus/1', 404],
    ['POST /api/fs/multipart/complete', 404],
  ])('%s is answered whatever they are', async (line, status) => {
    for (const headers of [
      'Trailer: x',
      'Trailer: x\r\nExpect: 100-continue',
      'Upgrade: x\r\nTE: trailers\r\nKeep-Alive: x',
      'Trailer: x\r\nContent-Length: 0',
    ]) {
      // What comes first to one that expects it.
      const expected = headers.includes('Expect') ? 100 : status;
      expect([headers, await statusOf(`${line} HTTP/1.1\r\n${headers}`)]).toEqual([headers, expected]);
      expect(plane.seen.at(-1)).not.toMatchObject({ trailer: expect.anything() });
    }
  });
});

describe('what the data plane is told', () => {
  const callOf = () => {
    const headers = plane.seen.at(-1) ?? {};
    return { headers, call: readCallHeaders(gateway.kit.tokens, headers, NEVER) };
  };

  it('of an upload: who calls, instead of a token, and nothing that the client made up', async () => {
    const forged = { 'wharf-identity': 'forged', 'wharf-auth-revision': '99', 'wharf-site-url': 'http://evil.example', 'wharf-other': 'x' };
    await gateway.request({ method: 'PUT', path: '/api/fs/form', headers: { ...AS_ADMIN, ...forged, 'File-Path': '/a' }, body: 'x' });
    const { headers, call } = callOf();
    expect(call).toMatchObject({ identity: { kind: 'user', id: 1, username: 'admin', role: 2 }, siteUrl: gateway.base });
    expect(call?.revisions.auth).not.toBe(99);
    expect(call?.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect([headers.authorization, headers['wharf-other'], headers['file-path']]).toEqual([undefined, undefined, '/a']);
  });

  it('where the client is, so that no address takes all of a storage', async () => {
    await gateway.request({ path: '/d/bytes/3', headers: { 'X-Forwarded-For': '192.0.2.9', 'wharf-client-address': '192.0.2.9' } });
    expect(callOf().call?.address).toBe('127.0.0.1');
    await gateway.request({ method: 'PUT', path: '/api/fs/put', headers: { ...AS_ADMIN, 'File-Path': '/a' }, body: 'x' });
    expect(callOf().call?.address).toBe('127.0.0.1');
  });

  it('of a download: the gateway alone, whatever token came with it', async () => {
    for (const headers of [{}, AS_ADMIN, { Authorization: 'no-such-token' }, { 'wharf-identity': 'forged' }]) {
      expect((await gateway.request({ path: '/d/bytes/3', headers })).status).toBe(206);
      expect(callOf().call).toMatchObject({ identity: { kind: 'service', name: 'api-gateway' }, siteUrl: gateway.base });
    }
  });
});

describe('what a data plane in the same process is told', () => {
  it('the caller of an upload, the gateway alone of a download, whatever headers came with it', async () => {
    const told: unknown[] = [];
    const alone = await openGateway({
      bytes: (_request, response, call) => {
        told.push(call);
        response.end();
      },
    });
    const forged = {
      'wharf-identity': 'forged',
      'wharf-auth-revision': '99',
      'wharf-client-address': '192.0.2.9',
      'User-Agent': 'Player/1.0',
    };
    await alone.request({ method: 'PUT', path: '/api/fs/put', headers: { ...AS_ADMIN, ...forged, 'File-Path': '/a' }, body: 'x' });
    await alone.request({ path: '/d/a', headers: { ...AS_ADMIN, ...forged } });
    await alone.close();
    const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    // Who it is that a storage is asked for: one client has a share of what it bears.
    const client = { address: '127.0.0.1', agent: 'Player/1.0' };
    const revisions = { auth: 0, admin: 0 };
    expect(told).toEqual([
      { identity: expect.objectContaining({ kind: 'user', username: 'admin' }), requestId, revisions, ...client },
      { identity: { kind: 'service', name: 'api-gateway' }, requestId, revisions, ...client },
    ]);
  });
});

describe('a client that takes nothing of a download', () => {
  it('is cut off, and keeps no place among the transfers', async () => {
    const narrow = await openGateway({ fsDataUrl: plane.url, maxTransfers: 1, downloadIdleMs: 500 });
    try {
      const held = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${narrow.base}/d/bytes/${SIZE_BYTES}`, { agent: false }, resolve).on('error', reject);
      });
      held.on('error', () => {});
      await waitFor('room', async () => (await narrow.request({ path: '/d/bytes/3' })).status !== 503 || undefined);
      held.destroy();
    } finally {
      await narrow.close();
    }
  });
});

describe('refusals of byte routes', () => {
  it('an upload without a right to call is an envelope, and its body is read away', async () => {
    const headers = { 'Content-Length': 8 * 1024 * 1024 };
    const answer = await upload(gateway.base, { path: '/api/fs/put', headers, body: generateContent('x', 8 * 1024 * 1024) });
    expect(answer.json()).toEqual({ code: 401, message: 'Guest user is disabled, login please', data: null });
  });

  it('beyond a bound the connection is closed instead', async () => {
    const answer = await httpRequest(gateway.base, {
      method: 'PUT',
      path: '/api/fs/put',
      headers: { 'Content-Length': 2 ** 31 },
      body: [],
    });
    expect([answer.headers.connection, answer.json()]).toEqual(['close', expect.objectContaining({ code: 401 })]);
  });

  it('downloads answer no other method', async () => {
    const answer = await gateway.request({ method: 'POST', path: '/d/bytes/3', body: 'x' });
    expect([answer.status, answer.headers['content-type']]).toEqual([405, 'text/plain; charset=utf-8']);
  });

  it('a data plane that is down: an envelope for uploads, 502 for downloads, 423 for a look at an upload by tus', async () => {
    const alone = await openGateway({ fsDataUrl: await unusedUrl() });
    const put = await alone.request({ method: 'PUT', path: '/api/fs/put', headers: AS_ADMIN, body: Buffer.alloc(1_000_000) });
    expect([put.status, put.json()]).toEqual([200, { code: 500, message: 'the file service cannot be reached', data: null }]);
    // Clients of the family send a part again after this code, and give up after another.
    const part = await alone.request({ method: 'PUT', path: '/api/fs/multipart/chunk', headers: AS_ADMIN, body: Buffer.alloc(1_000) });
    expect(part.json()).toMatchObject({ code: 429 });
    const get = await alone.request({ path: '/d/bytes/3' });
    expect([get.status, get.text()]).toEqual([502, 'the file service cannot be reached\n']);
    const look = await alone.request({ method: 'HEAD', path: `/api/fs/tus/${'0'.repeat(32)}`, headers: AS_ADMIN });
    expect(look.status).toBe(423);
    await alone.close();
  });

  it('more than it can carry are refused, and told when to come again', async () => {
    const narrow = await openGateway({ fsDataUrl: plane.url, maxTransfers: 1 });
    try {
      const held = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${narrow.base}/d/bytes/${SIZE_BYTES}`, { agent: false }, resolve).on('error', reject);
      });
      const refused = await narrow.request({ path: '/d/bytes/3' });
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);
      const put = await narrow.request({ method: 'PUT', path: '/api/fs/put', headers: AS_ADMIN, body: 'x' });
      expect([put.status, put.headers['retry-after'], put.json()]).toMatchObject([200, '10', { code: 503, data: null }]);
      held.destroy();
      await waitFor('room', async () => (await narrow.request({ path: '/d/bytes/3' })).status !== 503 || undefined);
    } finally {
      await narrow.close();
    }
  });
});
