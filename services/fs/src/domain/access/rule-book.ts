import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { baseName, isWithin, parentPath, VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import { hasPermission, isAdmin } from '@wharf/rights';
import { RE2JS } from 're2js';
import { PathTree } from './path-tree.ts';
import { type Actor, denied } from './permissions.ts';

/** A rule with its patterns compiled. Exactly one rule applies to a path: the nearest, whatever stands further up. */
interface Rule extends RuleRecord {
  readonly hidePatterns: readonly RE2JS[];
  /** Which names they match, as far as it is known: each page of a folder asks for all its names again. */
  readonly matches: Map<string, boolean>;
}

/** Names that a rule remembers at most: those of a very big folder, and about 10 MB. */
const MAX_REMEMBERED = 131_072;

/** What an operation does with an entry: look at it, change or remove it, or make it. */
type EntryChange = 'read' | 'write' | 'create';

/** What the path rules say about who may see and change what. */
export interface RuleBook {
  /** What it was made of; the same list for the same book. */
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
   * For an operation on an entry itself (rename, move, copy, remove): its own rule, and every rule below it, must allow it. A place where
   * an entry is to be made is not asked for its password: making one shows nothing.
   * @throws AppError PERMISSION_DENIED
   */
  requireEntry(actor: Actor, path: VirtualPath, change: EntryChange): void;
  /** The same as an answer, of the entry alone and of all that rules guard in it. */
  mayTouch(actor: Actor, path: VirtualPath, change: EntryChange): boolean;
  mayTouchWhole(actor: Actor, path: VirtualPath, change: EntryChange): boolean;
  /** Which names of a folder's entries are hidden from the actor, by the rule of that folder; undefined when none is. */
  hiddenNames(actor: Actor, directory: VirtualPath): ((name: string) => boolean) | undefined;
  /** Whether anything can be hidden from the actor in a folder or in what is below it. */
  mayHideIn(actor: Actor, directory: VirtualPath): boolean;
  /** The path of a rule at or below a place that keeps somebody from seeing or changing something; undefined when there is none. */
  findGuard(path: VirtualPath): string | undefined;
  /** A filter for the names of a folder's entries; undefined when nothing is left out. */
  listingFilter(actor: Actor, directory: VirtualPath): ((name: string, isDirectory: boolean) => boolean) | undefined;
  /** Whether a rule that stands at this very path lets the actor read what is there; true where none stands. */
  isOpen(actor: Actor, path: VirtualPath, password: string): boolean;
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
  for (const record of records)
    rules.set(record.path as VirtualPath, { ...record, hidePatterns: compileHide(record.hide), matches: new Map() });
  const hasReadLists = records.some((record) => record.read_users.length > 0);

  const nearest = (path: VirtualPath): Rule | undefined => rules.nearest(path);
  const hasHidden = records.some((record) => record.hide !== '');
  /** Whether a folder is hidden from somebody who was asked about last: its entries are asked about one after another. */
  const lastFolder = new WeakMap<Actor, { readonly folder: VirtualPath; readonly isHidden: boolean }>();

  /** Every folder on the way counts: what lies in a hidden folder is hidden too. What holds above the actor's base path does not count. */
  const isHidden = (actor: Actor, path: VirtualPath): boolean => {
    if (!hasHidden || path === '/' || path === actor.basePath || hasPermission(actor, 'see_hides')) return false;
    const folder = parentPath(path);
    const rule = nearest(folder);
    if (rule && covers(rule, folder, rule.h_sub) && matchesHide(rule, baseName(path) ?? '')) return true;
    const last = lastFolder.get(actor);
    if (last?.folder === folder) return last.isHidden;
    const isFolderHidden = isHiddenOnTheWay(actor, folder);
    lastFolder.set(actor, { folder, isHidden: isFolderHidden });
    return isFolderHidden;
  };
  const isHiddenOnTheWay = (actor: Actor, path: VirtualPath): boolean => {
    const rootLength = isWithin(actor.basePath, path) && actor.basePath !== '/' ? actor.basePath.length : 0;
    for (const { name, value, nearest: rule, length } of rules.steps(path))
      if (length > rootLength && rule && (value === rule || rule.h_sub) && matchesHide(rule, name)) return true;
    return false;
  };
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
    return nearest(path)?.password === password;
  };
  const isWriteBypassed = (directory: VirtualPath) => {
    const rule = nearest(directory);
    return rule?.write === true && covers(rule, directory, rule.w_sub);
  };
  const mayTouch = (actor: Actor, path: VirtualPath, change: EntryChange) => {
    const isSeen = change === 'create' ? !isHidden(actor, path) && canRead(actor, path) : canAccess(actor, path, '');
    return isSeen && (change === 'read' || canWrite(actor, path));
  };

  const mayTouchWhole = (actor: Actor, path: VirtualPath, change: EntryChange) => {
    if (!mayTouch(actor, path, change)) return false;
    for (const { path: inner } of rules.below(path)) if (inner !== path && !mayTouch(actor, inner as VirtualPath, change)) return false;
    return true;
  };
  const hiddenNames = (actor: Actor, directory: VirtualPath) => {
    if (hasPermission(actor, 'see_hides')) return undefined;
    const rule = nearest(directory);
    if (!rule || rule.hidePatterns.length === 0 || !covers(rule, directory, rule.h_sub)) return undefined;
    return (name: string) => matchesHide(rule, name);
  };

  return {
    records,
    requireAccess(actor, path, password) {
      if (!canAccess(actor, path, password)) throw new AppError('PERMISSION_DENIED', 'password is incorrect or you have no permission');
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
    hiddenNames,
    mayHideIn(actor, directory) {
      if (hasPermission(actor, 'see_hides')) return false;
      if (hiddenNames(actor, directory)) return true;
      for (const rule of rules.below(directory)) if (rule.hidePatterns.length > 0) return true;
      return false;
    },
    findGuard(path) {
      for (const rule of rules.below(path)) if (guards(rule)) return rule.path;
      return undefined;
    },
    listingFilter(actor, directory) {
      const isHiddenHere = hiddenNames(actor, directory);
      if (!isHiddenHere && (!hasReadLists || isAdmin(actor))) return undefined;
      return (name, isDirectory) => {
        if (isHiddenHere?.(name)) return false;
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

function covers(rule: Rule, path: VirtualPath, includesBelow: boolean): boolean {
  return rule.path === path || (includesBelow && isWithin(rule.path as VirtualPath, path));
}

function guards(rule: Rule): boolean {
  return rule.password !== '' || rule.hidePatterns.length > 0 || rule.read_users.length > 0 || rule.write_users.length > 0;
}

function isListed(users: readonly number[], actor: Actor): boolean {
  return users.length === 0 || users.includes(actor.id);
}

function matchesHide({ hidePatterns, matches }: Rule, name: string): boolean {
  const known = matches.get(name);
  if (known !== undefined) return known;
  const isMatch = hidePatterns.some((pattern) => pattern.matcher(name).find());
  if (matches.size >= MAX_REMEMBERED) matches.clear();
  matches.set(name, isMatch);
  return isMatch;
}

/** One pattern per line, linear in time; an empty line is none. A line that does not compile (it was refused when saved) hides nothing. */
function compileHide(lines: string): RE2JS[] {
  const patterns: RE2JS[] = [];
  for (const line of lines.split('\n').map((each) => each.replace(/\r$/, ''))) {
    if (line === '') continue;
    try {
      patterns.push(RE2JS.compile(line));
    } catch {
      // Admin refuses such a line with its reason; one that is there anyway must not stop every listing.
    }
  }
  return patterns;
}
