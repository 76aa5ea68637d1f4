import type { ListToolsRequest, ListToolsResponse } from '@wharf/proto/downloader';
import type { Call, RevisionedCache } from '@wharf/service-kit';
import { BUILT_IN_TOOL } from '../domain/download-input.ts';
import type { Tools } from '../tools/tools.ts';

/** public/offline_download_tools: the tools that are ready. */
export const listToolsHandler =
  (settings: Pick<RevisionedCache<unknown>, 'get'>, tools: Tools) =>
  async (_request: ListToolsRequest, { revisions, signal }: Call): Promise<ListToolsResponse> => {
    await settings.get(revisions.admin);
    return { names: [BUILT_IN_TOOL, ...(await tools.readyNames(signal))].sort() };
  };
