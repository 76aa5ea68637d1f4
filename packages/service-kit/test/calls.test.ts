import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { createConnection, type Socket } from 'node:net';
import { AppError, ERROR_CODES, type ErrorCode } from '@wharf/errors';
import { startFaultProxy, waitFor } from '@wharf/harness';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createInternalTokens, type Identity } from '../src/identity/identity.ts';
import { MAX_UNPROVEN_CALLS } from '../src/rpc/bound-unproven.ts';
import { type Call, IDENTITY, outgoingCall } from '../src/rpc/call.ts';
import { createDirectClient } from '../src/rpc/direct-client.ts';
import { createGrpcPeer, type GrpcPeer } from '../src/rpc/grpc-client.ts';
import { type GrpcServer, startGrpcServer } from '../src/rpc/grpc-server.ts';
import { MAX_WATCHERS } from '../src/rpc/health.ts';
import { defineRpcService, forAdmins, forAnyone, forServices, forUsers, notImplemented, type RpcService } from '../src/rpc/service.ts';
import { openSharing, tokens } from './sharing.ts';

const unforeseen: unknown[] = [];
const onUnforeseen = (error: unknown) => unforeseen.push(error);
const seen: Call[] = [];
/** Calls whose caller went away. */
let left = 0;

/** Answers with what its name asks for: an error code, or a stream of many chunks. */
const downloader = defineRpcService(DownloaderServiceDefinition, {
  addDownloads: forUsers(async (request, call) => {
    seen.push(call);
    const [wanted = ''] = request.urls;
    if (wanted in ERROR_CODES)
      throw new AppError(wanted as ErrorCode, `message of ${wanted}`, { details: { id: 7 }, cause: new Error('secret') });
    if (wanted === 'waiting') {
      await once(call.signal, 'abort');
      left += 1;
      call.signal.throwIfAborted();
    }
    if (wanted === 'unforeseen') throw new Error('secret text of a library');
    return {};
  }),
  listTools: forAnyone(async () => ({ names: ['SimpleHttp'] })),
  probeTool: forServices(notImplemented),
});

const fsMethods = Object.fromEntries(Object.keys(FsServiceDefinition.methods).map((name) => [name, forAdmins(notImplemented)]));
const fs: RpcService = {
  definition: FsServiceDefinition,
  methods: {
    ...fsMethods,
    listEntries: forUsers(async function* (request: { per_page: number; path: string }) {
      for (let chunk = 0; chunk < request.per_page; chunk += 1) {
        yield { entries: Array.from({ length: 1_000 }, (_, i) => ({ name: `${chunk}-${i}` })) };
        if (request.path === '/fail') throw new AppError('ENTRY_NOT_FOUND', 'object not found');
      }
    }),
  },
};

interface Clients {
  readonly downloader: DownloaderServiceClient;
  readonly fs: FsServiceClient;
}

const direct: Clients = {
  downloader: createDirectClient(DownloaderServiceDefinition, () => downloader, tokens, onUnforeseen),
  fs: createDirectClient(FsServiceDefinition, () => fs, tokens, onUnforeseen),
};

