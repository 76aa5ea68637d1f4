import type {
  BuildIndexResponse,
  ClearIndexResponse,
  GetIndexProgressResponse,
  StopIndexResponse,
  UpdateIndexRequest,
  UpdateIndexResponse,
} from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { IndexKeeper } from '../domain/search/index-keeper.ts';

type Configured = Pick<FsContext, 'configuration'>;

/** admin/index/build. */
export const buildIndexHandler =
  ({ configuration }: Configured, keeper: IndexKeeper) =>
  async (_request: unknown, call: Call): Promise<BuildIndexResponse> => {
    await keeper.build(await configuration.snapshot(call.revisions));
    return {};
  };

/** admin/index/update. */
export const updateIndexHandler =
  ({ configuration }: Configured, keeper: IndexKeeper) =>
  async ({ paths, max_depth }: UpdateIndexRequest, call: Call): Promise<UpdateIndexResponse> => {
    await keeper.update(await configuration.snapshot(call.revisions), paths, max_depth ?? undefined);
    return {};
  };

/** admin/index/stop. */
export const stopIndexHandler =
  ({ configuration }: Configured, keeper: IndexKeeper) =>
  async (_request: unknown, call: Call): Promise<StopIndexResponse> => {
    await keeper.stopJob(await configuration.snapshot(call.revisions));
    return {};
  };

/** admin/index/clear. */
export const clearIndexHandler =
  ({ configuration }: Configured, keeper: IndexKeeper) =>
  async (_request: unknown, call: Call): Promise<ClearIndexResponse> => {
    await keeper.clear(await configuration.snapshot(call.revisions));
    return {};
  };

/** admin/index/progress. */
export const getIndexProgressHandler =
  ({ configuration }: Configured, keeper: IndexKeeper) =>
  async (_request: unknown, call: Call): Promise<GetIndexProgressResponse> => {
    const { isRunning, ...progress } = await keeper.progress(await configuration.snapshot(call.revisions));
    return { ...progress, is_running: isRunning };
  };
