import { AppError } from '@wharf/errors';
import { configurationChanged, type Models, modelsOf } from '@wharf/models';
import { type AdminServiceClient, AdminServiceDefinition, type Rule, type SettingItem, type Storage } from '@wharf/proto/admin';
import { type AuthServiceClient, AuthServiceDefinition, type User } from '@wharf/proto/auth';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { ROLE } from '@wharf/rights';
import {
  connectStore,
  createDirectClient,
  createLocalBus,
  createServiceKit,
  forAdmins,
  forServices,
  type Identity,
  outgoingCall,
  type Peers,
  type RpcService,
  Secret,
  type ServiceKit,
  type UserIdentity,
} from '@wharf/service-kit';
import { pino } from 'pino';
import { createAdminService } from '../src/index.ts';
import { type FakeAuth, type FakeDownloader, type FakeFs, FOLDER_DRIVER } from './peers.ts';

export const SECRET = 'a secret of the tests, 32 bytes or more';

export const ADMIN: UserIdentity = {
  kind: 'user',
  id: 1,
  username: 'admin',
  role: ROLE.admin,
  permission: 0xffff,
  basePath: '/',
  sessionId: '',
};
export const SOMEBODY: Identity = { ...ADMIN, id: 3, username: 'somebody', role: ROLE.general };
export const FS: Identity = { kind: 'service', name: 'fs' };

/** One replica of admin over a store. */
export interface Replica {
  readonly admin: AdminServiceClient;
  readonly kit: ServiceKit;
  readonly models: Models;
  /** Events that it published. */
  readonly events: Array<{ revision: number; storageId?: number | undefined }>;
  /** All that was logged. */
  log(): string;
  /** Call options of somebody; of the admin by default. */
  as(identity?: Identity): ReturnType<typeof outgoingCall>;
  close(): Promise<void>;
}

export async function openReplica(
  storeUrl: string,
  peers: { fs: FakeFs; auth: FakeAuth; downloader: FakeDownloader },
  config: { filesDir?: string } = {},
): Promise<Replica> {
  let log = '';
  const logger = pino(
    { level: 'trace' },
    {
      write(line: string) {
        log += line;
      },
    },
  );
  const onError = (error: unknown) => logger.error({ err: error });
  const store = await connectStore(storeUrl);
  const bus = createLocalBus(onError);
  const kit = createServiceKit({
    name: 'admin',
    logger,
    secret: new Secret(SECRET),
    store,
    bus,
    peers: (tokens) => {
      const client = <Client>(definition: RpcService['definition'], service: RpcService) =>
        createDirectClient<Client>(definition, () => service, tokens, onError);
      return {
        fs: client<FsServiceClient>(FsServiceDefinition, fsService(peers.fs)),
        auth: client<AuthServiceClient>(AuthServiceDefinition, authService(peers.auth)),
        downloader: client<DownloaderServiceClient>(DownloaderServiceDefinition, downloaderService(peers.downloader)),
      } as Peers;
    },
  });
  const events: Replica['events'] = [];
  bus.subscribe(configurationChanged, (event) => events.push(event));
  const service = createAdminService(config, kit);
  const { rpc } = service;
  if (!rpc) throw new Error('admin has no RPCs');
  await service.start();
  const direct = createDirectClient<AdminServiceClient>(AdminServiceDefinition, () => rpc, kit.tokens, onError);
  return {
    admin: direct,
    kit,
    models: modelsOf(store),
    events,
    log: () => log,
    as: (identity = ADMIN) => outgoingCall(kit.tokens, { identity, requestId: 'test', revisions: { auth: 0, admin: 0 } }),
    async close() {
      await service.stop();
      await bus.close();
      await store.close();
    },
  };
}

/** Call options of the admin, with a login of this id. */
export async function asLogin({ models, kit, as }: Replica, sessionId: string): Promise<ReturnType<Replica['as']>> {
  const times = { created_at: new Date(), last_used_at: new Date(), expires_at: new Date(kit.clock() + 3_600_000) };
  await models.sessions.create({ _id: sessionId, user_id: 1, address: '', ...times });
  await models.users.updateOne({ _id: 1 }, { $set: { username: 'admin', role: 2 } }, { upsert: true });
  return as({ ...ADMIN, sessionId });
}

/** The part of fs that admin calls. */
function fsService(fs: FakeFs): RpcService {
  return partOf(FsServiceDefinition, {
    listDrivers: forAdmins(async () => {
      fs.requireUp();
      await fs.beforeAnswer();
      return { drivers: fs.drivers.map((name) => (name === FOLDER_DRIVER.config.name ? FOLDER_DRIVER : { config: { name } })) };
    }),
    getIndexProgress: forAdmins(async () => {
      fs.requireUp();
      await fs.beforeAnswer();
      return { is_running: fs.isIndexing };
    }),
    reloadStorage: forServices(async ({ id }: { id: number }, call: { revisions: { admin: number } }) =>
      fs.reload(id, call.revisions.admin),
    ),
  });
}

/** The part of auth that admin calls. */
function authService(auth: FakeAuth): RpcService {
  return partOf(AuthServiceDefinition, {
    getPermanentToken: forAdmins(async () => ({ token: auth.token })),
    setPermanentToken: forAdmins(async ({ token }: { token: string }) => {
      auth.replace(token);
      return { revision: 1 };
    }),
    listUsers: forAdmins(async () => {
      return { content: auth.users, total: auth.users.length };
    }),
    createUser: forAdmins(async ({ user }: { user: Partial<User> }) => ({ id: await auth.create(user), revision: 1 })),
    updateUser: forAdmins(async ({ user }: { user: Partial<User> }) => {
      await auth.beforeUpdate();
      auth.users = auth.users.map((each) => (each.id === user.id ? user : each));
      return { revision: 1 };
    }),
  });
}

/** The part of the downloader that admin calls. */
function downloaderService(downloader: FakeDownloader): RpcService {
  return partOf(DownloaderServiceDefinition, {
    probeTool: forServices(async (request: { tool: string; url: string; secret: string }) => ({
      version: await downloader.probe(request),
    })),
  });
}

/** A service with some of its methods; any other answers UNSUPPORTED_OPERATION. */
function partOf(definition: RpcService['definition'], methods: RpcService['methods']): RpcService {
  return { definition, methods };
}

/** The error that a call ended with. */
export async function errorOf(call: Promise<unknown>): Promise<AppError> {
  return call.then(
    (answer) => Promise.reject(new Error(`no error but ${JSON.stringify(answer)}`)),
    (error) => AppError.from(error),
  );
}

export const storage = (rest: Partial<Storage> = {}): Partial<Storage> => ({
  mount_path: '/a',
  driver: 'Local',
  addition: '{"root_folder_path":"/srv"}',
  ...rest,
});
export const rule = (rest: Partial<Rule> = {}): Partial<Rule> => ({ path: '/a', ...rest });
export const setting = (key: string, value: string, rest: Partial<SettingItem> = {}): Partial<SettingItem> => ({ key, value, ...rest });
