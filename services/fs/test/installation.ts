import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import {
  accountsChanged,
  configurationChanged,
  type Models,
  modelsOf,
  QUOTAS,
  REVISION,
  type RuleRecord,
  raiseCounter,
  type StorageRecord,
} from '@wharf/models';
import { type AdminServiceClient, AdminServiceDefinition, type KeepStorageItemRequest } from '@wharf/proto/admin';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';
import { ROLE } from '@wharf/rights';
import {
  type Bus,
  connectStore,
  createDirectClient,
  createLocalBus,
  createLoginTokens,
  createServiceKit,
  deriveKeys,
  forServices,
  type Identity,
  listenHttp,
  outgoingCall,
  type Revisions,
  type RpcService,
  Secret,
  type ServiceKit,
  type StoreConnection,
  seal,
  unseal,
} from '@wharf/service-kit';
import { createGrpcPeer, startGrpcServer } from '@wharf/service-kit/grpc';
import { pino } from 'pino';
import { createLinkSigner } from '../src/domain/access/link-signer.ts';
import { ruleRecord, storageRecord } from '../src/domain/testing/records.ts';
import type { DriverDefinition } from '../src/driver-contract/define-driver.ts';
import { createFsService } from '../src/index.ts';

export const SECRET = new Secret('a secret of the tests, 32 bytes or more');
const TOKEN = 'wharf-a-permanent-token-of-tests';
/** A login lives longer than the slowest run of a file of tests, in seconds. */
const LOGIN_S = 900;
const keys = deriveKeys(SECRET);

export const ADMIN = { kind: 'user', id: 1, username: 'admin', role: ROLE.admin, permission: 0, basePath: '/', sessionId: '' } as const;
export const USER = { ...ADMIN, id: 3, username: 'somebody', role: ROLE.general, permission: 0b11111000 } as const;
export const SERVICE = { kind: 'service', name: 'admin' } as const;

/** One replica of fs, reached as others reach it: over gRPC and over HTTP. */
export interface Replica {
  readonly fs: FsServiceClient;
  readonly writes: WriteServiceClient;
  /** Of the data plane. */
  readonly url: string;
  readonly kit: ServiceKit;
  /** Storages whose status it reported to admin. */
  readonly reports: Array<{ id: number; status: string }>;
  /** What drivers had admin keep. */
  readonly kept: KeepStorageItemRequest[];
  log(): string;
}

/** What a replica is opened with, and the time of the store as it knows that; this machine's by default. */
type ReplicaOptions = Parameters<typeof createFsService>[0] & { readonly clock?: () => number };

/** A store, with what auth and admin write, and replicas of fs over it on one bus. */
export interface Installation {
  readonly dir: string;
  /** Address of the store, for processes. */
  readonly storeUrl: string;
  readonly bus: Bus;
  open(drivers?: readonly DriverDefinition[], rest?: Omit<ReplicaOptions, 'drivers'>): Promise<Replica>;
  /** Call options of somebody who knows of these revisions; of the admin who knows of none by default. */
  as(identity?: Identity, revisions?: Partial<Revisions>): ReturnType<typeof outgoingCall>;
  /** Writes a storage as admin does, with its addition sealed, and answers the new revision. Nobody is told. */
  writeStorage(storage: Partial<StorageRecord>): Promise<number>;
  /** Makes a folder, and writes it as storage 1, mounted at `/l`. @returns where it is */
  mountFolder(): Promise<string>;
  writeRule(rule: Partial<RuleRecord>): Promise<number>;
  writeSetting(key: string, value: string): Promise<number>;
  /** Makes the guest, with permissions to upload and the like. */
  letGuestsIn(permission: number): Promise<void>;
  /** Changes a user that login() made, as auth does: told to everybody. */
  writeUser(user: { id: number; disabled?: boolean; permission?: number; base_path?: string; quota_bytes?: number }): Promise<void>;
  /** Tells everybody that admin's data changed. */
  announce(revision: number): void;
  /** A login token of a user that is made for it. */
  login(user: { id: number; permission: number; base_path?: string; quota_bytes?: number }): Promise<string>;
  /** From now on events reach nobody; `mendBus` lets them through again. */
  cutBus(): void;
  mendBus(): void;
  /** Another permanent token, which signs links from now on, as auth writes it: told to everybody. */
  writeToken(token: string): Promise<void>;
  /** The query of a download link. */
  sign(path: string): string;
  close(): Promise<void>;
}

