import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { MAX_PATTERNS_BYTES, type Pace, patternsBytes } from '@wharf/pace';
import { cleanPath } from './clean-path.ts';
import { findBadPatternInTurns } from './pattern-lines.ts';
import { createRoomOfAll, type TakeRoom } from './room-of-all.ts';

export type RuleFields = Omit<RuleRecord, '_id'>;

export interface Rule extends RuleFields {
  readonly id: number;
}

const MAX_HIDE_LINES = 200;
const MAX_TEXT_BYTES = 64 * 1024;
const MAX_PASSWORD_BYTES = 1_024;
const MAX_USERS = 1_000;
/** Of two thousand rules inside each other each would name all above, gigabytes together. */
const MAX_SHADOWS_LENGTH = 8_192;

/** What a rule takes beside its texts. */
const RULE_BYTES = 512;
const USER_BYTES = 8;

/**
 * Reads what a client sent as a rule; others have their turn between its patterns.
 *
 * @param before the rule that it takes the place of: its patterns may stay, also where an earlier version took more. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH |
 * CANCELLED
 */
export async function parseRuleFields(given: RuleFields, pace: Pace, before?: Pick<RuleFields, 'hide'>): Promise<RuleFields> {
  const { password, p_sub, write, w_sub, hide, h_sub, readme, r_sub, header, header_sub, read_users_sub, write_users_sub } = given;
  const path = cleanPath(given.path, 'path');
  requireShort('password', password, MAX_PASSWORD_BYTES);
  for (const [field, text] of Object.entries({ hide, readme, header })) requireShort(field, text, MAX_TEXT_BYTES);
  const bad = hide === before?.hide ? undefined : await findBadPatternInTurns(hide, MAX_HIDE_LINES, pace);
  if (bad) throw new AppError('INVALID_ARGUMENT', `${bad.line} is illegal: ${bad.reason}`, { details: { field: 'hide' } });
  return {
    ...{ path, password, p_sub, write, w_sub, hide, h_sub, readme, r_sub, header, header_sub },
    ...{ read_users: parseUsers('read_users', given.read_users), read_users_sub },
    ...{ write_users: parseUsers('write_users', given.write_users), write_users_sub },
  };
}

/** Refuses a rule that the rules together have no room for; others have their turn while those that are there are counted. @throws AppError CANCELLED */
export async function createRulesRoom(present: readonly Rule[], pace: Pace): Promise<TakeRoom<RuleFields>> {
  const takePatterns = await createPatternsRoom(present, pace);
  const takeBytes = createRoomOfAll('rules', present, bytesOf);
  return (fields, written) => {
    takePatterns(fields, written);
    takeBytes(fields, written);
  };
}

/** Of the patterns of all rules, compiled: each fs has them in memory. The same lines in several rules are there once. */
async function createPatternsRoom(present: readonly Rule[], pace: Pace): Promise<TakeRoom<RuleFields>> {
  const hides = new Map(present.map(({ id, hide }) => [id, hide]));
  const uses = new Map<string, number>();
  let total = 0;
  for (const { hide } of present) {
    await pace.step();
    if (!uses.has(hide)) total += patternsBytes(hide);
    uses.set(hide, (uses.get(hide) ?? 0) + 1);
  }
  return ({ hide }, written) => {
    const before = written === undefined ? undefined : hides.get(written);
    if (hide === before) return;
    const freed = before !== undefined && uses.get(before) === 1 ? patternsBytes(before) : 0;
    const growth = (uses.get(hide) ? 0 : patternsBytes(hide)) - freed;
    if (growth > 0 && total + growth > MAX_PATTERNS_BYTES)
      throw new AppError(
        'QUOTA_EXCEEDED',
        'the hide patterns of all rules are too many or too complex together: shorten or delete some first',
      );
    total += growth;
    if (before !== undefined) uses.set(before, (uses.get(before) ?? 1) - 1);
    uses.set(hide, (uses.get(hide) ?? 0) + 1);
  };
}

function bytesOf({ path, password, hide, readme, header, read_users, write_users }: RuleFields): number {
  const texts = [path, password, hide, readme, header].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return RULE_BYTES + texts + USER_BYTES * (read_users.length + write_users.length);
}

/**
 * Refuses a rule for people who do not exist: it would let nobody in, or somebody who comes later.
 *
 * @param kept ids that the rule had before; they may be of users who are gone.
 * @throws AppError INVALID_ARGUMENT
 */
export async function requireKnownUsers(
  { read_users, write_users }: Pick<RuleFields, 'read_users' | 'write_users'>,
  kept: ReadonlySet<number>,
  findUsers: (ids: readonly number[]) => Promise<ReadonlySet<number>>,
): Promise<void> {
  const asked = [...new Set([...read_users, ...write_users])].filter((id) => !kept.has(id));
  if (asked.length === 0) return;
  const known = await findUsers(asked);
  const stranger = asked.find((id) => !known.has(id));
  if (stranger === undefined) return;
  const field = read_users.includes(stranger) ? 'read_users' : 'write_users';
  throw new AppError('INVALID_ARGUMENT', `${field}: there is no user with the id ${stranger}`, { details: { field } });
}

/**
 * The paths of the rules above a path, from the top down: a nearer rule replaces them, it does not add to them. Of many the nearest, which have
 * MAX_SHADOWS_LENGTH characters together.
 */
export function shadowedBy(path: string, rulePaths: Pick<ReadonlySet<string>, 'has'>): string[] {
  const shadowed: string[] = [];
  let room = MAX_SHADOWS_LENGTH;
  for (let above = path; above !== '/'; ) {
    above = above.slice(0, above.lastIndexOf('/')) || '/';
    if (!rulePaths.has(above)) continue;
    room -= above.length;
    if (room < 0) break;
    shadowed.unshift(above);
  }
  return shadowed;
}

function parseUsers(field: string, ids: readonly number[]): number[] {
  const unique = [...new Set(ids)];
  if (unique.length > MAX_USERS)
    throw new AppError('INVALID_ARGUMENT', `${field} has more than ${MAX_USERS} users`, { details: { field } });
  return unique;
}

function requireShort(field: string, text: string, maxBytes: number): void {
  if (Buffer.byteLength(text) > maxBytes)
    throw new AppError('INVALID_ARGUMENT', `${field} is longer than ${maxBytes} bytes`, { details: { field } });
}
