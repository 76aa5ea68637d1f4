import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { at, httpRequest } from '@wharf/harness';
import { atMostRatio, atMostTimes, type Budget, bytesPerCpuSecond, p50Below, p99AtMost, shareOfPeer } from './budget.ts';
import type { Fixture } from './fixture.ts';
import type { LoadAmount, LoadRequest, LoadResult } from './load.ts';
import type { Server } from './servers.ts';
import type { WharfServer } from './wharf-server.ts';

/** A server and what it is asked. */
export interface Contender {
  readonly server: Server;
  readonly request: LoadRequest;
  /** A folder that changes all the time meanwhile, so that nothing of it can be kept. */
  readonly unsettled?: string;
  /** What has to be so before a round; it is not measured. */
  readonly prepare?: () => Promise<void>;
  /** Work that is more than requests: does a round by itself. */
  readonly drive?: () => Promise<LoadResult>;
  /** What others ask of it meanwhile. */
  readonly beside?: LoadRequest & LoadAmount;
}

/** One line of work that several servers do in turn. */
export interface Work {
  readonly name: WorkName;
  readonly title: string;
  readonly amount: LoadAmount;
  readonly warmUpRequests: number;
  readonly contenders: readonly Contender[];
  /** Name of the server that the ratios are to. */
  readonly peer?: string;
  /** What standalone may cost. */
  readonly budget?: Budget;
  /** The server that the budget is for; standalone by default. */
  readonly judged?: string;
  /** Counted in bytes rather than in requests. */
  readonly isTransfer?: true;
}

export const WORKS = [
  'me',
  'list-30',
  'list-1000',
  'page',
  'page-50',
  'page-uncached',
  'list-all',
  'get',
  'link',
  'download',
  'range',
  'upload',
  'parts',
  'parts-4',
  'download-many',
  'upload-many',
  'login',
  'list-beside-logins',
  'search',
  'search-store',
  'copy-many',
  'tasks',
  'fetch',
  'fetch-replicas',
  'blocked',
  'remote',
] as const;
export type WorkName = (typeof WORKS)[number];

/** Everything that runs. */
export interface Field {
  readonly wharfs: readonly WharfServer[];
  /** Those that take nothing but bytes. */
  readonly direct: readonly WharfServer[];
  readonly express: Server;
  readonly node: Server;
  readonly nginx: Server | undefined;
  readonly rclone: Server | undefined;
}

const CONNECTIONS = 8;
const ROUND_LIMIT_MS = 15_000;
const TRANSFER_LIMIT_MS = 60_000;
const RIGHT = '{"code":200,';

