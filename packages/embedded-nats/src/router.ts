import { hasWildcard, matches } from './subject.ts';

/** One SUB of one connection. */
export interface Subscription {
  readonly pattern: string;
  /** Members of one group share the messages; undefined gets all of them. */
  readonly queue: string | undefined;
}

/** Who gets a message: all of `plain`, and of each group one. No list in `groups` is empty. */
interface Receivers<S> {
  readonly plain: readonly S[];
  readonly groups: readonly (readonly S[])[];
}

/** The subscriptions of all connections. Those without wildcards are found by name, the others (few) are tried one by one. */
export interface Router<S extends Subscription> {
  add(subscription: S): void;
  remove(subscription: S): void;
  /** Each subscription at most once; a group is known by its name alone, whatever the patterns of its members. */
  find(subject: string): Receivers<S>;
}

export function createRouter<S extends Subscription>(): Router<S> {
  const literal = new Map<string, Set<S>>();
  const wildcard = new Map<S, readonly string[]>();
  return {
    add(subscription) {
      const { pattern } = subscription;
      if (hasWildcard(pattern)) {
        wildcard.set(subscription, pattern.split('.'));
        return;
      }
      const known = literal.get(pattern);
      if (known === undefined) literal.set(pattern, new Set([subscription]));
      else known.add(subscription);
    },
    remove(subscription) {
      if (wildcard.delete(subscription)) return;
      const known = literal.get(subscription.pattern);
      known?.delete(subscription);
      if (known?.size === 0) literal.delete(subscription.pattern);
    },
    find(subject) {
      const plain: S[] = [];
      const groups = new Map<string, S[]>();
      const take = (subscription: S) => {
        if (subscription.queue === undefined) {
          plain.push(subscription);
          return;
        }
        const members = groups.get(subscription.queue);
        if (members === undefined) groups.set(subscription.queue, [subscription]);
        else members.push(subscription);
      };
      for (const subscription of literal.get(subject) ?? []) take(subscription);
      if (wildcard.size > 0) {
        const tokens = subject.split('.');
        for (const [subscription, pattern] of wildcard) if (matches(pattern, tokens)) take(subscription);
      }
      return { plain, groups: [...groups.values()] };
    },
  };
}
