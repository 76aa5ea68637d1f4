import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient, type EgressPolicy, ownEndpoints } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { accountReads, configurationChanged, modelsOf, readAdminRevision, readSettingsRecord, settingsFrom } from '@wharf/models';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import {
  counter,
  createLoginsOfNow,
  createRevisionedCache,
  defineRpcService,
  forAnyone,
  forServices,
  forUsers,
  type Service,
  type ServiceKit,
  unseal,
} from '@wharf/service-kit';
import { createTaskRpc } from '@wharf/task-engine';
import { addDownloadsHandler } from './api/add-downloads.ts';
import { listToolsHandler } from './api/list-tools.ts';
import { probeToolHandler } from './api/probe-tool.ts';
import type { ByteWriter } from './clients/byte-writer.ts';
import type { DownloaderConfig } from './config.ts';
import { BUILT_IN_TOOL } from './domain/download-input.ts';
import { createRecordRoom, createReserveKeeper } from './fetch/disk-reserve.ts';
import { createRateLimit } from './fetch/rate-limit.ts';
import { createScratch } from './fetch/scratch.ts';
import { tracedClient } from './fetch/traced-client.ts';
import { createSeedStore } from './store/seed-store.ts';
import { createDownloadTasks, type DownloadTasks } from './tasks/download-tasks.ts';
import { createFetchTasks } from './tasks/fetch-task.ts';
import { createRequireTarget } from './tasks/require-target.ts';
import { createToolTasks } from './tasks/tool-task.ts';
import { createTransferTasks } from './tasks/transfer-task.ts';
import { ASKED_AT_A_TIME, createAskTool } from './tools/ask-tool.ts';
import { type ProbeContext, probeTool } from './tools/probe-tool.ts';
import { createSeedKeeper } from './tools/seed-keeper.ts';
import { startToolProxy, type ToolProxy } from './tools/tool-proxy.ts';
import { createTools } from './tools/tools.ts';
import { createWorkingTools } from './tools/working-tools.ts';

export type DownloaderOptions = Pick<
  DownloaderConfig,
  | 'mongoUrl'
  | 'natsUrl'
  | 'egressAllow'
  | 'scratchMaxBytes'
  | 'downloadConnections'
  | 'downloadRate'
  | 'downloadTaskRate'
  | 'downloadMaxBytes'
  | 'downloadsPerUser'
  | 'downloadsPerTool'
  | 'egressProxyPort'
  | 'egressProxyUrl'
  | 'toolsDir'
> &
  Partial<
    Pick<
      DownloaderConfig,
      | 'bind'
      | 'grpcPort'
      | 'dataDir'
      | 'scratchDir'
      | 'fsDataUrl'
      | 'otlpEndpoint'
      | 'tasksOfAll'
      | 'authAddress'
      | 'adminAddress'
      | 'fsAddress'
      | 'downloaderAddress'
      | 'ownAddresses'
    >
  > & {
    /** The store and the bus where they are no part of the configuration: they were started by this process. */
    readonly engines?: readonly string[];
    readonly opsPort?: number | undefined;
  };

