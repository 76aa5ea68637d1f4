import { createEgressPolicy, createGuardedClient, endpointsOf } from '@wharf/egress';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { defineRpcService, forAnyone, forServices, forUsers, notImplemented, type Service, type ServiceKit } from '@wharf/service-kit';
import { createTaskEngine, createTaskRpc } from '@wharf/task-engine';
import { listToolsHandler } from './api/list-tools.ts';
import { probeToolHandler } from './api/probe-tool.ts';
import type { DownloaderConfig } from './config.ts';
import { createAskTool } from './tools/ask-tool.ts';

/** Ports that connection strings may leave out. */
const MONGO_PORT = 27_017;
const NATS_PORT = 4_222;
/** To one tool at a time. */
const TOOL_CONNECTIONS = 8;

/** Offline download: the process, its RPCs and health, and the tools. It takes no downloads in this version. */
export function createDownloaderService(config: Pick<DownloaderConfig, 'mongoUrl' | 'natsUrl'>, kit: ServiceKit): Service {
  const forbidden = [...endpointsOf(config.mongoUrl, MONGO_PORT), ...endpointsOf(config.natsUrl, NATS_PORT)];
  const toolClient = createGuardedClient(createEgressPolicy({ audience: 'admin', allow: [], forbidden }), TOOL_CONNECTIONS);
  const ask = createAskTool(toolClient);
  const { store, bus, logger, metrics } = kit;
  const tasks = createTaskEngine({ owner: 'downloader', store, bus, logger, metrics, kinds: [] });
  return {
    rpc: defineRpcService(DownloaderServiceDefinition, {
      addDownloads: forUsers(notImplemented),
      listTools: forAnyone(listToolsHandler()),
      probeTool: forServices(probeToolHandler(ask)),
    }),
    furtherRpcs: [createTaskRpc(tasks)],
    start: () => tasks.start(),
    async stop() {
      await tasks.stop();
      toolClient.close();
    },
  };
}
