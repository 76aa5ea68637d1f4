import { at, httpRequest } from '@wharf/harness';
import { shareOfPeer } from './budget.ts';
import type { Fixture } from './fixture.ts';
import type { LoadAmount, LoadGenerator, LoadResult } from './load.ts';
import type { Server } from './servers.ts';
import type { WharfServer } from './wharf-server.ts';
import type { Contender, Work, WorkName } from './works.ts';

const LIMIT_MS = 120_000;
/** What the setting `multipart_chunk_size` is from the beginning. */
const PART_BYTES = 10 * 1024 * 1024;
/** As the documents of tus-js-client and Uppy advise behind proxies. */
const TUS_PIECE_BYTES = 10 * 1024 * 1024;
const TUS = { 'tus-resumable': '1.0.0' };

/** One big file in parts and by tus, beside `put`, which the ratios are to, and tusd. */
export function preparePartWorks(options: {
  readonly wharfs: readonly WharfServer[];
  readonly tusd: Server | undefined;
  readonly fixture: Fixture;
  readonly generator: LoadGenerator;
}): Work[] {
  const { wharfs, tusd, fixture, generator } = options;
  const bytes = fixture.sizeBytes.big;
  const only: LoadAmount = { connections: 1, requests: 1, limitMs: LIMIT_MS };
  const workOf = (server: WharfServer, name: WorkName, connections: number): Work => {
    const caller = { authorization: server.token };
    const put = { ...putting(server), ...only, base: server.base, body: bytes };
    const contenders = [
      contender(server, 'put', () => generator.run(put)),
      contender(server, 'parts', () => inParts(generator, { server, caller, bytes, connections })),
    ];
    const isOne = connections === 1;
    if (isOne)
      contenders.push(
        contender(server, 'tus', () => byTus(generator, { server, address: '/api/fs/tus', headers: { ...caller, ...TARGET }, bytes })),
      );
    if (isOne && tusd)
      contenders.push({
        ...contender(tusd, 'tus', () => byTus(generator, { server: tusd, address: '/files/', headers: {}, bytes })),
        server: tusd,
      });
    return {
      name,
      title: `${bytes / 1024 ** 2} MiB in parts, ${connections} at a time, ${server.name}`,
      amount: only,
      warmUpRequests: 1,
      contenders,
      peer: named(server.name, 'put'),
      judged: named(server.name, 'parts'),
      budget: shareOfPeer(0.9),
      isTransfer: true,
    };
  };
  return wharfs.flatMap((server) => [workOf(server, 'parts', 1), workOf(server, 'parts-4', 4)]);
}

const TARGET = { 'file-path': '/local/uploaded.bin' };
const named = (server: string, how: string) => `${server}, ${how}`;

function contender(server: Server, how: string, drive: () => Promise<LoadResult>): Contender {
  return {
    server: { ...server, name: named(server.name, how) },
    request: { method: 'GET', path: '/', headers: {}, expect: {} },
    drive,
  };
}

function putting({ token }: WharfServer) {
  const headers = { authorization: token, ...TARGET, overwrite: 'true' };
  return { method: 'PUT', path: '/api/fs/put', headers, expect: { prefix: '{"code":200,' } } as const;
}

/** An upload, of which the parts alone go over several connections. */
async function inParts(
  generator: LoadGenerator,
  { server, caller, bytes, connections }: { server: Server; caller: { authorization: string }; bytes: number; connections: number },
): Promise<LoadResult> {
  const startedAt = performance.now();
  const post = async (name: string, headers: Record<string, string>) => {
    const answer = await httpRequest(server.base, {
      method: 'POST',
      path: `/api/fs/multipart/${name}`,
      headers: { ...caller, ...headers },
    });
    if (at(answer.json(), 'code') !== 200) throw new Error(`${name} answered ${answer.text().slice(0, 300)}`);
    return at(answer.json(), 'data');
  };
  const data = await post('init', { ...TARGET, 'x-file-size': String(bytes), 'x-chunk-size': String(PART_BYTES) });
  const upload = { 'x-upload-id': String(at(data, 'upload_id')) };
  const partBytes = Number(at(data, 'chunk_size'));
  const whole = Math.floor(bytes / partBytes);
  const part = (first: string, body: number, requests: number) => ({
    ...{ base: server.base, method: 'PUT', path: '/api/fs/multipart/chunk', body, expect: { prefix: '{"code":200,' } },
    ...{ headers: { ...caller, ...upload, 'x-chunk-index': first }, connections, requests, limitMs: LIMIT_MS },
  });
  const sent = [await generator.run(part('{n}', partBytes, whole))];
  if (bytes > whole * partBytes) sent.push(await generator.run(part(String(whole), bytes - whole * partBytes, 1)));
  await post('complete', upload);
  return resultOf(startedAt, bytes, sent);
}

async function byTus(
  generator: LoadGenerator,
  { server, address, headers, bytes }: { server: Server; address: string; headers: Record<string, string>; bytes: number },
): Promise<LoadResult> {
  const startedAt = performance.now();
  const begun = await httpRequest(server.base, {
    method: 'POST',
    path: address,
    headers: { ...TUS, ...headers, 'upload-length': String(bytes) },
  });
  if (begun.status !== 201) throw new Error(`${server.name} answered ${begun.status} ${begun.text()}`);
  const { pathname } = new URL(String(begun.headers['location']), server.base + address);
  const sent: LoadResult[] = [];
  for (let from = 0; from < bytes; from += TUS_PIECE_BYTES)
    sent.push(
      await generator.run({
        ...{ base: server.base, method: 'PATCH', path: pathname, body: Math.min(TUS_PIECE_BYTES, bytes - from), expect: {} },
        headers: { ...TUS, ...headers, 'upload-offset': String(from), 'content-type': 'application/offset+octet-stream' },
        ...{ connections: 1, requests: 1, limitMs: LIMIT_MS },
      }),
    );
  return resultOf(startedAt, bytes, sent);
}

function resultOf(startedAt: number, bodyBytes: number, sent: readonly LoadResult[]): LoadResult {
  const elapsedMs = performance.now() - startedAt;
  const failure = sent.find((each) => each.failure !== undefined)?.failure;
  return { requests: 1, elapsedMs, bodyBytes, p50Ms: elapsedMs, p99Ms: elapsedMs, ...(failure !== undefined && { failure }) };
}