export async function openInstallation(): Promise<Installation> {
  const dir = await makeTempDir('fs');
  const store: EmbeddedMongo = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  const url = Object.assign(new URL(store.url), { pathname: `/fs-${randomUUID()}` }).href;
  const connection = await connectStore(url);
  const models = modelsOf(connection);
  const whole = createLocalBus((error) => {
    throw error;
  });
  let isCut = false;
  let token = TOKEN;
  const bus: Bus = { ...whole, publish: (subject, event) => (isCut ? undefined : whole.publish(subject, event)) };
  await models.permanentTokens.create({ _id: 'permanent', sealed: seal(keys.atRest, TOKEN) });
  const accountsHaveChanged = async () => {
    await raiseCounter(models.authCounters, QUOTAS);
    bus.publish(accountsChanged, { revision: await raiseCounter(models.authCounters, REVISION) });
  };
  const closing: Array<() => Promise<void>> = [];
  let tokens: ServiceKit['tokens'] | undefined;

  const writeStorage: Installation['writeStorage'] = async (storage) => {
    const record = storageRecord({ driver: 'Local', ...storage });
    const sealed = { ...record, addition: seal(keys.atRest, record.addition) };
    await models.storages.replaceOne({ _id: record._id }, sealed, { upsert: true });
    return nextRevision(models);
  };

  const makeUser = async (user: { id: number; permission: number; role: number; base_path: string; quota_bytes: number }) => {
    const { id, ...rights } = user;
    const username = `user-${id}`;
    const names = { username, username_key: username, password_hash: '', sso_id: '', otp_secret: '' };
    await models.users.create({ _id: id, ...names, ...rights, pwd_ts: 1, disabled: false, allow_ldap: true });
    return username;
  };

  return {
    dir: dir.path,
    storeUrl: url,
    bus,
    async open(drivers, rest = {}) {
      const replica = await openReplica(url, bus, { drivers, ...rest });
      tokens = replica.kit.tokens;
      closing.push(replica.close);
      return replica;
    },
    as(identity = ADMIN, revisions = {}) {
      if (!tokens) throw new Error('no replica is open');
      return outgoingCall(tokens, { identity, requestId: 'test', revisions: { auth: 0, admin: 0, ...revisions } });
    },
    writeStorage,
    async mountFolder() {
      const folder = `${dir.path}/files`;
      await mkdir(folder);
      await writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
      return folder;
    },
    async writeRule(rule) {
      const record = ruleRecord(rule);
      const sealed = { ...record, password: record.password && seal(keys.atRest, record.password) };
      await models.rules.replaceOne({ _id: record._id }, sealed, { upsert: true });
      return nextRevision(models);
    },
    async writeSetting(key, value) {
      const items = [{ key, value, help: '', type: 'string', options: '', group: 0, flag: 1 }];
      await models.settings.replaceOne({ _id: 'settings' }, { _id: 'settings', revision: 1, items }, { upsert: true });
      return nextRevision(models);
    },
    async letGuestsIn(permission) {
      await makeUser({ id: 2, permission, role: ROLE.guest, base_path: '/', quota_bytes: 0 });
      await accountsHaveChanged();
    },
    async writeUser({ id, ...changes }) {
      await models.users.updateOne({ _id: id }, { $set: changes });
      await accountsHaveChanged();
    },
    announce: (revision) => bus.publish(configurationChanged, { revision }),
    async login({ id, permission, base_path = '/', quota_bytes = 0 }) {
      const username = await makeUser({ id, permission, role: ROLE.general, base_path, quota_bytes });
      const sid = randomUUID();
      const now = Math.floor(Date.now() / 1000);
      await models.sessions.create({
        _id: sid,
        user_id: id,
        address: '',
        created_at: new Date(),
        expires_at: new Date(Date.now() + LOGIN_S * 1000),
      });
      return createLoginTokens(keys.jwt, Date.now).sign({ username, pwd_ts: 1, sid, iat: now, nbf: now, exp: now + LOGIN_S });
    },
    cutBus() {
      isCut = true;
    },
    mendBus() {
      isCut = false;
    },
    async writeToken(next) {
      token = next;
      await models.permanentTokens.updateOne({ _id: 'permanent' }, { $set: { sealed: seal(keys.atRest, next) } });
      await accountsHaveChanged();
    },
    sign: (path) => `sign=${encodeURIComponent(createLinkSigner(token, Date.now).sign(path, 0))}`,
    async close() {
      for (const close of closing.reverse()) await close();
      await bus.close();
      await connection.close();
      await store.stop();
      await dir.remove();
    },
  };
}

