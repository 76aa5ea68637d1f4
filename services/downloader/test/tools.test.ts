import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient, type GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import {
  type DownloadTool,
  ensureCommand,
  freePort,
  isAvailable,
  type Missing,
  makeTempDir,
  runCommand,
  startAria2,
  startQbittorrent,
  startTransmission,
  type TempDir,
} from '@wharf/harness';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AskTool, createAskTool } from '../src/tools/ask-tool.ts';
import { probeTool } from '../src/tools/probe-tool.ts';
import { startToolProxy } from '../src/tools/tool-proxy.ts';

const TOOLS = {
  aria2: { start: startAria2, version: /^1\.\d+/, notIt: 'what answers there is not the JSON-RPC interface of aria2' },
  qBittorrent: {
    start: startQbittorrent,
    version: /^v\d+\.\d+/,
    notIt: 'what answers there is not the Web API of qBittorrent 4.1 or later',
  },
  Transmission: { start: startTransmission, version: /^\d+\.\d+/, notIt: 'what answers there is not the RPC interface of Transmission' },
} as const;
type ToolName = keyof typeof TOOLS;

let client: GuardedClient;
let ask: AskTool;
let toolsDir: TempDir;
let proxy: Awaited<ReturnType<typeof startToolProxy>>;
const closing: (() => void)[] = [];

beforeAll(async () => {
  toolsDir = await makeTempDir('tools');
  client = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }), { maxConnections: 4 });
  ask = createAskTool(client);
  const policy = createEgressPolicy({ audience: 'user', allow: [], forbidden: [] });
  proxy = await startToolProxy({ policy, bind: '127.0.0.1', port: 0, url: undefined });
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
afterAll(async () => {
  client.close();
  await proxy.close();
  await toolsDir.remove();
});

const probe = (tool: string, url: string, secret = '', signal = new AbortController().signal) =>
  probeTool({ ask, toolsDir: toolsDir.path, proxy: () => proxy }, { tool, url, secret }, signal);
const errorOf = (answer: Promise<unknown>) =>
  answer.then((value) => Promise.reject(new Error(`no error but ${String(value)}`)), AppError.from);
const withLogin = (url: string, username: string, password: string) => Object.assign(new URL(url), { username, password }).href;

/** A server of somebody else. */
async function startOther(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
}

