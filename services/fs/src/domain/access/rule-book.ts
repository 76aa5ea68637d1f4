import type { RuleRecord } from '@wharf/models';
import { createPace, type Pace } from '@wharf/pace';
import { VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import { hasPermission, isAdmin } from '@wharf/rights';
import { equalTexts } from './equal-texts.ts';
import { type AccessDecision, createExplainAccess } from './explain-access.ts';
import { createHiddenEntries } from './hidden-entries.ts';
import { ownRefusal } from './own-refusal.ts';
import { PathTree } from './path-tree.ts';
import { type Actor, denied } from './permissions.ts';
import { compileInTurns, covers, guards, isListed, type Rule, ruleFrom } from './rule.ts';

/** What an operation does with an entry: look at it, change or remove it, or make it. */
type EntryChange = 'read' | 'write' | 'create';

/** What the path rules say about who may see and change what. */
export interface RuleBook {
  /** The rules that the book was made of: always the same list. */
  readonly records: readonly RuleRecord[];
  /** @throws AppError PERMISSION_DENIED: hidden, not for this actor, or the password is wrong */
  requireAccess(actor: Actor, path: VirtualPath, password: string): void;
  /** Whether requireAccess() would let the actor in. */
  canAccess(actor: Actor, path: VirtualPath, password: string): boolean;
  /** Whether entries may be made in a folder: by permission, or because its rule lets everybody write. */
  canCreateIn(actor: Actor, directory: VirtualPath): boolean;
  /** True when the rule of the folder lets people write who lack the permission. */
  isWriteBypassed(directory: VirtualPath): boolean;
  /** Whether the rule's list of writers lets the actor change things at this path. */
  canWrite(actor: Actor, path: VirtualPath): boolean;
  /**
   * For an operation on an entry itself (rename, move, copy, remove): its own rule, and every rule below it, must allow the change.
   * `create` needs no password, because making an entry shows nothing.
   * @throws AppError PERMISSION_DENIED
   */
  requireEntry(actor: Actor, path: VirtualPath, change: EntryChange): void;
  /** The same question, answered by a boolean: `mayTouch` asks the rule of the entry alone, `mayTouchWhole` every rule below it too. */
  mayTouch(actor: Actor, path: VirtualPath, change: EntryChange): boolean;
  mayTouchWhole(actor: Actor, path: VirtualPath, change: EntryChange): boolean;
  /** Whether the path, or a folder on the way to it, is hidden from the actor. */
  isHidden(actor: Actor, path: VirtualPath): boolean;
  /** Which names of a folder's entries are hidden from the actor, by the rule of that folder; undefined when none is. */
  hiddenNames(actor: Actor, directory: VirtualPath): ((name: string) => boolean) | undefined;
  /** Whether anything can be hidden from the actor in a folder or in what is below it. */
  mayHideIn(actor: Actor, directory: VirtualPath): boolean;
  /** Whether the same is hidden from the actor in both folders, and in all that is below them. */
  hidesAlike(actor: Actor, one: VirtualPath, other: VirtualPath): boolean;
  /** The path of a rule at or below a place that keeps somebody from seeing or changing something; undefined when there is none. */
  findGuard(path: VirtualPath): string | undefined;
  /**
   * A filter for the names of a folder's entries; undefined when nothing is left out.
   *
   * @param names all of them, which stay as they are: what is asked for with its place among these is remembered as long as they are kept
   */
  listingFilter(
    actor: Actor,
    directory: VirtualPath,
    names?: readonly string[],
  ): ((name: string, isDirectory: boolean, index?: number) => boolean) | undefined;
  /** Whether a rule that stands at this very path lets the actor read what is there; true where none stands. */
  isOpen(actor: Actor, path: VirtualPath, password: string): boolean;
  /** What the actor may do at the path, and why, where no password is given. */
  explain(actor: Actor, path: VirtualPath): readonly AccessDecision[];
  readme(path: VirtualPath): string;
  header(path: VirtualPath): string;
  /** Whether a password is asked for at the path. */
  isGuarded(path: VirtualPath): boolean;
  /** Whether not everybody may see the path (password, readers, hidden), so that links to it must be signed. */
  isRestricted(path: VirtualPath): boolean;
}

/** Somebody who has no permission and is on no list. */
const NOBODY: Actor = { id: -1, role: 0, permission: 0, basePath: VIRTUAL_ROOT };

export function createRuleBook(records: readonly RuleRecord[]): RuleBook {
  const rules = new PathTree<Rule>();
  for (const record of records) rules.set(record.path as VirtualPath, ruleFrom(record));
  return bookOf(records, rules);
}

/**
 * The same, with all patterns compiled; others have their turn in between.
 *
 * @param open makes the rule of what is stored. @param close makes the one that stands for it where it could not be opened, told why
 */
export async function createRuleBookInTurns(
  stored: readonly RuleRecord[],
  open = (record: RuleRecord) => record,
  close: (error: unknown, record: RuleRecord) => RuleRecord = rethrow,
): Promise<RuleBook> {
  const pace = createPace();
  const records: RuleRecord[] = [];
  const rules = new PathTree<Rule>();
  for (const each of stored) {
    await pace.step();
    const record = await opened(each, open, pace).catch((error: unknown) => close(error, each));
    records.push(record);
    rules.set(record.path as VirtualPath, ruleFrom(record));
  }
  return bookOf(records, rules);
}

function rethrow(error: unknown): never {
  throw error;
}

async function opened(stored: RuleRecord, open: (record: RuleRecord) => RuleRecord, pace: Pace): Promise<RuleRecord> {
  const record = open(stored);
  await compileInTurns(record.hide, pace);
  return record;
}

function bookOf(records: readonly RuleRecord[], rules: PathTree<Rule>): RuleBook {
  const hasReadLists = records.some((record) => record.read_users.length > 0);

  const nearest = (path: VirtualPath): Rule | undefined => rules.nearest(path);
  const { isHidden, hidingRule, hidesAt, hiddenNames, mayHideIn, hidesAlike } = createHiddenEntries(
    rules,
    records.some((record) => record.hide !== ''),
  );

  const canRead = (actor: Actor, path: VirtualPath) => {
    const rule = nearest(path);
    return isAdmin(actor) || !rule || isListed(rule.read_users, actor) || !covers(rule, path, rule.read_users_sub);
  };
  const canWrite = (actor: Actor, path: VirtualPath) => {
    const rule = nearest(path);
    return isAdmin(actor) || !rule || isListed(rule.write_users, actor) || !covers(rule, path, rule.write_users_sub);
  };
  const isGuarded = (path: VirtualPath) => {
    const rule = nearest(path);
    return rule !== undefined && rule.password !== '' && covers(rule, path, rule.p_sub);
  };
  const canAccess = (actor: Actor, path: VirtualPath, password: string) => {
    if (records.length === 0) return true;
    if (isHidden(actor, path) || !canRead(actor, path)) return false;
    if (hasPermission(actor, 'access_without_password') || !isGuarded(path)) return true;
    return equalTexts(nearest(path)?.password ?? '', password);
  };
  const isWriteBypassed = (directory: VirtualPath) => {
    const rule = nearest(directory);
    return rule?.write === true && covers(rule, directory, rule.w_sub);
  };
  const mayTouch = (actor: Actor, path: VirtualPath, change: EntryChange) => {
    const isSeen = change === 'create' ? !isHidden(actor, path) && canRead(actor, path) : canAccess(actor, path, '');
    return isSeen && (change === 'read' || canWrite(actor, path));
  };

  /** The same of the very path of a rule, which nothing hides. */
  const mayTouchBy = ({ password, read_users, write_users }: Rule, actor: Actor, change: EntryChange) => {
    if (change !== 'create' && password !== '' && !hasPermission(actor, 'access_without_password')) return false;
    return isAdmin(actor) || (isListed(read_users, actor) && (change === 'read' || isListed(write_users, actor)));
  };

  const mayTouchWhole = (actor: Actor, path: VirtualPath, change: EntryChange) => {
    if (!mayTouch(actor, path, change)) return false;
    const hides = hidesAt(actor, path);
    for (const step of rules.stepsBelow(path)) if (hides(step) || (step.inner && !mayTouchBy(step.inner, actor, change))) return false;
    return true;
  };
  const findGuard = (path: VirtualPath) => {
    for (const rule of rules.below(path)) if (guards(rule)) return rule.path;
    return undefined;
  };
  return {
    records,
    requireAccess(actor, path, password) {
      if (!canAccess(actor, path, password)) throw ownRefusal('PERMISSION_DENIED', 'password is incorrect or you have no permission');
    },
    canAccess,
    canCreateIn: (actor, directory) => (hasPermission(actor, 'write') || isWriteBypassed(directory)) && canWrite(actor, directory),
    isWriteBypassed,
    canWrite,
    requireEntry(actor, path, change) {
      if (!mayTouchWhole(actor, path, change)) throw denied();
    },
    mayTouch,
    mayTouchWhole,
    isHidden,
    hiddenNames,
    mayHideIn,
    hidesAlike,
    findGuard,
    explain: createExplainAccess({ rules, canRead, canWrite, isGuarded, isWriteBypassed, hidingRule, findGuard }),
    listingFilter(actor, directory, names) {
      const isHiddenHere = hiddenNames(actor, directory, names);
      if (!isHiddenHere && (!hasReadLists || isAdmin(actor))) return undefined;
      return (name, isDirectory, index) => {
        if (isHiddenHere?.(name, index)) return false;
        return (
          !hasReadLists ||
          canRead(actor, isDirectory ? ((directory === '/' ? `/${name}` : `${directory}/${name}`) as VirtualPath) : directory)
        );
      };
    },
    isOpen: (actor, path, password) => !rules.get(path) || canAccess(actor, path, password),
    readme(path) {
      const rule = nearest(path);
      return rule && covers(rule, path, rule.r_sub) ? rule.readme : '';
    },
    header(path) {
      const rule = nearest(path);
      return rule && covers(rule, path, rule.header_sub) ? rule.header : '';
    },
    isGuarded,
    isRestricted: (path) => isGuarded(path) || isHidden(NOBODY, path) || !canRead(NOBODY, path),
  };
}
