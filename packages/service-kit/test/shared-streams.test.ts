import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { startFaultProxy, waitFor } from '@wharf/harness';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Identity } from '../src/identity/identity.ts';
import { outgoingCall } from '../src/rpc/call.ts';
import { type GrpcServer, startGrpcServer } from '../src/rpc/grpc-server.ts';
import { defineRpcService, forServices, forUsers, notImplemented, type RpcService } from '../src/rpc/service.ts';
import { openSharing, tokens } from './sharing.ts';

const user: Identity = { kind: 'user', id: 7, username: 'ünn', role: 0, permission: 8, basePath: '/', sessionId: 's' };
const stated = { identity: user, requestId: 'r', revisions: { auth: 3, admin: 4 } };
const as = (signal?: AbortSignal) => outgoingCall(tokens, { ...stated, ...(signal && { signal }) });

/** How often a server is replaced. */
const ROUNDS = 4;

const closers: (() => unknown)[] = [];
const open: typeof openSharing = (ports, options) => {
  const opened = openSharing(ports, options);
  closers.push(opened.close);
  return opened;
};
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const serve = async (services: RpcService[], options: { port?: number; streamAgeMs?: number; silenceMs?: number } = {}) => {
  const onUnforeseen = (error: unknown) => void expect.soft(error).toBeUndefined();
  const server = await startGrpcServer({ services, host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen, ...options });
  closers.push(() => server.stop(500));
  return server;
};

/** Notes each download that it begins; it takes as many milliseconds as its path says. */
function notingDownloader(begun: string[], onCancelled = () => {}) {
  return defineRpcService(DownloaderServiceDefinition, {
    addDownloads: forUsers(async ({ urls: [url = ''], path }, { signal }) => {
      begun.push(url);
      signal.addEventListener('abort', onCancelled);
      await delay(Number(path), undefined, { signal }).catch(() => {
        throw new AppError('CANCELLED', 'cancelled');
      });
      return {};
    }),
    listTools: forUsers(async () => ({ names: ['SimpleHttp'] })),
    probeTool: forServices(notImplemented),
  });
}

/** Lists without an end. @param onEnd is told when the handler of one has ended */
function endlessLists(onEnd: () => void): RpcService {
  const listEntries = forUsers(async function* () {
    try {
      for (;;) yield { entries_utf8: Buffer.alloc(100_000, 'x') };
    } finally {
      onEnd();
    }
  });
  return { definition: FsServiceDefinition, methods: { listEntries } };
}

