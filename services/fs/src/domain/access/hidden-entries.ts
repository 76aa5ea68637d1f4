import { baseName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { hasPermission } from '@wharf/rights';
import type { PathTree, Step } from './path-tree.ts';
import type { Actor } from './permissions.ts';
import { covers, matchesHide, matchesHideIn, type Rule } from './rule.ts';

/** What rules hide from whoever may not see hidden entries. */
export interface HiddenEntries {
  isHidden(actor: Actor, path: VirtualPath): boolean;
  /** The rule by which the path, or a folder on the way to it, is hidden from the actor. */
  hidingRule(actor: Actor, path: VirtualPath): Rule | undefined;
  /** Tells of each step at or below a path whether it leads to what is hidden from the actor. */
  hidesAt(actor: Actor, path: VirtualPath): (step: Step<Rule>) => boolean;
  /** Which names of a folder's entries are hidden, by the rule of that folder; undefined when none is. @param names as of RuleBook.listingFilter() */
  hiddenNames(actor: Actor, directory: VirtualPath, names?: readonly string[]): ((name: string, index?: number) => boolean) | undefined;
  /** Whether anything can be hidden in a folder or in what is below it. */
  mayHideIn(actor: Actor, directory: VirtualPath): boolean;
  /** Whether the same is hidden from the actor in both folders, and in all that is below them. */
  hidesAlike(actor: Actor, one: VirtualPath, other: VirtualPath): boolean;
}

/** @param hasHidden whether any rule hides anything */
export function createHiddenEntries(rules: PathTree<Rule>, hasHidden: boolean): HiddenEntries {
  /** The last answer for each actor: whether a folder is hidden. The entries of a folder are asked about one after another. */
  const lastFolder = new WeakMap<Actor, { readonly folder: VirtualPath; readonly isHidden: boolean }>();

  /** Every folder on the way counts: an entry in a hidden folder is hidden too. Folders above the actor's base path do not count. */
  const isHidden = (actor: Actor, path: VirtualPath): boolean => {
    if (!hasHidden || path === '/' || path === actor.basePath || hasPermission(actor, 'see_hides')) return false;
    const folder = parentPath(path);
    const rule = rules.nearest(folder);
    if (rule && covers(rule, folder, rule.h_sub) && matchesHide(rule, baseName(path) ?? '')) return true;
    const last = lastFolder.get(actor);
    if (last?.folder === folder) return last.isHidden;
    const isFolderHidden = hidingOnTheWay(actor, folder) !== undefined;
    lastFolder.set(actor, { folder, isHidden: isFolderHidden });
    return isFolderHidden;
  };
  const hidingOnTheWay = (actor: Actor, path: VirtualPath): Rule | undefined => {
    const hides = hidesBelowBase(actor, path);
    for (const step of rules.steps(path)) if (hides(step)) return step.nearest;
    return undefined;
  };
  /** The rule that hides names of a folder's entries. */
  const hidingIn = (directory: VirtualPath): Rule | undefined => {
    const rule = rules.nearest(directory);
    return rule && rule.hidePatterns.length > 0 && covers(rule, directory, rule.h_sub) ? rule : undefined;
  };
  const hiddenNames: HiddenEntries['hiddenNames'] = (actor, directory, names) => {
    const rule = hasPermission(actor, 'see_hides') ? undefined : hidingIn(directory);
    if (!rule) return undefined;
    const matchesAt = names && matchesHideIn(rule, names);
    return (name, index) => (matchesAt && index !== undefined ? matchesAt(name, index) : matchesHide(rule, name));
  };

  return {
    isHidden,
    hidingRule: (actor, path) => (!hasHidden || hasPermission(actor, 'see_hides') ? undefined : hidingOnTheWay(actor, path)),
    hidesAt: (actor, path) => (!hasHidden || hasPermission(actor, 'see_hides') ? () => false : hidesBelowBase(actor, path)),
    hiddenNames,
    mayHideIn(actor, directory) {
      if (hasPermission(actor, 'see_hides')) return false;
      if (hiddenNames(actor, directory)) return true;
      for (const rule of rules.below(directory)) if (rule.hidePatterns.length > 0) return true;
      return false;
    },
    hidesAlike(actor, one, other) {
      if (!hasHidden || hasPermission(actor, 'see_hides') || one === other) return true;
      const rule = hidingIn(one);
      if (rule !== hidingIn(other)) return false;
      // Where a rule hides, any below it may show again.
      for (const folder of [one, other]) for (const below of rules.below(folder)) if (rule || below.hidePatterns.length > 0) return false;
      return true;
    },
  };
}

/** @param path on the way to which the steps are, or above them */
function hidesBelowBase({ basePath }: Actor, path: VirtualPath): (step: Step<Rule>) => boolean {
  const rootLength = isWithin(basePath, path) && basePath !== '/' ? basePath.length : 0;
  return ({ name, value, nearest: rule, length }) =>
    length > rootLength && rule !== undefined && (value === rule || rule.h_sub) && matchesHide(rule, name);
}
