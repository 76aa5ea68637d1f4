import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { defineRpcService, forAnyone, forServices, forUsers, notImplemented, type Service } from '@wharf/service-kit';
import { listToolsHandler } from './api/list-tools.ts';

/** Offline download: the process, its RPCs and health. It takes no downloads in this version. */
export function createDownloaderService(): Service {
  return {
    rpc: defineRpcService(DownloaderServiceDefinition, {
      addDownloads: forUsers(notImplemented),
      listTools: forAnyone(listToolsHandler()),
      probeTool: forServices(notImplemented),
    }),
    async start() {},
    async stop() {},
  };
}
