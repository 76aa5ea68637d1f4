import type { ReportIndexProgressRequest, ReportIndexProgressResponse } from '@wharf/proto/admin';
import { withIndexProgress } from '../domain/setting-items.ts';
import type { SettingStore } from '../store/setting-store.ts';

/** Progress is no configuration, so no change is announced. */
export const reportIndexProgress =
  (settings: SettingStore) =>
  async ({ obj_count, is_done, last_done_time, error }: ReportIndexProgressRequest): Promise<ReportIndexProgressResponse> => {
    const progress = JSON.stringify({ obj_count, is_done, last_done_time: last_done_time ?? null, error });
    await settings.change((saved) => withIndexProgress(saved, progress));
    return {};
  };
