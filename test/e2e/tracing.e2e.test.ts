import { randomBytes } from 'node:crypto';
import {
  at,
  httpRequest,
  login,
  type ReceivedSpan,
  startServices,
  startStandalone,
  startTraceReceiver,
  type TraceReceiver,
  waitFor,
} from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { put, rawPath } from './support/files.ts';
import { type SourceServer, startSourceServer } from './support/source-server.ts';
import { openWorld, type World } from './support/world.ts';

/** Names and texts that a trace must not tell. */
const SECRETS = { folder: 'a-private-folder', file: 'a-private-file.bin', password: 'source-password', query: 'signed-by-the-source' };

/** What a download passes between its request and the file. */
const HAND_OVER = ['wharf.downloader.v1.DownloaderService/AddDownloads', 'wharf.fs.v1.WriteService/CheckTarget'];
const STORED = ['wharf.fs.v1.WriteService/OpenWrite', 'Local writeRange', 'wharf.fs.v1.WriteService/CommitWrite', 'Local publish'];

describe.each([
  ['standalone', startStandalone, ['wharf'], []],
  ['five processes', startServices, ['wharf-api-gateway', 'wharf-downloader', 'wharf-fs'], ['PUT /internal/writes/*']],
] as const)('traces, %s', (_shape, start, services, between) => {
  let receiver: TraceReceiver;
  let source: SourceServer;
  let world: World;

  beforeAll(async () => {
    receiver = await startTraceReceiver();
    source = await startSourceServer();
    source.files.set(`/${SECRETS.file}`, randomBytes(3_000_000));
    world = await openWorld(start, { env: { ...receiver.env, WHARF_EGRESS_ALLOW: '127.0.0.1', WHARF_LOG_LEVEL: 'debug' } });
  });
  afterAll(async () => {
    await world?.close();
    await source?.close();
    await receiver?.stop();
  });

  const namesOf = (trace: readonly ReceivedSpan[]) => new Set(trace.map(({ name }) => name));
  const ofRoute = (name: string) => (span: ReceivedSpan) => span.name === name && span.parentSpanId === '';

  test('an offline download is one trace, from its request until it is stored', async () => {
    const { path } = await world.folder(SECRETS.folder);
    const url = `http://somebody:${SECRETS.password}@127.0.0.1:${new URL(source.url).port}/${SECRETS.file}?signature=${SECRETS.query}`;
    const wanted = { urls: [url], path, tool: 'SimpleHttp', delete_policy: 'delete_never' };
    const id = at(await world.admin.call('/api/fs/add_offline_download', wanted), 'tasks', 0, 'id');
    const names = ['POST /api/fs/add_offline_download', ...HAND_OVER, 'task offline_download', 'GET source', ...between, ...STORED];
    const trace = await receiver.trace('a whole download', ofRoute('POST /api/fs/add_offline_download'), names);
    expect(trace.find(({ name }) => name === 'task offline_download')?.facts).toMatchObject({
      'wharf.task': id,
      'wharf.task.result': 'succeeded',
    });
    expect(trace.find(({ name }) => name === 'GET source')?.facts).toMatchObject({ 'server.address': '127.0.0.1' });
    expect(trace.map(({ service }) => service)).toEqual(expect.arrayContaining([...services]));
    // Whether the name is taken is asked of the storage.
    expect(trace.filter(({ name, error }) => error !== '' && name !== 'Local stat')).toEqual([]);
  });

  test('a list leads to the calls of its storage', async () => {
    const { path } = await world.folder('listed');
    await put(world.admin, world.base, `${path}/one.txt`, 'one');
    await world.admin.call('/api/fs/list', { path });
    const listed = () => receiver.trace('a whole list', ofRoute('POST /api/fs/list'), ['wharf.fs.v1.FsService/ListEntries']);
    const isOfStorage = (name: string) => /^Local (list|listNames|statMany|stat)$/.test(name);
    // Each process sends its own spans when it likes.
    const trace = await waitFor('the calls of the storage', async () => {
      const spans = await listed();
      return [...namesOf(spans)].some(isOfStorage) ? spans : undefined;
    });
    const root = trace.find(({ parentSpanId }) => parentSpanId === '');
    expect(root?.facts).toMatchObject({ 'http.request.method': 'POST', 'http.route': '/api/fs/list' });
  });

  test('bytes are traced into their storage', async () => {
    const { path } = await world.folder('bytes');
    await put(world.admin, world.base, `${path}/${SECRETS.file}`, 'content');
    await receiver.trace('a whole upload', ofRoute('PUT /api/fs/put'), ['Local writeMany']);
    const link = await rawPath(world.admin, `${path}/${SECRETS.file}`);
    expect((await httpRequest(world.base, { path: link })).text()).toBe('content');
    await receiver.trace('a whole download', ofRoute(`GET ${link.slice(0, 3)}*`), ['Local read']);
  });

  test('what fails says with which error', async () => {
    await world.admin.post('/api/fs/get', { path: '/local/not-there' });
    const isFailed = (span: ReceivedSpan) => span.error !== '' && span.name === 'POST /api/fs/get';
    const trace = await receiver.trace('a failed request', isFailed, ['wharf.fs.v1.FsService/GetEntry']);
    for (const name of ['POST /api/fs/get', 'wharf.fs.v1.FsService/GetEntry'])
      expect(trace.find((span) => span.name === name)).toMatchObject({
        error: 'ENTRY_NOT_FOUND',
        facts: { 'error.type': 'ENTRY_NOT_FOUND' },
      });
  });

  test('a trace of a trusted proxy goes on, and its lines in the log name it', async () => {
    const traceId = randomBytes(16).toString('hex');
    await world.admin.post('/api/fs/list', { path: '/' }, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
    const begun = await waitFor('the span', () =>
      receiver.spans().find((span) => span.traceId === traceId && span.name === 'POST /api/fs/list'),
    );
    expect(begun.parentSpanId).toBe('00f067aa0ba902b7');
    const line = await waitFor('the line', () =>
      world.wharf
        .log()
        .split('\n')
        .find((text) => text.includes(traceId) && text.includes('"route":"/api/fs/list"')),
    );
    expect(JSON.parse(line)).toMatchObject({ msg: 'request', trace_id: traceId, span_id: begun.spanId });
  });

  test('a trace that is not sampled is not sent by anybody', async () => {
    const traceId = randomBytes(16).toString('hex');
    await world.admin.post('/api/fs/list', { path: '/' }, { traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
    await world.admin.post('/api/fs/dirs', { path: '/' });
    await receiver.trace('a later request', ofRoute('POST /api/fs/dirs'), []);
    expect(receiver.text()).not.toContain(traceId);
  });

  test('traces begin with requests and tasks alone, and hold nothing that is secret', () => {
    const begins = new Set(
      receiver
        .spans()
        .filter(({ parentSpanId }) => parentSpanId === '')
        .map(({ name }) => name.split(' ')[0]),
    );
    for (const name of begins) expect(['GET', 'POST', 'PUT', 'task']).toContain(name);
    const { adminPassword } = world.wharf;
    for (const secret of [...Object.values(SECRETS), adminPassword, world.admin.token ?? 'a token', 'sign=', 'Bearer', 'one.txt'])
      expect(receiver.text(), secret).not.toContain(secret);
  });
});

test('what a stranger says of its trace is not believed, at the gateway and at the data plane', async () => {
  const receiver = await startTraceReceiver();
  const wharf = await startServices({ env: receiver.env });
  const admin = await login(wharf.base, 'admin', wharf.adminPassword);
  await put(admin, wharf.base, '/local/one.txt', 'one');
  const link = await rawPath(admin, '/local/one.txt');
  const lines = wharf
    .log()
    .split('\n')
    .filter((line) => line.includes('"service":"fs"') && line.includes('"listening"'));
  const dataPlane = String(at(JSON.parse(lines[0] ?? '{}'), 'url'));
  const traceId = randomBytes(16).toString('hex');
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  for (const base of [wharf.base, dataPlane]) expect((await httpRequest(base, { path: link, headers })).text()).toBe('one');
  await admin.post('/api/fs/list', { path: '/' }, headers);
  const route = `GET ${link.slice(0, 3)}*`;
  const reads = (service: string) => receiver.spans().filter((span) => span.service === service && span.name === route);
  await waitFor('both downloads', () => reads('wharf-fs').length === 2 && reads('wharf-api-gateway').length === 1);
  expect(reads('wharf-fs').filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(1);
  await wharf.stop();
  expect(receiver.text()).not.toContain(traceId);
  await receiver.stop();
});
