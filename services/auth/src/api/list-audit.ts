import { AppError } from '@wharf/errors';
import { sliceOf } from '@wharf/pace';
import type * as wire from '@wharf/proto/auth';
import type { AuditStore } from '../store/audit.ts';

/** More would not fit an answer between services. */
const MAX_PER_PAGE = 500;

export const listAudit =
  (store: Pick<AuditStore, 'list' | 'count'>) =>
  async (request: wire.ListAuditRequest): Promise<wire.ListAuditResponse> => {
    const filter = {
      action: request.action || undefined,
      userId: request.user_id || undefined,
      address: request.address || undefined,
      since: timeOf('since', request.since),
      until: timeOf('until', request.until),
    };
    const perPage = request.per_page < 1 ? MAX_PER_PAGE : Math.min(request.per_page, MAX_PER_PAGE);
    const total = await store.count(filter);
    const slice = sliceOf(request.page, perPage);
    const entries = slice.skip >= total ? [] : await store.list(filter, slice);
    const content = entries.map(({ id, at, action, userId, username, address, target, detail, count, lastAt }) => ({
      id,
      time: at.toISOString(),
      action,
      user_id: userId,
      username,
      address,
      target,
      detail,
      count,
      last_time: lastAt.toISOString(),
    }));
    return { content, total };
  };

function timeOf(name: string, text: string): Date | undefined {
  if (text === '') return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new AppError('INVALID_ARGUMENT', `${name} must be a time, as in 2030-01-31T12:00:00Z`);
  return new Date(ms);
}