describe('shared streams', () => {
  it(
    'carry every change once, while streams retire, connections end and servers are replaced',
    async () => {
      const begun: string[] = [];
      const age = { streamAgeMs: 150 };
      const services = [notingDownloader(begun)];
      const servers: GrpcServer[] = [await serve(services, age), await serve(services, age)];
      const ports = servers.map(({ port }) => port);
      const { client, counts, broken } = open(ports);
      const downloader = client<DownloaderServiceClient>(DownloaderServiceDefinition);
      let isOver = false;
      let asked = 0;
      const failures: unknown[] = [];
      const ask = async () => {
        while (!isOver) {
          asked += 1;
          const path = String(asked % 50 === 0 ? 400 : asked % 7);
          await downloader.addDownloads({ urls: [`${asked}`], path }, as()).catch((error: unknown) => failures.push(error));
        }
      };
      const asking = Array.from({ length: 12 }, ask);
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = asked;
        const which = round % 2;
        await servers[which]?.stop(10_000);
        servers[which] = await serve(services, { ...age, port: ports[which] ?? 0 });
        await waitFor('calls after a restart', () => asked > before + 400);
      }
      isOver = true;
      await Promise.all(asking);
      expect(failures).toEqual([]);
      expect(begun.length).toBe(asked);
      expect(new Set(begun).size).toBe(asked);
      expect(broken).toEqual([]);
      expect(asked - counts.alone, 'calls on streams').toBeGreaterThan(100);
    },
    60_000 + ROUNDS * 20_000,
  );

  it('carry calls of one turn in one message, and many of them over all streams', async () => {
    const { port } = await serve([notingDownloader([])]);
    const { client, counts, untilShared } = open([port], { mayGoAlone: false });
    const downloader = client<DownloaderServiceClient>(DownloaderServiceDefinition);
    await untilShared();
    const messagesOf = async (calls: number) => {
      const before = counts.messages;
      await Promise.all(Array.from({ length: calls }, () => downloader.listTools({}, as())));
      return counts.messages - before;
    };
    await waitFor('four streams', () => messagesOf(32).then((messages) => messages === 4));
    expect(await messagesOf(8)).toBe(1);
    expect(await messagesOf(320)).toBe(4);
  });

  it('hand a cancelled call on, and nothing else', async () => {
    const begun: string[] = [];
    let cancelled = 0;
    const { port } = await serve([
      notingDownloader(begun, () => {
        cancelled += 1;
      }),
    ]);
    const { client, untilShared } = open([port], { mayGoAlone: false });
    const downloader = client<DownloaderServiceClient>(DownloaderServiceDefinition);
    await untilShared();
    const abort = new AbortController();
    const left = downloader.addDownloads({ urls: ['left'], path: '60000' }, as(abort.signal));
    const kept = Array.from({ length: 20 }, (_, i) =>
      downloader.addDownloads({ urls: [`${i}`], path: '200' }, as(new AbortController().signal)),
    );
    await waitFor('all to begin', () => begun.length === 21);
    abort.abort();
    await expect(left).rejects.toMatchObject({ code: 'CANCELLED' });
    await Promise.all(kept);
    await waitFor('the server to hear of it', () => cancelled === 1);
  });

  it('answer small calls beside a big answer that nobody takes, of which they hold only a window', async () => {
    let given = 0;
    const fs: RpcService = {
      definition: FsServiceDefinition,
      methods: {
        listEntries: forUsers(async function* () {
          for (; given < 300; given += 1) yield { entries_utf8: Buffer.alloc(100_000, 'x') };
        }),
        getEntry: forUsers(async () => ({ name: 'a' })),
      },
    };
    const { port } = await serve([fs]);
    const { client, untilShared } = open([port], { mayGoAlone: false });
    const entries = client<FsServiceClient>(FsServiceDefinition);
    await untilShared();
    const lists = Array.from({ length: 4 }, () => entries.listEntries({}, as())[Symbol.asyncIterator]());
    for (const list of lists) await list.next();
    for (let i = 0; i < 50; i += 1) expect((await entries.getEntry({ path: '/a' }, as())).name).toBe('a');
    expect(given).toBeLessThan(4 * 10);
    for (const list of lists) await list.return?.();
    given = 0;
    let bytes = 0;
    for await (const { entries_utf8 } of entries.listEntries({}, as())) bytes += entries_utf8.length;
    expect(bytes).toBe(300 * 100_000);
  });

  it.each([
    ['on shared streams', 0],
    ['that go alone', 1],
  ])('end answers %s to callers who stand still, or whose network is gone', async (_how, alone) => {
    let ended = 0;
    const { port } = await serve([endlessLists(() => (ended += 1))], { silenceMs: 1_000 });
    const proxy = await startFaultProxy({ to: { host: '127.0.0.1', port } });
    closers.push(() => proxy.stop());
    const { client, counts, untilShared } = open([proxy.port]);
    const entries = client<FsServiceClient>(FsServiceDefinition);
    if (alone === 0) await untilShared();
    const list = entries.listEntries({}, as())[Symbol.asyncIterator]();
    await list.next();
    expect(counts.alone).toBe(alone);
    expect(ended).toBe(0);
    proxy.stall();
    await waitFor('the answer to end', () => ended === 1);
  });

  it('tell of a connection that breaks: reads are asked again, changes that were begun are not', async () => {
    const begun: string[] = [];
    const { port } = await serve([notingDownloader(begun)]);
    const proxy = await startFaultProxy({ to: { host: '127.0.0.1', port } });
    closers.push(() => proxy.stop());
    const { client, untilShared, broken } = open([proxy.port]);
    const downloader = client<DownloaderServiceClient>(DownloaderServiceDefinition);
    await untilShared();
    const change = downloader.addDownloads({ urls: ['once'], path: '60000' }, as());
    change.catch(() => {});
    await waitFor('it to begin', () => begun.length === 1);
    const read = downloader.listTools({}, as());
    proxy.breakAll();
    await expect(change).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: 'a service cannot be reached' });
    expect((await read).names).toEqual(['SimpleHttp']);
    expect(begun).toEqual(['once']);
    expect(broken.length).toBeGreaterThanOrEqual(1);
  });
});

it('an answer with a number that is too large is an error of its call alone', async () => {
  const methods = Object.fromEntries(Object.keys(FsServiceDefinition.methods).map((name) => [name, forUsers(notImplemented)]));
  const listStorageSpace = forUsers(async () => ({ storages: [{ id: 1, total_bytes: 2 ** 60, free_bytes: 0 }] }));
  const server = await serve([{ definition: FsServiceDefinition, methods: { ...methods, listStorageSpace } }]);
  const sharing = open([server.port], { mayGoAlone: false });
  const fs = sharing.client<FsServiceClient>(FsServiceDefinition);
  await sharing.untilShared();
  await expect(fs.listStorageSpace({}, as())).rejects.toMatchObject({ code: 'INTERNAL' });
});
