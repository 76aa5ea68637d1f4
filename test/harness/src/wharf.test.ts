import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { httpRequest } from './http.ts';
import { makeTempDir } from './temp-dir.ts';
import { parseListening, startWharf } from './wharf.ts';

/** Stands in for Wharf: keeps the contract of its start (environment, log line, /ping, SIGTERM) and tells its environment. */
const PROGRAM = `
import { createServer } from 'node:http';
const other = createServer((request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1', () => say(other));
const gateway = createServer((request, response) => response.end(request.url === '/ping' ? 'pong' : JSON.stringify(process.env)));
gateway.listen(Number(process.env.WHARF_HTTP_PORT), '127.0.0.1', () => say(gateway));
const say = (server) => console.log(JSON.stringify({ level: 30, msg: 'listening', url: 'http://127.0.0.1:' + server.address().port }));
process.on('SIGTERM', () => process.exit(0));
`;
const dir = await makeTempDir('program');
const program = join(dir.path, 'main.mjs');
await writeFile(program, PROGRAM);
afterAll(() => dir.remove());

it('Wharf starts in folders of its own, on a port of its choice, without our environment', async () => {
  process.env['WHARF_EGRESS_ALLOW'] = '10.0.0.0/8';
  const wharf = await startWharf(program, { WHARF_GRPC_PORT: '0' }, { env: { WHARF_TOKEN_HOURS: '1' } });
  delete process.env['WHARF_EGRESS_ALLOW'];
  const env = (await httpRequest(wharf.base, { path: '/' })).json();
  expect(env).toMatchObject({
    WHARF_DATA_DIR: wharf.dataDir,
    WHARF_FILES_DIR: wharf.filesDir,
    WHARF_ADMIN_PASSWORD: wharf.adminPassword,
    WHARF_SECRET: expect.stringMatching(/^[0-9a-f]{64}$/),
    WHARF_GRPC_PORT: '0',
    WHARF_TOKEN_HOURS: '1',
  });
  expect(env).not.toHaveProperty('WHARF_EGRESS_ALLOW');
  expect(existsSync(wharf.dataDir)).toBe(true);
  expect(await wharf.stop()).toEqual({ code: 0, signal: null });
  expect(existsSync(wharf.dataDir)).toBe(false);
});

it('a killed Wharf starts again on the same port and folders', async () => {
  const wharf = await startWharf(program, {}, {});
  const { base, dataDir, pid } = wharf;
  await writeFile(join(dataDir, 'kept'), '');
  expect(await wharf.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  await wharf.restart({ env: { WHARF_SITE_URL: 'https://files.example.org' } });
  expect(wharf.pid).not.toBe(pid);
  expect((await httpRequest(base, { path: '/' })).json()).toMatchObject({
    WHARF_DATA_DIR: dataDir,
    WHARF_SITE_URL: 'https://files.example.org',
  });
  expect(existsSync(join(dataDir, 'kept'))).toBe(true);
  expect(wharf.log().match(/listening/g)?.length).toBeGreaterThanOrEqual(3);
  await wharf.stop();
});

it.each([
  ['{"level":30,"msg":"listening","url":"http://127.0.0.1:5244"}', 'http://127.0.0.1:5244'],
  ['{"msg":"listening","url":"http://0.0.0.0:80/"}', 'http://127.0.0.1:80'],
  ['{"msg":"listening","url":"http://[::1]:99"}', 'http://[::1]:99'],
  ['{"msg":"listening","url":"grpc://127.0.0.1:1"}', undefined],
  ['{"msg":"started","url":"http://127.0.0.1:1"}', undefined],
  ['{"msg":"listening"', undefined],
  ['listening on http://127.0.0.1:5244', undefined],
])('the log line %s means the origin %s', (line, origin) => {
  expect(parseListening(line)).toBe(origin);
});