describe.each(['direct', 'gRPC', 'shared streams'])('calls, %s', (kind) => {
  const servers: GrpcServer[] = [];
  const opened: Pick<GrpcPeer, 'close'>[] = [];
  let clients = direct;

  beforeAll(async () => {
    if (kind === 'direct') return;
    const serve = async <Client extends object>(service: RpcService): Promise<Client> => {
      const server = await startGrpcServer({ services: [service], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
      servers.push(server);
      if (kind === 'shared streams') {
        const sharing = openSharing([server.port]);
        opened.push(sharing);
        await sharing.untilShared();
        return sharing.client(service.definition);
      }
      const peer = createGrpcPeer(`127.0.0.1:${server.port}`, [service.definition]);
      opened.push(peer);
      return peer.client<Client>(service.definition);
    };
    clients = { downloader: await serve(downloader), fs: await serve(fs) };
  });
  afterAll(async () => {
    for (const peer of opened) peer.close();
    for (const server of servers) await server.stop(500);
  });

  const as = (identity: Identity | undefined, signal?: AbortSignal) =>
    outgoingCall(tokens, { identity, requestId: 'r-1', revisions: { auth: 3, admin: 4 }, ...(signal && { signal }) });
  const user: Identity = { kind: 'user', id: 7, username: 'ünn', role: 0, permission: 8, basePath: '/täm', sessionId: 's' };
  const admin: Identity = { ...user, role: 2 };
  const service: Identity = { kind: 'service', name: 'admin' };

  it('the identity, the request id and the revisions arrive', async () => {
    await clients.downloader.addDownloads({}, as(user));
    expect(seen.at(-1)).toMatchObject({ identity: user, requestId: 'r-1', revisions: { auth: 3, admin: 4 } });
  });

  it('an answer has its defaults', async () => {
    expect(await clients.downloader.addDownloads({}, as(user))).toEqual({ tasks: [] });
    expect(await clients.downloader.listTools({}, as(service))).toEqual({ names: ['SimpleHttp'] });
  });

  it.each(Object.keys(ERROR_CODES))('%s arrives with its message and details, without its cause', async (code) => {
    const error = await clients.downloader.addDownloads({ urls: [code] }, as(user)).catch((caught: unknown) => caught);
    expect(AppError.is(error) && [error.code, error.message, error.details]).toEqual([code, `message of ${code}`, { id: 7 }]);
  });

  it('an unforeseen error is INTERNAL without its text, and told to the service', async () => {
    unforeseen.length = 0;
    const error = await clients.downloader.addDownloads({ urls: ['unforeseen'] }, as(user)).catch((caught: unknown) => caught);
    expect(AppError.is(error) && [error.code, error.message]).toEqual(['INTERNAL', 'internal error']);
    expect(unforeseen).toHaveLength(1);
  });

  it('a caller that goes away is nothing unforeseen', async () => {
    const caller = new AbortController();
    const [heard, told] = [seen.length, unforeseen.length];
    left = 0;
    const asked = clients.downloader.addDownloads({ urls: ['waiting'] }, as(user, caller.signal));
    await waitFor('the call to have come', () => seen.length > heard);
    caller.abort();
    await expect(asked).rejects.toSatisfy((error) => AppError.is(error, 'CANCELLED'));
    await waitFor('the service to have heard', () => left === 1);
    expect(unforeseen.slice(told)).toEqual([]);
  });

  it('each guard lets in whom it says', async () => {
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => 'ok',
        (error) => (AppError.is(error) ? error.code : String(error)),
      );
    const matrix = [];
    for (const identity of [undefined, user, admin, service])
      matrix.push([
        await code(clients.downloader.listTools({}, as(identity))),
        await code(clients.downloader.addDownloads({}, as(identity))),
        await code(clients.fs.listDrivers({}, as(identity))),
        await code(clients.downloader.probeTool({}, as(identity))),
      ]);
    expect(matrix).toEqual([
      Array(4).fill('UNAUTHENTICATED'),
      ['ok', 'ok', 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
      ['ok', 'ok', 'UNSUPPORTED_OPERATION', 'PERMISSION_DENIED'],
      ['ok', 'UNAUTHENTICATED', 'UNSUPPORTED_OPERATION', 'UNSUPPORTED_OPERATION'],
    ]);
  });

  it('a forged identity is refused, also where anybody may call', async () => {
    const forged = outgoingCall(
      createInternalTokens(randomBytes(32), () => Date.now()),
      { identity: admin, requestId: '', revisions: { auth: 0, admin: 0 } },
    );
    await expect(clients.downloader.listTools({}, forged)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('a stream brings 200,000 entries in order', async () => {
    let count = 0;
    for await (const { entries } of clients.fs.listEntries({ per_page: 200 }, as(user))) {
      expect(entries[0]?.name).toBe(`${count / 1_000}-0`);
      count += entries.length;
    }
    expect(count).toBe(200_000);
  });

  it('a stream that fails on its way says how', async () => {
    const read = async () => {
      for await (const _ of clients.fs.listEntries({ per_page: 2, path: '/fail' }, as(user)));
    };
    await expect(read()).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND', message: 'object not found' });
  });
});

describe('gRPC', () => {
  it('a service that is not there is STORAGE_UNAVAILABLE', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const { port } = server;
    await server.stop(100);
    const peer = createGrpcPeer(`127.0.0.1:${port}`, [DownloaderServiceDefinition]);
    await expect(peer.client<DownloaderServiceClient>(DownloaderServiceDefinition).listTools({})).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
    peer.close();
  });

  it.for(['grpc_proxy', 'https_proxy', 'http_proxy'])('calls go by no proxy that the environment names (%s)', async (variable) => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: server.port } });
    vi.stubEnv(variable, `http://${proxy.host}:${proxy.port}`);
    vi.stubEnv('no_grpc_proxy', '').stubEnv('no_proxy', '');
    const peer = createGrpcPeer(`127.0.0.1:${server.port}`, [DownloaderServiceDefinition]);
    const call = outgoingCall(tokens, { identity: { kind: 'service', name: 'admin' }, requestId: 'r-1', revisions: { auth: 0, admin: 0 } });
    try {
      expect(await peer.client<DownloaderServiceClient>(DownloaderServiceDefinition).listTools({}, call)).toEqual({
        names: ['SimpleHttp'],
      });
      expect(proxy.accepted()).toBe(0);
    } finally {
      vi.unstubAllEnvs();
      peer.close();
      await server.stop(500);
      await proxy.stop();
    }
  });

  it('of who proves nothing no message is read, and health needs none', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const session = connect(`http://127.0.0.1:${server.port}`);
    /** The status of a call that announces 32 MiB and sends none of them. */
    const statusOf = async (path: string, headers: Record<string, string>) => {
      const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers });
      stream.write(Buffer.from([0, 2, 0, 0, 0]));
      const told: Record<string, unknown> = {};
      for (const event of ['response', 'trailers']) stream.on(event, (fields: object) => Object.assign(told, fields));
      stream.resume();
      await once(stream, 'end');
      stream.destroy();
      return Number(told['grpc-status']);
    };
    const path = `/${DownloaderServiceDefinition.fullName}/ListTools`;
    const { unauthenticated, ok } = { unauthenticated: 16, ok: 0 };
    expect(await statusOf(path, {})).toBe(unauthenticated);
    expect(await statusOf(path, { 'wharf-identity': 'forged' })).toBe(unauthenticated);
    expect(await statusOf('/grpc.health.v1.Health/Check', {})).toBe(ok);
    session.destroy();
    await server.stop(500);
  });

  it('a hundred may watch the health, and one more when one of them has gone', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    // Of those who prove nothing each connection has a few.
    const sessions = Array.from({ length: Math.ceil((MAX_WATCHERS + 2) / MAX_UNPROVEN_CALLS) }, () =>
      connect(`http://127.0.0.1:${server.port}`),
    );
    let begun = 0;
    /** Begins to watch. @returns the status of the call when it was refused; undefined when it goes on */
    const watch = async () => {
      const session = sessions[begun++ % sessions.length] as ClientHttp2Session;
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch', 'content-type': 'application/grpc', te: 'trailers' },
      });
      stream.end(Buffer.from([0, 0, 0, 0, 0]));
      const told: Record<string, unknown> = {};
      for (const event of ['response', 'trailers']) stream.on(event, (fields: object) => Object.assign(told, fields));
      await Promise.race([once(stream, 'data'), once(stream.resume(), 'end')]);
      return { stream, status: told['grpc-status'] === undefined ? undefined : Number(told['grpc-status']) };
    };
    const watching = await Promise.all(Array.from({ length: MAX_WATCHERS }, watch));
    expect(new Set(watching.map(({ status }) => status))).toEqual(new Set([undefined]));
    const resourceExhausted = 8;
    expect((await watch()).status).toBe(resourceExhausted);
    watching[0]?.stream.close(constants.NGHTTP2_CANCEL);
    await waitFor('room for one more', async () => (await watch()).status === undefined);
    for (const session of sessions) session.destroy();
    await server.stop(500);
  });

  it('a connection on which nobody proves to be one of us has a few calls, and ends with more; one of ours has many', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const connected = async () => {
      const session = connect(`http://127.0.0.1:${server.port}`);
      await once(session, 'connect');
      return session;
    };
    /** Begins calls that do not end. @returns their streams */
    const begin = (session: ClientHttp2Session, count: number, headers: Record<string, string> = {}) =>
      Array.from({ length: count }, () => {
        const path = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch', 'content-type': 'application/grpc', te: 'trailers' };
        return session.request({ ...path, ...headers }).on('error', () => undefined);
      });
    const answered = (streams: readonly ClientHttp2Stream[]) => Promise.all(streams.map((stream) => once(stream, 'response')));
    const own = await connected();
    const ownCalls = begin(own, MAX_UNPROVEN_CALLS + 10, { [IDENTITY]: tokens.mint({ kind: 'service', name: 'test' }) });
    const few = await connected();
    await answered([...ownCalls, ...begin(few, MAX_UNPROVEN_CALLS)]);
    const many = await connected();
    many.on('error', () => undefined);
    const ended = once(many, 'close');
    begin(many, 1_000);
    await ended;
    // A forged token is none.
    const forged = await connected();
    forged.on('error', () => undefined);
    const forgedEnded = once(forged, 'close');
    begin(forged, 1_000, { [IDENTITY]: 'forged' });
    await forgedEnded;
    expect([own.closed, few.closed]).toEqual([false, false]);
    for (const session of [own, few]) session.destroy();
    await server.stop(500);
  });

  it('of many connections that say nothing the oldest end, and none of ours', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const peer = createGrpcPeer(`127.0.0.1:${server.port}`, [DownloaderServiceDefinition]);
    const { listTools } = peer.client<DownloaderServiceClient>(DownloaderServiceDefinition);
    const call = () =>
      listTools({}, outgoingCall(tokens, { identity: { kind: 'service', name: 'test' }, requestId: '', revisions: { auth: 0, admin: 0 } }));
    await call();
    const silent: Socket[] = [];
    const ended: number[] = [];
    for (let number = 0; number < 300; number += 1) {
      const socket = createConnection(server.port, '127.0.0.1');
      socket.on('error', () => undefined).once('close', () => ended.push(number));
      socket.resume();
      await once(socket, 'connect');
      silent.push(socket);
    }
    await waitFor('the oldest end', () => ended.length >= 200);
    expect(ended.sort((one, other) => one - other)).toEqual(Array.from({ length: 200 }, (_, number) => number));
    await call();
    for (const socket of silent) socket.destroy();
    peer.close();
    await server.stop(500);
  });

  it('calls beyond the streams of a connection wait for each other, and are all answered', async () => {
    const server = await startGrpcServer({ services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen });
    const session = connect(`http://127.0.0.1:${server.port}`);
    const [settings] = await once(session, 'remoteSettings');
    expect(settings.maxConcurrentStreams).toBe(1_000);
    session.destroy();
    const peer = createGrpcPeer(`127.0.0.1:${server.port}`, [DownloaderServiceDefinition]);
    const client = peer.client<DownloaderServiceClient>(DownloaderServiceDefinition);
    const call = outgoingCall(tokens, { identity: { kind: 'service', name: 'admin' }, requestId: '', revisions: { auth: 0, admin: 0 } });
    const answers = await Promise.all(Array.from({ length: 1_500 }, () => client.listTools({}, call)));
    expect(answers).toHaveLength(1_500);
    peer.close();
    await server.stop(500);
  });

  it('a connection that is old enough is replaced, and no call is lost over it', async () => {
    const serving = { services: [downloader], host: '127.0.0.1', port: 0, tokens, isReady: () => true, onUnforeseen };
    const server = await startGrpcServer(serving);
    const proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: server.port } });
    const peer = createGrpcPeer(`${proxy.host}:${proxy.port}`, [DownloaderServiceDefinition], { connectionAgeMs: 50 });
    const client = peer.client<DownloaderServiceClient>(DownloaderServiceDefinition);
    const user: Identity = { kind: 'user', id: 7, username: 'a', role: 0, permission: 0, basePath: '/', sessionId: 's' };
    const call = () =>
      client.addDownloads({}, outgoingCall(tokens, { identity: user, requestId: 'r-1', revisions: { auth: 0, admin: 0 } }));
    try {
      while (proxy.accepted() < 6) await Promise.all(Array.from({ length: 8 }, call));
    } finally {
      peer.close();
      await server.stop(500);
      await proxy.stop();
    }
  });
});
