import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient, type GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import {
  type DownloadTool,
  freePort,
  isAvailable,
  type Missing,
  makeTempDir,
  startAria2,
  startQbittorrent,
  startTransmission,
  type TempDir,
} from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseToolAddress } from '../src/domain/tool-address.ts';
import { type AskTool, createAskTool } from '../src/tools/ask-tool.ts';
import { probeTool } from '../src/tools/probe-tool.ts';
import { createQbittorrentClient } from '../src/tools/qbittorrent/qbittorrent-client.ts';
import { startToolProxy } from '../src/tools/tool-proxy.ts';

const START = { aria2: startAria2, qBittorrent: startQbittorrent, Transmission: startTransmission } as const;
type ToolName = keyof typeof START;
const NAMES = ['aria2', 'qBittorrent', 'Transmission'] as const;

let client: GuardedClient;
let ask: AskTool;
let toolsDir: TempDir;
let guarded: Awaited<ReturnType<typeof startToolProxy>>;
const proxy = () => guarded;

beforeAll(async () => {
  toolsDir = await makeTempDir('tools');
  client = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden: [] }), { maxConnections: 4 });
  ask = createAskTool(client);
  guarded = await openProxy();
});
afterAll(async () => {
  await guarded.close();
  client.close();
  await toolsDir.remove();
});

const openProxy = (url?: string) =>
  startToolProxy({ policy: createEgressPolicy({ audience: 'user', allow: [], forbidden: [] }), bind: '127.0.0.1', port: 0, url });

/** Asks as if the tool ran where our folder is another one: what a container with other mounts does. */
function askElsewhere(ours: string, theirs: string): AskTool {
  const swap = (text: string, from: string, to: string) => text.replaceAll(from, to);
  return async (url, request) => {
    const { body } = request;
    const text = body === undefined || typeof body === 'string' ? body : Buffer.from(body).toString('latin1');
    const encoded = (path: string) => encodeURIComponent(path);
    const given = text === undefined ? undefined : swap(swap(text, ours, theirs), encoded(ours), encoded(theirs));
    const answer = await ask(url, {
      ...request,
      ...(given === undefined ? {} : { body: typeof body === 'string' ? given : Buffer.from(given, 'latin1') }),
    });
    // aria2 escapes slashes.
    return { ...answer, body: swap(swap(answer.body, theirs, ours), theirs.replaceAll('/', '\\/'), ours) };
  };
}

describe.each(NAMES)('the folder of downloads, with %s', async (name) => {
  const found: DownloadTool | Missing = await START[name]();
  afterAll(async () => {
    if ('stop' in found) await found.stop();
  });
  const settings = () => {
    if (!('url' in found)) throw new Error('it is missing');
    const { url, username, password } = found;
    return { tool: name, url: Object.assign(new URL(url), name === 'aria2' ? {} : { username, password }).href, secret: password };
  };
  const { signal } = new AbortController();

  it.runIf(isAvailable(name, found))('is the same: the probe succeeds, again and again, and leaves nothing', async () => {
    for (let round = 0; round < 2; round++)
      expect(await probeTool({ ask, toolsDir: toolsDir.path, proxy }, settings(), signal)).toMatch(/\d/);
    expect(await readdir(join(toolsDir.path, name.toLowerCase()))).toEqual([]);
    if (name === 'qBittorrent')
      expect(await createQbittorrentClient(ask, parseToolAddress(settings().url)).get('torrents/info')).toBe('[]');
  });

  it.runIf(isAvailable(name, found))('is another one: the probe says so, and leaves nothing', async () => {
    const elsewhere = await makeTempDir('elsewhere');
    const context = { ask: askElsewhere(toolsDir.path, elsewhere.path), toolsDir: toolsDir.path, proxy };
    const error = await probeTool(context, settings(), signal).catch(AppError.from);
    expect(error).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: `${name} and the downloader do not share ${toolsDir.path}: both must see WHARF_TOOLS_DIR under this path, and ${name} must be allowed to write there`,
    });
    expect(await readdir(join(toolsDir.path, name.toLowerCase()))).toEqual([]);
    await elsewhere.remove();
  });
});

describe('the proxy that aria2 is to fetch through', async () => {
  const found = await startAria2();
  afterAll(async () => {
    if ('stop' in found) await found.stop();
  });
  const probe = (to: typeof guarded) => {
    if (!('url' in found)) throw new Error('it is missing');
    const settings = { tool: 'aria2', url: found.url, secret: found.password };
    return probeTool({ ask, toolsDir: toolsDir.path, proxy: () => to }, settings, new AbortController().signal).catch(AppError.from);
  };

  it.runIf(isAvailable('aria2', found))('is reached, or the probe says that it is not', async () => {
    expect(await probe(guarded)).toMatch(/^1\./);
    const url = `http://127.0.0.1:${await freePort()}`;
    const lost = await openProxy(url);
    expect(await probe(lost)).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining(`aria2 does not reach the proxy of the downloader at ${url} (WHARF_EGRESS_PROXY_URL)`),
    });
    await lost.close();
  });

  it.runIf(isAvailable('aria2', found))('is that of this replica: that of another one does not know its password', async () => {
    const other = await openProxy(guarded.url);
    expect(await probe(other)).toMatchObject({ message: expect.stringContaining('does not reach the proxy') });
    await other.close();
  });
});

describe('a tool that tells its version and nothing of folders', () => {
  const json = (body: unknown) => JSON.stringify(body);
  const versions: Record<ToolName, RequestListener> = {
    aria2: (_request, response) => response.end(json({ id: 'wharf', jsonrpc: '2.0', result: { version: '1.36.0' } })),
    qBittorrent: (request, response) =>
      response.end({ '/api/v2/app/version': 'v4.5.2', '/api/v2/app/webapiVersion': '2.8.19' }[request.url ?? ''] ?? 'Ok.'),
    Transmission: (_request, response) =>
      response.end(json({ result: 'success', arguments: { version: '3.00', 'rpc-version': 16, 'rpc-version-minimum': 1 } })),
  };

  it.each(NAMES)('is taken at its word: %s', async (tool) => {
    const server = createServer((request, response) => void request.resume().on('end', () => versions[tool](request, response)));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const bound = server.address();
    const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}/`;
    expect(await probeTool({ ask, toolsDir: toolsDir.path, proxy }, { tool, url, secret: '' }, new AbortController().signal)).toMatch(/\d/);
    server.closeAllConnections();
    server.close();
  });
});

it('a folder that the downloader cannot write to is an error', async () => {
  const server = createServer((_request, response) => response.end(JSON.stringify({ jsonrpc: '2.0', result: { version: '1.36.0' } })));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}/`;
  const file = join(toolsDir.path, 'file');
  await writeFile(file, '');
  const context = { ask, toolsDir: file, proxy };
  expect(await probeTool(context, { tool: 'aria2', url, secret: '' }, new AbortController().signal).catch(AppError.from)).toMatchObject({
    message: `the downloader cannot write to ${file} (WHARF_TOOLS_DIR)`,
  });
  server.closeAllConnections();
  server.close();
});