/** Offline download: a worker on the durable queue of downloads, and what asks for them. @param bytes carries files into the tree */
export function createDownloaderService(config: DownloaderOptions, kit: ServiceKit, bytes: ByteWriter): Service {
  const forbidden = ownEndpoints(config);
  const toolClient = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden }), {
    maxConnections: ASKED_AT_A_TIME,
  });
  const policy = createEgressPolicy({ audience: 'user', allow: config.egressAllow, forbidden });
  const ask = createAskTool(toolClient);

  const settings = createSettingsCache(kit);
  const countBytes = createByteCounter(kit);
  const openNetwork = networkOf(policy, config.downloadConnections, kit);
  let proxy: Awaited<ReturnType<typeof startToolProxy>> | undefined;
  const toolProxy = (): ToolProxy => {
    if (!proxy) throw new AppError('STORAGE_UNAVAILABLE', 'the downloader is starting');
    return proxy;
  };
  const tools = createTools({ ask, settings: () => settings.get(), clock: kit.clock, proxy: toolProxy });
  const toolsDir = config.toolsDir ?? join(tmpdir(), 'wharf-downloads');
  const probing: ProbeContext = { ask, toolsDir, proxy: toolProxy };
  const working = createWorkingTools({
    settingsOf: tools.settingsOf,
    probe: (toolSettings, signal) => probeTool(probing, toolSettings, signal),
    clock: kit.clock,
    logger: kit.logger,
  });
  const seeds = createSeedStore(kit.store);
  const keeper = createSeedKeeper({ seeds, tools, toolsDir, clock: kit.clock, logger: kit.logger });
  const fetches = createFetchTasks({
    kit,
    bytes,
    scratch: createScratch({
      dir: config.scratchDir ?? join(tmpdir(), 'wharf-scratch'),
      isAmongOthers: config.scratchDir === undefined,
      beside: config.dataDir,
      maxBytes: config.scratchMaxBytes,
      onFreed: () => tasks.hurry(),
    }),
    openNetwork,
    connections: config.downloadConnections,
    rateLimit: createRateLimit(config.downloadRate),
    taskBytesPerSecond: config.downloadTaskRate,
    maxBytes: config.downloadMaxBytes,
    onBytes: (count) => countBytes(BUILT_IN_TOOL, count),
  });
  const tasks: DownloadTasks = createDownloadTasks(kit, {
    ...{ requireTarget: createRequireTarget(kit), fetches },
    toolDownloads: createToolTasks({
      ...{ kit, tools, working, seeds, toolsDir, openNetwork },
      queueTransfers: (parent, transfers) => tasks.queueTransfers(parent, transfers),
      requireTransferred: (id) => tasks.requireTransferred(id),
      onBytes: countBytes,
      keepReserve: createReserveKeeper(toolsDir, config.dataDir),
    }),
    transfers: createTransferTasks({ kit, bytes, seeds, toolsDir }),
    settings: () => settings.get(),
    avoidedTools: working.notWorking,
    ...{ perUser: config.downloadsPerUser, perTool: config.downloadsPerTool },
    ...{ tasksOfAll: config.tasksOfAll, holdRoom: createRecordRoom(config.dataDir) },
  });
  const unsealed = (sealed: string) => unseal(kit.keys.atRest, sealed);
  const loginOfNow = createLoginsOfNow(accountReads(modelsOf(kit.store), { unseal: unsealed, clock: kit.clock }));
  return {
    rpc: defineRpcService(DownloaderServiceDefinition, {
      addDownloads: forUsers(addDownloadsHandler({ kit, policy, settings, tools, tasks, loginOfNow })),
      listTools: forAnyone(listToolsHandler(settings, tools)),
      probeTool: forServices(probeToolHandler(probing)),
    }),
    furtherRpcs: [createTaskRpc(tasks.engine, loginOfNow)],
    async start() {
      kit.bus.subscribe(configurationChanged, () => settings.invalidate());
      proxy = await startToolProxy({
        policy: policy.forOwner('tools'),
        bind: config.bind ?? '127.0.0.1',
        port: config.egressProxyPort,
        url: config.egressProxyUrl,
      });
      await seeds.init();
      await tasks.engine.start();
      // There may be room here for what others had none for.
      tasks.hurry();
      keeper.start();
    },
    drain: () => tasks.engine.stop(),
    async stop() {
      await keeper.stop();
      await tasks.engine.stop();
      await proxy?.close();
      bytes.close();
      toolClient.close();
    },
  };
}

/** The way to sources, for one download at a time. */
function networkOf(policy: EgressPolicy, maxConnections: number, { tracing }: ServiceKit) {
  return (userId: number | undefined) => {
    const ofUser = policy.forOwner(`user ${userId}`);
    return { policy: ofUser, client: tracedClient(createGuardedClient(ofUser, { maxConnections }), tracing) };
  };
}

function createByteCounter({ metrics }: ServiceKit): (tool: string, bytes: number) => void {
  const fetchedBytes = counter(metrics, 'wharf_downloader_fetched_bytes_total');
  return (tool, bytes) => fetchedBytes.inc({ tool }, bytes);
}

function createSettingsCache(kit: ServiceKit) {
  const models = modelsOf(kit.store);
  return createRevisionedCache({
    clock: kit.clock,
    readRevision: () => readAdminRevision(models),
    load: () => readSettingsRecord(models),
    make: (record) => settingsFrom(record, (sealed) => unseal(kit.keys.atRest, sealed)),
  });
}