const nextRevision = (models: Models): Promise<number> => raiseCounter(models.adminCounters, REVISION);

/** As admin does it. */
async function keepItem(models: Models, bus: Bus, { id, name, before, after }: KeepStorageItemRequest): Promise<string> {
  for (;;) {
    const record = await models.storages.findById(id).lean<StorageRecord>();
    if (!record) throw new AppError('RECORD_NOT_FOUND', 'no such storage');
    const items: Record<string, unknown> = JSON.parse(unseal(keys.atRest, record.addition) || '{}');
    const value = String(items[name] ?? '');
    if (value !== before || value === after) return value;
    const addition = seal(keys.atRest, JSON.stringify({ ...items, [name]: after }));
    const { modifiedCount } = await models.storages.updateOne({ _id: id, addition: record.addition }, { $set: { addition } });
    if (modifiedCount === 0) continue;
    bus.publish(configurationChanged, { revision: await nextRevision(models) });
    return after;
  }
}

async function openReplica(storeUrl: string, bus: Bus, { clock, ...options }: ReplicaOptions) {
  let log = '';
  const write = (line: string) => {
    log += line;
  };
  const logger = pino({ level: 'trace' }, { write });
  const onError = (error: unknown) => logger.error({ err: error });
  const store: StoreConnection = await connectStore(storeUrl);
  const reports: Replica['reports'] = [];
  const kept: Replica['kept'] = [];
  const admin: RpcService = {
    definition: AdminServiceDefinition,
    methods: {
      reportStorageStatus: forServices(async ({ id, status }: { id: number; status: string }) => {
        reports.push({ id, status });
        return {};
      }),
      keepStorageItem: forServices(async (request: KeepStorageItemRequest) => {
        kept.push(request);
        return { value: await keepItem(modelsOf(store), bus, request) };
      }),
      reportIndexProgress: forServices(async () => ({})),
    },
  };
  const nobody = () => {
    throw new Error('fs calls only admin');
  };
  const kit = createServiceKit({
    name: 'fs',
    logger,
    secret: SECRET,
    store,
    bus,
    clock,
    peers: (tokens) => ({
      auth: createDirectClient(AuthServiceDefinition, nobody, tokens, onError),
      admin: createDirectClient<AdminServiceClient>(AdminServiceDefinition, () => admin, tokens, onError),
      fs: createDirectClient(FsServiceDefinition, nobody, tokens, onError),
      downloader: createDirectClient(DownloaderServiceDefinition, nobody, tokens, onError),
      fsTasks: createDirectClient(TaskServiceDefinition, nobody, tokens, onError),
      fsWrites: createDirectClient(WriteServiceDefinition, nobody, tokens, onError),
      downloaderTasks: createDirectClient(TaskServiceDefinition, nobody, tokens, onError),
    }),
  });
  const service = createFsService(options, kit);
  const { rpc, http } = service;
  if (!rpc || !http) throw new Error('fs serves both');
  await service.start();
  const server = await startGrpcServer({
    services: [rpc, ...(service.furtherRpcs ?? [])],
    host: '127.0.0.1',
    port: 0,
    tokens: kit.tokens,
    isReady: () => true,
    onUnforeseen: onError,
  });
  const listener = await listenHttp(http, '127.0.0.1', 0);
  const peer = createGrpcPeer(`127.0.0.1:${server.port}`, [FsServiceDefinition, WriteServiceDefinition]);
  return {
    fs: peer.client<FsServiceClient>(FsServiceDefinition),
    writes: peer.client<WriteServiceClient>(WriteServiceDefinition),
    url: listener.url,
    kit,
    reports,
    kept,
    log: () => log,
    async close() {
      peer.close();
      await Promise.all([listener.stop(0), server.stop(1_000)]);
      await service.stop();
      await store.close();
    },
  };
}