describe.each(Object.keys(TOOLS) as ToolName[])('%s', async (name) => {
  const found: DownloadTool | Missing = await TOOLS[name].start();
  afterAll(async () => {
    if ('stop' in found) await found.stop();
  });
  const address = (tool: DownloadTool) => (name === 'aria2' ? tool.url : withLogin(tool.url, tool.username, tool.password));

  describe.runIf(isAvailable(name, found))('that runs', () => {
    const tool = () => {
      if (!('url' in found)) throw new Error('it is missing');
      return found;
    };

    it('tells its version', async () => {
      expect(await probe(name, address(tool()), tool().password)).toMatch(TOOLS[name].version);
    });

    it('refuses a wrong secret', async () => {
      const wrong = name === 'aria2' ? tool().url : withLogin(tool().url, tool().username, 'wrong');
      expect(await errorOf(probe(name, wrong, 'wrong'))).toMatchObject({
        code: 'STORAGE_LOGIN_FAILED',
        message: name === 'aria2' ? 'the secret is wrong' : 'the user or the password is wrong',
      });
    });

    it('refuses one who brings none', async () => {
      expect(await errorOf(probe(name, tool().url))).toMatchObject({
        code: 'STORAGE_LOGIN_FAILED',
        message: name === 'aria2' ? 'it asks for a secret' : 'it asks for a user and a password',
      });
    });

    it.each(Object.keys(TOOLS).filter((other) => other !== name) as ToolName[])('is not %s', async (other) => {
      const error = await errorOf(probe(other, address(tool()), tool().password));
      expect(['UNSUPPORTED_OPERATION', 'STORAGE_LOGIN_FAILED']).toContain(error.code);
    });
  });

  it('is not what listens nowhere', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    expect(await errorOf(probe(name, url))).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: `${new URL(url).host} refuses connections`,
    });
  });

  it('is not a web server of another kind', async () => {
    for (const status of [200, 204, 302, 404, 500]) {
      const url = await startOther((_request, response) =>
        response.writeHead(status, { Location: 'http://127.0.0.2:9/' }).end('<html>hello</html>'),
      );
      expect(await errorOf(probe(name, url)), String(status)).toMatchObject({ code: 'UNSUPPORTED_OPERATION', message: TOOLS[name].notIt });
    }
  });

  it.each([502, 503, 504])('is away, and may come back, where what stands before it answers with %i', async (status) => {
    const url = await startOther((_request, response) => response.writeHead(status).end('<html>hello</html>'));
    const message = `${new URL(url).host} answers with ${status}`;
    expect(await errorOf(probe(name, url))).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message });
  });

  it('is not a server that speaks no HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    closing.push(() => server.close());
    const bound = server.address();
    const error = await errorOf(probe(name, `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}/`));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
  });

  it.each([
    ['nested', '['.repeat(100)],
    ['of values without end', `[${'0,'.repeat(100_000)}0]`],
    ['one word without end', JSON.stringify('x'.repeat(4 * 1024 * 1024))],
  ])('gives no answers that hold up everybody: %s', async (_what, body) => {
    const url = await startOther((_request, response) => response.end(body));
    expect(await errorOf(probe(name, url))).toMatchObject({ code: 'CONTENT_CORRUPT' });
  });

  it('must answer in time', async () => {
    const url = await startOther(() => {});
    const start = performance.now();
    expect(await errorOf(probe(name, url))).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: 'no answer within 4 s' });
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it('is given up when the caller goes away', async () => {
    const url = await startOther(() => {});
    const caller = new AbortController();
    const answer = errorOf(probe(name, url, '', caller.signal));
    caller.abort();
    expect((await answer).code).toBe('CANCELLED');
  });

  it.each(['169.254.169.254', '[fe80::1]', '[fd00:ec2::254]', '0xa9fea9fe', '[::ffff:169.254.169.254]'])('is never at %s', async (host) => {
    expect(await errorOf(probe(name, `http://${host}/`))).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'this address must not be reached: link-local, metadata, or our own store or bus',
    });
  });

  it.each(['', 'localhost:6800', 'ftp://localhost/', 'file:///etc/passwd', 'unix:/run/x'])('is not at %j', async (url) => {
    expect(await errorOf(probe(name, url))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a redirect', () => {
  it('is not followed, and takes no secret along', async () => {
    const seen: (string | undefined)[] = [];
    const other = await startOther((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const first = await startOther((_request, response) => response.writeHead(307, { Location: other }).end());
    for (const name of Object.keys(TOOLS)) await errorOf(probe(name, withLogin(first, 'keeper', 'canary'), 'canary'));
    expect(seen).toEqual([]);
  });
});

describe('a server whose certificate nobody vouches for (C21)', async () => {
  const openssl = await ensureCommand('openssl', 'openssl');

  it.runIf(isAvailable('openssl', openssl))('is refused, and hears neither password nor secret', async () => {
    const dir = await makeTempDir('tls');
    const [key, cert] = [join(dir.path, 'key.pem'), join(dir.path, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '1', ...subject];
    expect((await runCommand('openssl', made)).code).toBe(0);
    const heard: string[] = [];
    const server = createTlsServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
      heard.push(String(request.headers.authorization));
      response.end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    closing.push(() => server.close());
    const bound = server.address();
    const url = `https://keeper:canary@127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}/`;
    for (const name of Object.keys(TOOLS))
      expect((await errorOf(probe(name, url, 'canary'))).message).toMatch(/^the certificate of .* is not valid$/);
    expect(heard).toEqual([]);
    await dir.remove();
  });
});

describe('versions that are not spoken', () => {
  const json =
    (body: unknown): RequestListener =>
    (_request, response) =>
      response.end(JSON.stringify(body));

  it('aria2 before 1.18', async () => {
    const url = await startOther(json({ id: 'wharf', jsonrpc: '2.0', result: { version: '1.17.1' } }));
    expect((await errorOf(probe('aria2', url))).message).toBe('aria2 1.17.1 is too old; 1.18 or later is needed');
  });

  it('qBittorrent with another Web API', async () => {
    const url = await startOther((request, response) => response.end(request.url === '/api/v2/app/version' ? 'v9.0.0' : '3.0'));
    expect((await errorOf(probe('qBittorrent', url))).message).toBe('its Web API has version 3.0; 2 is needed (qBittorrent 4.1 or later)');
  });

  it('Transmission before 2.80, and one that takes nothing old', async () => {
    const session = (version: string, rpc: number, minimum: number) =>
      json({ result: 'success', arguments: { version, 'rpc-version': rpc, 'rpc-version-minimum': minimum } });
    expect((await errorOf(probe('Transmission', await startOther(session('2.10', 10, 1))))).message).toBe(
      'Transmission 2.10 is too old; 2.80 or later is needed',
    );
    expect((await errorOf(probe('Transmission', await startOther(session('9.0', 40, 30))))).message).toBe('Transmission 9.0 is too new');
  });

  it('tools that nobody knows', async () => {
    expect(await errorOf(probe('other', 'http://127.0.0.1/'))).toMatchObject({ code: 'RECORD_NOT_FOUND', message: 'tool other not found' });
  });
});
