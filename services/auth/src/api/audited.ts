import { ROLE } from '@wharf/rights';
import type { Call } from '@wharf/service-kit';
import type { Audit, AuditAction } from '../domain/audit.ts';

/** The parts of an entry that depend on the call. Who, from where and when are added here. */
interface About {
  readonly target?: string;
  readonly detail?: string;
}

/** Wraps handlers so that what they did is in the audit trail. Refused calls and calls of the guest are not entered. */
export const createAudited =
  (audit: Audit) =>
  <Request, Answer>(
    action: AuditAction,
    handle: (request: Request, call: Call) => Promise<Answer>,
    about: (request: Request, answer: Answer) => About = () => ({}),
  ) =>
  async (request: Request, call: Call): Promise<Answer> => {
    const answer = await handle(request, call);
    const { identity, address = '' } = call;
    if (identity?.kind === 'user' && identity.role === ROLE.guest) return answer;
    const who = identity?.kind === 'user' ? { userId: identity.id, username: identity.username } : { username: identity?.name ?? '' };
    await audit.record({ action, ...who, address, ...about(request, answer) });
    return answer;
  };