/** Prepares all works: asks Wharf for links, and gives Express the answers it is to repeat. */
export async function prepareWorks(field: Field, fixture: Fixture, isQuick: boolean): Promise<Work[]> {
  const { express, node, nginx, rclone } = field;
  const { entries, sizeBytes } = fixture;
  const amount = (requests: number): LoadAmount => ({
    connections: CONNECTIONS,
    requests: Math.max(CONNECTIONS, isQuick ? Math.ceil(requests / 4) : requests),
    limitMs: ROUND_LIMIT_MS,
  });
  // V8 goes on compiling what is hot for so many small requests, which a server in use has long behind it.
  const settledCode = isQuick ? 1_000 : 15_000;
  const one = (limitMs: number): LoadAmount => ({ connections: 1, requests: 1, limitMs });
  const wharfs = (make: (wharf: WharfServer) => LoadRequest): Contender[] =>
    field.wharfs.map((server) => ({ server, request: make(server) }));
  const carriers = [...field.wharfs, ...field.direct];
  const byBytes = (make: (wharf: WharfServer) => LoadRequest): Contender[] => carriers.map((server) => ({ server, request: make(server) }));
  const peers = (servers: ReadonlyArray<Server | undefined>, request: LoadRequest): Contender[] =>
    servers.flatMap((server) => (server ? [{ server, request }] : []));
  const ping = peers([express], getting('/ping', { prefix: 'pong' }));
  const listing = (path: string, page: { page: number; per_page: number }) => (wharf: WharfServer) =>
    posting(wharf, '/api/fs/list', { path, password: '', refresh: false, ...page });
  const everything = { page: 1, per_page: 0 };
  /** The same bytes from Express, the same folder from rclone. */
  const listPeers = async (folder: string): Promise<Contender[]> => [
    ...(await sameBytes(field, folder, listing(`/local/${folder}`, everything))),
    ...peers([rclone], getting(`/${folder}/`, {})),
  ];
  const smallLinks = await linksOf(carriers, '/local/small.bin');
  const bigLinks = await linksOf(carriers, '/local/big.bin');
  const linked = (links: ReadonlyMap<WharfServer, string>, bytes: number, headers: LoadRequest['headers'] = {}) =>
    byBytes((wharf) => getting(links.get(wharf) ?? '', { sizeBytes: bytes }, headers));
  const manyNames = await readdir(join(fixture.filesDir, 'many'));
  const manyLinks = await Promise.all(carriers.map(async (wharf) => ({ wharf, paths: await wharf.linksIn('/local/many') })));
  const many: LoadAmount = { connections: CONNECTIONS, requests: entries.many, limitMs: TRANSFER_LIMIT_MS };
  const overHttp = (servers: ReadonlyArray<Server | undefined>, file: string, bytes: number) =>
    peers(servers, getting(`/${file}`, { sizeBytes: bytes }));

  return [
    {
      name: 'me',
      title: 'GET /api/me',
      amount: amount(10_000),
      warmUpRequests: settledCode,
      contenders: [...wharfs((wharf) => getting('/api/me', { prefix: RIGHT }, { authorization: wharf.token })), ...ping],
      peer: 'express',
      budget: atMostRatio(2),
    },
    {
      name: 'list-30',
      title: `list of ${entries.small}`,
      amount: amount(5_000),
      warmUpRequests: 1_000,
      contenders: [...wharfs(listing('/local/small', everything)), ...(await listPeers('small'))],
      peer: 'express',
      budget: atMostRatio(3),
    },
    {
      name: 'list-1000',
      title: `list of ${entries.medium.toLocaleString('en')}`,
      amount: amount(500),
      warmUpRequests: 100,
      contenders: [...wharfs(listing('/local/medium', everything)), ...(await listPeers('medium'))],
      peer: 'express',
      budget: atMostRatio(2.5),
    },
    {
      name: 'page',
      title: `first 100 of ${entries.large.toLocaleString('en')}`,
      amount: amount(2_000),
      warmUpRequests: 50,
      contenders: wharfs(listing('/local/large', { page: 1, per_page: 100 })),
      budget: atMostTimes({ cpuMs: 2, p50Ms: 10 }),
    },
    {
      name: 'page-50',
      title: `first 50 of ${entries.large.toLocaleString('en')}`,
      amount: amount(2_000),
      warmUpRequests: 50,
      contenders: wharfs(listing('/local/large', { page: 1, per_page: 50 })),
      budget: p50Below(10),
    },
    {
      name: 'page-uncached',
      title: `first 50 of ${entries.large.toLocaleString('en')}, uncached`,
      amount: { connections: 1, requests: 5, limitMs: ROUND_LIMIT_MS },
      warmUpRequests: 1,
      contenders: [
        ...wharfs(listing('/local/large', { page: 1, per_page: 50 })),
        ...peers([node], getting('/looks/large', { prefix: 'entries: ' })),
      ].map((contender) => ({ ...contender, unsettled: join(fixture.filesDir, 'large') })),
      peer: 'node',
      budget: atMostRatio(1.5),
    },
    {
      name: 'list-all',
      title: `list of ${entries.large.toLocaleString('en')}`,
      amount: { connections: 1, requests: 3, limitMs: ROUND_LIMIT_MS },
      warmUpRequests: 1,
      contenders: [...wharfs(listing('/local/large', everything)), ...(await listPeers('large'))],
      peer: 'express',
    },
    {
      name: 'get',
      title: 'get of a file beside 29',
      amount: amount(10_000),
      warmUpRequests: settledCode,
      contenders: [
        ...wharfs((wharf) => posting(wharf, '/api/fs/get', { path: '/local/small/holiday picture 000007.jpg', password: '' })),
        ...ping,
      ],
      peer: 'express',
      budget: atMostRatio(4),
    },
    {
      name: 'link',
      title: '4 KiB file by its link',
      amount: amount(10_000),
      warmUpRequests: settledCode,
      contenders: [...linked(smallLinks, sizeBytes.small), ...ping, ...overHttp([node, nginx, rclone], 'small.bin', sizeBytes.small)],
      peer: 'express',
      budget: atMostRatio(2.5),
    },
    {
      name: 'download',
      title: `download of ${sizeBytes.big / 1024 ** 2} MiB`,
      amount: one(TRANSFER_LIMIT_MS),
      warmUpRequests: 1,
      contenders: [...linked(bigLinks, sizeBytes.big), ...overHttp([node, nginx, rclone], 'big.bin', sizeBytes.big)],
      peer: 'node',
      budget: shareOfPeer(0.9),
      isTransfer: true,
    },
    {
      name: 'range',
      title: '1 MiB from the middle of that file',
      amount: amount(1_000),
      warmUpRequests: 100,
      contenders: [
        ...linked(bigLinks, RANGE_BYTES, A_RANGE),
        ...peers([node, nginx, rclone], getting('/big.bin', { sizeBytes: RANGE_BYTES }, A_RANGE)),
      ],
      peer: 'node',
      isTransfer: true,
    },
    {
      name: 'upload',
      title: `upload of ${sizeBytes.big / 1024 ** 2} MiB`,
      amount: { connections: 1, requests: 3, limitMs: TRANSFER_LIMIT_MS },
      warmUpRequests: 2,
      contenders: [
        ...byBytes((wharf) => putting('/api/fs/put', wharf, sizeBytes.big)),
        { server: node, request: { method: 'PUT', path: '/uploaded.bin', headers: {}, body: sizeBytes.big, expect: {} } },
        ...peers([nginx], { method: 'PUT', path: '/uploads/nginx.bin', headers: {}, body: sizeBytes.big, expect: {} }),
      ],
      peer: 'node',
      budget: bytesPerCpuSecond(770e6),
      isTransfer: true,
    },
    {
      name: 'download-many',
      title: `download of ${entries.many.toLocaleString('en')} x 10 KiB`,
      amount: many,
      warmUpRequests: 100,
      contenders: [
        ...manyLinks.map(({ wharf, paths }) => ({ server: wharf, request: getting(paths, { sizeBytes: sizeBytes.each }) })),
        ...peers(
          [node, nginx],
          getting(
            manyNames.map((name) => `/many/${encodeURIComponent(name)}`),
            { sizeBytes: sizeBytes.each },
          ),
        ),
      ],
      peer: 'node',
    },
    {
      name: 'upload-many',
      title: `upload of ${entries.many.toLocaleString('en')} x 10 KiB`,
      amount: many,
      warmUpRequests: 100,
      contenders: [
        ...byBytes((wharf) => putting('/api/fs/put', wharf, sizeBytes.each, '/local/uploads/{n}.bin')),
        { server: node, request: { method: 'PUT', path: '/{n}.bin', headers: {}, body: sizeBytes.each, expect: {} } },
      ],
      peer: 'node',
    },
    {
      name: 'login',
      title: 'login',
      amount: { ...amount(40), connections: 2 },
      warmUpRequests: 4,
      contenders: wharfs(loggingIn),
    },
    {
      name: 'list-beside-logins',
      title: `list of ${entries.small} beside ${PARALLEL_LOGINS} logins at once`,
      amount: { ...amount(1_000), connections: 1 },
      warmUpRequests: 100,
      contenders: field.wharfs.flatMap((server) => {
        const request = listing('/local/small', everything)(server);
        const beside = { ...loggingIn(server), connections: PARALLEL_LOGINS, requests: PARALLEL_LOGINS * 2, limitMs: ROUND_LIMIT_MS };
        return [
          { server, request, beside },
          { server: { ...server, name: calm(server.name) }, request },
        ];
      }),
      peer: calm('standalone'),
      budget: p99AtMost(3),
    },
  ];
}

