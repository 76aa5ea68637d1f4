import { ApiError, call } from '../api/call.ts';
import type { Rule, RuleInput, User } from './records.ts';

/** What is saved of somebody, but for the password. */
export type UserFields = Omit<User, 'id' | 'password' | 'otp'>;

/** Saves what of a rule was entered since its form was opened; the rest stays as it is saved by now. @throws ApiError */
export async function changeRule(opened: RuleInput, form: RuleInput): Promise<void> {
  const present = await call('/api/admin/meta/get', { id: opened.id });
  if (present === null) throw new ApiError(500, 'the rule is gone');
  await call('/api/admin/meta/update', { ...withoutShadows(present), ...edited(opened, form) });
}

/** The same of somebody. @param password a new one; empty: it stays. @throws ApiError */
export async function changeUser(id: number, opened: UserFields, form: UserFields, password: string): Promise<void> {
  const present = await call('/api/admin/user/get', { id });
  if (present === null) throw new ApiError(500, 'the user is gone');
  const { otp: _, ...fields } = present;
  await call('/api/admin/user/update', { ...fields, ...edited(opened, form), password });
}

/** A rule as it is sent. */
export function withoutShadows({ shadows: _, ...rule }: Rule): RuleInput {
  return rule;
}

/** Somebody else may have changed the rest: locked somebody out, or closed a path. */
function edited<Fields extends object>(opened: Fields, form: Fields): Partial<Fields> {
  const before = new Map<string, unknown>(Object.entries(opened));
  return Object.fromEntries(Object.entries(form).filter(([name, value]) => value !== before.get(name))) as Partial<Fields>;
}
