import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { type HttpAnswer, type HttpRequest, httpRequest, makeTempDir, type TempDir } from '@wharf/harness';
import { type Models, modelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import {
  type ByteServer,
  connectStore,
  createLocalBus,
  createLoginTokens,
  createServiceKit,
  listenHttp,
  Secret,
  type ServiceKit,
  seal,
} from '@wharf/service-kit';
import { pino } from 'pino';
import { createGatewayService } from '../src/index.ts';
import { createStubServices, type StubServices } from './stub-services.ts';

export const SECRET = 'a secret of the tests, 32 bytes or more';
export const PERMANENT_TOKEN = 'wharf-the-permanent-token-of-the-tests';

export interface Gateway {
  readonly base: string;
  readonly storeUrl: string;
  readonly kit: ServiceKit;
  readonly models: Models;
  readonly stubs: StubServices;
  log(): string;
  /** Makes a user who is logged in, and answers the token. */
  login(permission: number): Promise<string>;
  /** Makes the guest enabled or disabled, with these bits. */
  setGuest(guest: { disabled: boolean; permission: number }): Promise<void>;
  request(options: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** A gateway over a real store that was filled with an admin, a guest and a permanent token; the services behind it are stubs. */
export async function openGateway(
  options: {
    bytes?: ByteServer;
    fsDataUrl?: string;
    maxTransfers?: number;
    downloadIdleMs?: number;
    maxHeldBytes?: number;
    maxMadeBytes?: number;
    callsPerUser?: number;
    connectionsPerAddress?: number;
    siteUrl?: string;
    trustedProxies?: string[];
    corsOrigins?: string[];
    webDir?: string;
  } = {},
): Promise<Gateway> {
  const dir: TempDir = await makeTempDir('gateway');
  const embedded: EmbeddedMongo = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const store = await connectStore(embedded.url);
  let log = '';
  const write = (line: string) => {
    log += line;
  };
  const logger = pino({ level: 'debug' }, { write });
  const stubs = createStubServices();
  const kit = createServiceKit({
    name: 'api-gateway',
    logger,
    secret: new Secret(SECRET),
    store,
    bus: createLocalBus((error) => logger.error({ err: error })),
    peers: (tokens) => stubs.peers(tokens),
  });
  const models = modelsOf(store);
  await models.permanentTokens.create({ _id: 'permanent', sealed: seal(kit.keys.atRest, PERMANENT_TOKEN) });
  await models.users.create(userRecord(1, 'admin', ROLE.admin, 0));
  await models.users.create(userRecord(2, 'guest', ROLE.guest, 0));

  const {
    bytes,
    maxTransfers,
    downloadIdleMs,
    maxHeldBytes,
    maxMadeBytes,
    siteUrl,
    trustedProxies = [],
    corsOrigins = [],
    callsPerUser = 64,
    ...others
  } = options;
  const { connectionsPerAddress = 1_000, ...rest } = others;
  const dataPlane: ByteServer = (_request, response) => response.end('bytes');
  const service = createGatewayService(
    { siteUrl, trustedProxies, corsOrigins, callsPerUser, connectionsPerAddress, ...rest },
    kit,
    rest.fsDataUrl
      ? { ...(maxTransfers === undefined ? {} : { maxTransfers }), ...(downloadIdleMs === undefined ? {} : { downloadIdleMs }) }
      : { bytes: bytes ?? dataPlane, maxHeldBytes, maxMadeBytes },
  );
  await service.start();
  if (!service.http) throw new Error('the gateway has no HTTP');
  const listener = await listenHttp(service.http, '127.0.0.1', 0, { share: service.connectionShare });
  const tokens = createLoginTokens(kit.keys.jwt, kit.clock);
  let lastId = 2;
  let revision = 0;
  return {
    base: listener.url,
    storeUrl: embedded.url,
    kit,
    models,
    stubs,
    log: () => log,
    async login(permission) {
      lastId += 1;
      const user = userRecord(lastId, `user${lastId}`, ROLE.general, permission);
      await models.users.create(user);
      const sid = randomUUID();
      const now = Math.floor(kit.clock() / 1000);
      await models.sessions.create({
        _id: sid,
        user_id: user._id,
        address: '',
        created_at: new Date(now * 1000),
        expires_at: new Date((now + 3600) * 1000),
      });
      return tokens.sign({ username: user.username, pwd_ts: user.pwd_ts, sid, iat: now, nbf: now, exp: now + 3600 });
    },
    async setGuest(guest) {
      await models.users.updateOne({ _id: 2 }, { $set: guest });
      // As auth does after every write; the answer of a write that passes the gateway tells it of the change.
      revision += 1;
      stubs.answers.set('auth.updateUser', { revision });
      const body = JSON.stringify({ id: 2, username: 'guest', role: 1 });
      await httpRequest(listener.url, {
        method: 'POST',
        path: '/api/admin/user/update',
        headers: { Authorization: PERMANENT_TOKEN, 'Content-Type': 'application/json' },
        body,
      });
    },
    request: (request) => httpRequest(listener.url, request),
    async close() {
      await listener.stop(1_000);
      await service.stop();
      await kit.bus.close();
      await store.close();
      await embedded.stop();
      await dir.remove();
    },
  };
}

function userRecord(id: number, username: string, role: number, permission: number) {
  return {
    _id: id,
    username,
    username_key: username,
    password_hash: '',
    pwd_ts: 1,
    base_path: '/',
    role,
    permission,
    disabled: role === ROLE.guest,
    sso_id: '',
    allow_ldap: true,
    otp_secret: '',
  };
}
