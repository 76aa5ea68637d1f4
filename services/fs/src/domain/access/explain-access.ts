import { isWithin, type VirtualPath } from '@wharf/paths';
import { hasPermission, isAdmin, type PermissionName } from '@wharf/rights';
import type { PathTree } from './path-tree.ts';
import type { Actor } from './permissions.ts';
import type { Rule } from './rule.ts';

/** What the admin is told about somebody at a path. */
export interface AccessDecision {
  readonly action: 'see' | 'make' | 'rename' | 'move' | 'copy' | 'remove';
  readonly allowed: boolean;
  readonly reason:
    | 'admin'
    /** Not below the folder of this user. */
    | 'outside'
    /** The permission bit is missing. */
    | 'permission'
    /** No rule stands here, and no permission is missing. */
    | 'free'
    /** A rule stands here, and lets this user. */
    | 'rule'
    /** The rule lets everybody write, so that the missing permission does not count. */
    | 'write'
    | 'password'
    | 'hidden'
    | 'readers'
    | 'writers'
    /** What a rule guards keeps its path. */
    | 'guarded';
  /** Where the rule stands that the reason speaks of; empty: no rule had a part in it. */
  readonly rulePath: string;
}

/** The questions of the rule book that an explanation is made of. */
interface Questions {
  readonly rules: PathTree<Rule>;
  canRead(actor: Actor, path: VirtualPath): boolean;
  canWrite(actor: Actor, path: VirtualPath): boolean;
  isGuarded(path: VirtualPath): boolean;
  isWriteBypassed(path: VirtualPath): boolean;
  hidingRule(actor: Actor, path: VirtualPath): Rule | undefined;
  findGuard(path: VirtualPath): string | undefined;
}

type Why = Pick<AccessDecision, 'reason' | 'rulePath'>;

/** Says of each action whether somebody may do it at a path, and why. A password counts as not given. */
export function createExplainAccess({ rules, canRead, canWrite, isGuarded, isWriteBypassed, hidingRule, findGuard }: Questions) {
  const ruleAt = (path: VirtualPath) => rules.nearest(path)?.path ?? '';
  const refusal = (actor: Actor, path: VirtualPath, change: 'read' | 'write' | 'create'): Why | undefined => {
    const hiding = hidingRule(actor, path);
    if (hiding) return { reason: 'hidden', rulePath: hiding.path };
    const rulePath = ruleAt(path);
    if (!canRead(actor, path)) return { reason: 'readers', rulePath };
    if (change !== 'create' && isGuarded(path) && !hasPermission(actor, 'access_without_password')) return { reason: 'password', rulePath };
    if (change !== 'read' && !canWrite(actor, path)) return { reason: 'writers', rulePath };
    return undefined;
  };
  /** The entry itself, and every rule inside it. */
  const refusalOfWhole = (actor: Actor, path: VirtualPath, change: 'read' | 'write'): Why | undefined => {
    const own = refusal(actor, path, change);
    if (own) return own;
    for (const { path: inner } of rules.below(path)) {
      const found = inner === path ? undefined : refusal(actor, inner as VirtualPath, change);
      if (found) return found;
    }
    return undefined;
  };
  const guard = (path: VirtualPath): Why | undefined => {
    const rulePath = findGuard(path);
    return rulePath === undefined ? undefined : { reason: 'guarded', rulePath };
  };

  return (actor: Actor, path: VirtualPath): readonly AccessDecision[] => {
    const granted = (): Why => {
      const rulePath = ruleAt(path);
      return { reason: isAdmin(actor) ? 'admin' : rulePath === '' ? 'free' : 'rule', rulePath: isAdmin(actor) ? '' : rulePath };
    };
    const decide = (action: AccessDecision['action'], refused: Why | undefined, reason = granted()): AccessDecision => ({
      action,
      allowed: refused === undefined,
      ...(refused ?? reason),
    });
    const lacks = (name: PermissionName): Why | undefined =>
      hasPermission(actor, name) ? undefined : { reason: 'permission', rulePath: '' };
    const outside: Why | undefined = isWithin(actor.basePath, path) ? undefined : { reason: 'outside', rulePath: '' };
    const isByRule = !hasPermission(actor, 'write') && isWriteBypassed(path);
    const written: Why = isByRule ? { reason: 'write', rulePath: ruleAt(path) } : granted();
    const changed = (name: PermissionName) => outside ?? lacks(name) ?? refusalOfWhole(actor, path, 'write');
    return [
      decide('see', outside ?? refusal(actor, path, 'read')),
      decide('make', outside ?? (isByRule ? undefined : lacks('write')) ?? refusal(actor, path, 'create'), written),
      decide('rename', changed('rename') ?? guard(path)),
      decide('move', changed('move') ?? guard(path)),
      decide('copy', outside ?? lacks('copy') ?? refusalOfWhole(actor, path, 'read')),
      decide('remove', changed('delete')),
    ];
  };
}
