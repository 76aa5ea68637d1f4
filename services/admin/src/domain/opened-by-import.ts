import { parseJson } from '@wharf/pace';
import { PERMISSION_MEANINGS, ROLE } from '@wharf/rights';
import type { ExportedUser } from './export-document.ts';
import type { Rule, RuleFields } from './rule.ts';
import type { Storage, StorageFields } from './storage.ts';

/** What the report repeats of a file, in letters. */
export const MAX_NOTE_LENGTH = 200;
/** Said of what was to be had with a signature only. */
export const UNSIGNED = 'its files are to be had without a signature';

/** What a file gives a user. */
export function openedUser(after: Omit<ExportedUser, 'id'>, before: ExportedUser | undefined): string[] {
  const had = before?.permission ?? 0;
  const gets = Object.keys(PERMISSION_MEANINGS).filter((_, bit) => (after.permission & ~had & (1 << bit)) !== 0);
  const isLetIn = before?.disabled === true && !after.disabled;
  return [
    ...(isLetIn ? [after.role === ROLE.guest ? 'whoever comes is let in without a login' : 'may log in again'] : []),
    ...(gets.length > 0 ? [`gets ${gets.join(', ')}`] : []),
    ...(before?.quota_bytes && after.quota_bytes !== undefined && (after.quota_bytes === 0 || after.quota_bytes > before.quota_bytes)
      ? [after.quota_bytes === 0 ? 'has no quota any more' : `has a quota of ${after.quota_bytes} bytes`]
      : []),
    ...(before && before.base_path !== after.base_path ? [`has ${cut(after.base_path)} instead of ${cut(before.base_path)}`] : []),
  ];
}

/** A rule that holds below its folder, too. */
interface RuleAbove
  extends Pick<
    RuleFields,
    'path' | 'password' | 'p_sub' | 'read_users' | 'read_users_sub' | 'write_users' | 'write_users_sub' | 'hide' | 'h_sub'
  > {}

/**
 * What of a rule a file opens.
 *
 * @param after its people by name. @param above of a new one: the nearest rule above it
 */
export function openedRule(
  after: RuleFields & { readonly readers: readonly string[]; readonly writers: readonly string[] },
  before: Rule | undefined,
  usernames: ReadonlyMap<number, string>,
  above: RuleAbove | undefined,
): string[] {
  const added = (title: string, names: readonly string[], ids: readonly number[] = []) => {
    // A list of nobody is for everybody.
    if (ids.length === 0) return [];
    if (names.length === 0) return [`everybody ${title}`];
    const had = new Set(ids.map((id) => usernames.get(id)));
    const more = names.filter((name) => !had.has(name));
    return more.length > 0 ? [`${cut(more.join(', '))} ${title}, too`] : [];
  };
  return [
    ...added('reads', after.readers, before?.read_users),
    ...added('writes', after.writers, before?.write_users),
    ...(after.write && !before?.write ? ['users without the right to write do so'] : []),
    ...(after.write && after.w_sub && before?.write && !before.w_sub ? ['below its folder, too'] : []),
    ...(before ? openedOf(before, after) : []),
    ...(above ? closedBy(above).map((what) => `${cut(above.path)} ${what} there no more`) : []),
  ];
}

function openedOf(before: Rule, after: RuleFields): string[] {
  const hasPassword = before.password !== '';
  return [
    ...(hasPassword && after.password === '' ? ['it asks for no password any more'] : []),
    ...(hasPassword && after.password !== '' && after.password !== before.password ? ['it asks for another password'] : []),
    ...(before.hide !== '' && before.hide !== after.hide ? ['it hides other names than before'] : []),
    ...closedBy(before)
      .filter((what) => !closedBy(after).includes(what) && closedBy({ ...after, ...EVERYWHERE }).includes(what))
      .map((what) => `it ${what} below its folder no more`),
  ];
}

const EVERYWHERE = { p_sub: true, read_users_sub: true, write_users_sub: true, h_sub: true } as const;

/** What a rule keeps below its folder. */
function closedBy({ password, p_sub, read_users, read_users_sub, write_users, write_users_sub, hide, h_sub }: RuleAbove): string[] {
  return [
    ...(password !== '' && p_sub ? ['asks for its password'] : []),
    ...(read_users.length > 0 && read_users_sub ? ['keeps readers out'] : []),
    ...(write_users.length > 0 && write_users_sub ? ['keeps writers out'] : []),
    ...(hide !== '' && h_sub ? ['hides names'] : []),
  ];
}

/** What of a storage a file opens or leads elsewhere: downloads of files that are there, with signatures that do not end. */
export function openedStorage(after: StorageFields, before: Storage | undefined): string[] {
  const { down_proxy_url: address } = after;
  const leads = address !== '' && address !== before?.down_proxy_url;
  const root = rootOf(after);
  const isElsewhere = before !== undefined && root !== undefined && root !== rootOf(before);
  const leadsUnsigned = address !== '' && after.disable_proxy_sign && before?.disable_proxy_sign !== true;
  return [
    ...(isElsewhere ? [`its root is ${cut(root)}`] : []),
    ...(leads ? [`its downloads are led to ${cut(address)}`] : []),
    ...(before?.enable_sign === true && !after.enable_sign ? [UNSIGNED] : []),
    ...(leadsUnsigned ? ['its links there have no signature'] : []),
  ];
}

function rootOf({ addition }: Pick<StorageFields, 'addition'>): string | undefined {
  const root: unknown = Object(parseJson(addition)).root_folder_path;
  return typeof root === 'string' ? root : undefined;
}

const cut = (text: string) => text.slice(0, MAX_NOTE_LENGTH);