const RANGE_BYTES = 1024 * 1024;
const A_RANGE = { range: `bytes=${5 * RANGE_BYTES}-${6 * RANGE_BYTES - 1}` };
const PARALLEL_LOGINS = 50;
/** The same server with nobody else around. */
const calm = (name: string) => `${name}, calm`;
const loggingIn = (wharf: WharfServer) => posting(wharf, '/api/auth/login', { username: 'admin', password: wharf.adminPassword });

function getting(path: LoadRequest['path'], expect: LoadRequest['expect'], headers: LoadRequest['headers'] = {}): LoadRequest {
  return { method: 'GET', path, headers, expect };
}

function posting(wharf: WharfServer, path: string, body: unknown): LoadRequest {
  const headers = { 'content-type': 'application/json', authorization: wharf.token };
  return { method: 'POST', path, headers, body: JSON.stringify(body), expect: { prefix: RIGHT } };
}

function putting(path: string, wharf: WharfServer, sizeBytes: number, target = '/local/uploaded.bin'): LoadRequest {
  const headers = { authorization: wharf.token, 'file-path': target, overwrite: 'true' };
  return { method: 'PUT', path, headers, body: sizeBytes, expect: { prefix: RIGHT } };
}

/** Gives Express the answer of the first Wharf, parsed; it writes it again for each request. */
async function sameBytes({ wharfs, express }: Field, name: string, ask: (wharf: WharfServer) => LoadRequest): Promise<Contender[]> {
  const [wharf] = wharfs;
  if (!wharf) return [];
  const { method, path, headers, body } = ask(wharf);
  if (typeof path !== 'string') return [];
  const answer = await httpRequest(wharf.base, { method, path, headers, ...(typeof body === 'string' ? { body } : {}) });
  if (at(answer.json(), 'code') !== 200) throw new Error(`${path} answered ${answer.text().slice(0, 300)}`);
  await httpRequest(express.base, {
    method: 'PUT',
    path: `/json/${name}`,
    headers: { 'content-type': 'application/json', 'content-length': answer.body.length },
    body: answer.body,
  });
  return [{ server: express, request: getting(`/json/${name}`, { prefix: RIGHT, sizeBytes: answer.body.length }) }];
}

async function linksOf(wharfs: readonly WharfServer[], path: string): Promise<ReadonlyMap<WharfServer, string>> {
  const links = new Map<WharfServer, string>();
  for (const wharf of wharfs) links.set(wharf, await wharf.linkTo(path));
  return links;
}
