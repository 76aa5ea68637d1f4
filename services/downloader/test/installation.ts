import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, waitFor } from '@wharf/harness';
import { modelsOf, type StoredSetting } from '@wharf/models';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { type TaskServiceClient, TaskServiceDefinition } from '@wharf/proto/task';
import { ROLE } from '@wharf/rights';
import {
  connectStore,
  createDirectClient,
  createLocalBus,
  createServiceKit,
  type Identity,
  outgoingCall,
  type Peers,
  type RpcService,
  readConfig,
  Secret,
} from '@wharf/service-kit';
import type { WireTask } from '@wharf/task-engine';
import { pino } from 'pino';
import { createDownloaderService, downloaderConfig } from '../src/index.ts';
import type { DownloaderOptions } from '../src/service.ts';
import { createFakeFs, type FakeFs } from './fake-fs.ts';

const SECRET = 'a secret of the tests, 32 bytes or more';
const ADMIN: Identity = { kind: 'user', id: 1, username: 'admin', role: ROLE.admin, permission: 0xffff, basePath: '/', sessionId: '' };

/** A replica of the downloader, as the gateway would call it. */
export interface Replica {
  add(url: string, tool?: string): Promise<string>;
  cancel(id: string): Promise<void>;
  retry(id: string): Promise<void>;
  task(id: string, list?: string): Promise<WireTask>;
  /** Of results of tools, those that have not ended. */
  transfers(): Promise<WireTask[]>;
  /** Waits until a task shows this. */
  until(id: string, wanted: Partial<WireTask>, withinMs?: number): Promise<WireTask>;
  probe(tool: { tool: string; url: string; secret: string }): Promise<string>;
  log(): string;
  close(): Promise<void>;
}

/** A store and a bus with a faked fs beside them, in which replicas are opened. */
export interface Installation {
  readonly fs: FakeFs;
  /** Of the test's own; replicas have `scratch` and `tools` in it when they are not told otherwise. */
  readonly dir: string;
  open(config?: Partial<DownloaderOptions>): Promise<Replica>;
  close(): Promise<void>;
}

/** @param settings as admin keeps them. */
export async function openInstallation(settings: Readonly<Record<string, string>> = {}): Promise<Installation> {
  const dir = await makeTempDir('downloader');
  const engine = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  const url = Object.assign(new URL(engine.url), { pathname: '/downloads' }).href;
  const bus = createLocalBus(() => {});
  const fs = createFakeFs();
  const replicas: Replica[] = [];
  const connection = await connectStore(url);
  const items = Object.entries(settings).map(
    ([key, value]): StoredSetting => ({ key, value, help: '', type: 'string', options: '', group: 0, flag: 1 }),
  );
  await modelsOf(connection).settings.create({ _id: 'settings', revision: 1, items });
  await connection.close();

  const open = async (config: Partial<DownloaderOptions> = {}): Promise<Replica> => {
    let log = '';
    const write = (line: string) => {
      log += line;
    };
    const logger = pino({ level: 'debug' }, { write });
    const store = await connectStore(url);
    const onError = (error: unknown) => logger.error({ err: error }, 'unforeseen');
    const kit = createServiceKit({
      name: 'downloader',
      logger,
      secret: new Secret(SECRET),
      store,
      bus,
      peers: (tokens) =>
        ({ fsWrites: createDirectClient<WriteServiceClient>(WriteServiceDefinition, () => fs.service, tokens, onError) }) as Peers,
    });
    const service = createDownloaderService(
      {
        ...readConfig(downloaderConfig, { WHARF_SECRET: SECRET }),
        ...{ egressAllow: ['127.0.0.1'], scratchDir: `${dir.path}/scratch`, toolsDir: `${dir.path}/tools` },
        ...config,
      },
      kit,
      fs.bytes,
    );
    await service.start();
    const client = <Client>(definition: RpcService['definition']) =>
      createDirectClient<Client>(
        definition,
        () => [service.rpc, ...(service.furtherRpcs ?? [])].find((rpc) => rpc?.definition === definition) as RpcService,
        kit.tokens,
        onError,
      );
    const downloader = client<DownloaderServiceClient>(DownloaderServiceDefinition);
    const tasks = client<TaskServiceClient>(TaskServiceDefinition);
    const as = (identity: Identity) => outgoingCall(kit.tokens, { identity, requestId: 'test', revisions: { auth: 0, admin: 0 } });
    const control = (action: string) => async (id: string) => {
      await tasks.controlTasks({ list: 'offline_download', action, ids: [id] }, as(ADMIN));
    };
    const replica: Replica = {
      async add(address, tool = 'SimpleHttp') {
        const request = { urls: [address], path: '/in', tool, delete_policy: 'delete_always', hashes: {} };
        const [task] = (await downloader.addDownloads(request, as(ADMIN))).tasks;
        return task?.id ?? '';
      },
      cancel: control('cancel'),
      retry: control('retry'),
      async task(id, list = 'offline_download') {
        return (await tasks.getTask({ list, id }, as(ADMIN))).task as WireTask;
      },
      async transfers() {
        const found: WireTask[] = [];
        const request = { list: 'offline_download_transfer', done: false, page: 1, per_page: 0 };
        for await (const page of tasks.listTasks(request, as(ADMIN))) found.push(...(page.tasks as WireTask[]));
        return found;
      },
      until: (id, wanted, withinMs = 40_000) =>
        waitFor(
          `task ${id} to show ${JSON.stringify(wanted)}`,
          async () => {
            const task = await replica.task(id);
            return Object.entries(wanted).every(([key, value]) => Reflect.get(task, key) === value) ? task : undefined;
          },
          { withinMs, everyMs: 50 },
        ),
      probe: async (tool) => (await downloader.probeTool(tool, as({ kind: 'service', name: 'admin' }))).version,
      log: () => log,
      async close() {
        await service.stop();
        await store.close();
      },
    };
    replicas.push(replica);
    return replica;
  };
  return {
    fs,
    dir: dir.path,
    open,
    async close() {
      for (const replica of replicas) await replica.close();
      await bus.close();
      await engine.stop();
      await dir.remove();
    },
  };
}
