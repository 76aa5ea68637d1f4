import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient, endpointsOf } from '@wharf/egress';
import { modelsOf, readAdminRevision, readSettings } from '@wharf/models';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import {
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
import { Counter } from 'prom-client';
import { addDownloadsHandler } from './api/add-downloads.ts';
import { listToolsHandler } from './api/list-tools.ts';
import { probeToolHandler } from './api/probe-tool.ts';
import type { ByteWriter } from './clients/byte-writer.ts';
import type { DownloaderConfig } from './config.ts';
import { createRateLimit } from './fetch/rate-limit.ts';
import { createScratch } from './fetch/scratch.ts';
import { createDownloadTasks } from './tasks/download-tasks.ts';
import { createFetchTasks } from './tasks/fetch-task.ts';
import { createAskTool } from './tools/ask-tool.ts';

/** Ports that connection strings may leave out. */
const MONGO_PORT = 27_017;
const NATS_PORT = 4_222;
const GRPC_PORT = 443;
/** To one tool at a time. */
const TOOL_CONNECTIONS = 8;

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
> &
  Partial<Pick<DownloaderConfig, 'scratchDir' | 'fsDataUrl' | 'authAddress' | 'adminAddress' | 'fsAddress' | 'downloaderAddress'>> & {
    /** The store and the bus where they are no part of the configuration: they were started by this process. */
    readonly engines?: readonly string[];
  };

/** Offline download: a worker on the durable queue of downloads, and what asks for them. @param bytes carries files into the tree */
export function createDownloaderService(config: DownloaderOptions, kit: ServiceKit, bytes: ByteWriter): Service {
  const forbidden = [
    ...[config.mongoUrl, ...(config.engines ?? [])].flatMap((address) => endpointsOf(address, MONGO_PORT)),
    ...endpointsOf(config.natsUrl, NATS_PORT),
    ...[config.authAddress, config.adminAddress, config.fsAddress, config.downloaderAddress, config.fsDataUrl].flatMap((address) =>
      endpointsOf(address, GRPC_PORT),
    ),
  ];
  const toolClient = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden }), TOOL_CONNECTIONS);
  const policy = createEgressPolicy({ audience: 'user', allow: config.egressAllow, forbidden });
  const ask = createAskTool(toolClient);

  const models = modelsOf(kit.store);
  const settings = createRevisionedCache({
    clock: kit.clock,
    readRevision: () => readAdminRevision(models),
    load: () => readSettings(models, (sealed) => unseal(kit.keys.atRest, sealed)),
  });
  const fetchedBytes = new Counter({
    name: 'wharf_downloader_fetched_bytes_total',
    help: 'Bytes that downloads brought in, by tool.',
    labelNames: ['tool'],
    registers: [kit.metrics],
  });
  const fetches = createFetchTasks({
    kit,
    bytes,
    scratch: createScratch({ dir: config.scratchDir ?? join(tmpdir(), 'wharf-scratch'), maxBytes: config.scratchMaxBytes }),
    openNetwork: () => ({ policy, client: createGuardedClient(policy, config.downloadConnections) }),
    connections: config.downloadConnections,
    rateLimit: createRateLimit(config.downloadRate, kit.clock),
    taskBytesPerSecond: config.downloadTaskRate,
    maxBytes: config.downloadMaxBytes,
    onBytes: (count) => fetchedBytes.inc({ tool: 'SimpleHttp' }, count),
  });
  const tasks = createDownloadTasks(kit, { fetches, settings: () => settings.get(), perUser: config.downloadsPerUser });
  return {
    rpc: defineRpcService(DownloaderServiceDefinition, {
      addDownloads: forUsers(addDownloadsHandler({ kit, policy, tasks })),
      listTools: forAnyone(listToolsHandler()),
      probeTool: forServices(probeToolHandler(ask)),
    }),
    furtherRpcs: [createTaskRpc(tasks.engine)],
    start: () => tasks.engine.start(),
    async stop() {
      await tasks.engine.stop();
      bytes.close();
      toolClient.close();
    },
  };
}
