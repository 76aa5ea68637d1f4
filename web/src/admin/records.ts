import type { Answer } from '../api/call.ts';

export type Storage = Answer<'/api/admin/storage/list'>['content'][number];
export type Health = Answer<'/api/admin/storage/health'>['content'][number];
export type User = Answer<'/api/admin/user/list'>['content'][number];
export type Rule = Answer<'/api/admin/meta/list'>['content'][number];
/** A rule as it is sent. */
export type RuleInput = Omit<Rule, 'shadows'>;

/** Asks for a list in one page. */
export const ALL = { page: 1, per_page: 0 };

/** The numbers that the API has for what somebody is. */
export const ROLE = { general: 0, guest: 1, admin: 2 } as const;

export function isBroken(storage: Storage, health: Health | undefined): boolean {
  return !storage.disabled && (storage.status !== 'work' || health?.state === 'failed' || health?.state === 'unavailable');
}

/** What is wrong with a storage, as it said itself; empty: nothing. */
export function troubleOf(storage: Storage, health: Health | undefined): string {
  if (!isBroken(storage, health)) return '';
  return storage.status === 'work' ? (health?.last_error ?? '') : storage.status;
}
