/** One change and what it leaves. */
export interface Change {
  /** What each name that it touches holds afterwards; undefined: there is no such name. */
  readonly after: ReadonlyMap<string, string | undefined>;
  /** Resolves when it was acknowledged. */
  make(): Promise<unknown>;
}

export const change = (after: Iterable<readonly [string, string | undefined]>, make: () => Promise<unknown>): Change => ({
  after: new Map(after),
  make,
});

/** Things of one kind that are changed one after the other, by name. */
export interface Subject {
  readonly kind: string;
  /** @param number counts the changes of this subject, across restarts */
  next(there: ReadonlyMap<string, string>, number: number): Change;
  /** What each name holds. */
  read(): Promise<ReadonlyMap<string, string>>;
}

/** Changes a subject and remembers what was acknowledged. */
export interface Client {
  readonly kind: string;
  acknowledged(): number;
  /** @throws what the change does; it may have been made all the same */
  step(): Promise<void>;
  /** What is not as it was acknowledged. Goes on from what is there. */
  verify(): Promise<string[]>;
}

export function clientOf(subject: Subject): Client {
  let there: ReadonlyMap<string, string> = new Map();
  let pending: Change | undefined;
  let number = 0;
  let acknowledged = 0;
  return {
    kind: subject.kind,
    acknowledged: () => acknowledged,
    async step() {
      const change = subject.next(there, number++);
      pending = change;
      await change.make();
      const left = new Map(there);
      for (const [name, value] of change.after)
        if (value === undefined) left.delete(name);
        else left.set(name, value);
      there = left;
      pending = undefined;
      acknowledged++;
    },
    async verify() {
      const found = await subject.read();
      const faults: string[] = [];
      for (const name of new Set([...there.keys(), ...found.keys(), ...(pending?.after.keys() ?? [])])) {
        // What was not acknowledged may have been made or not, but never by half.
        const allowed = [there.get(name), ...(pending?.after.has(name) ? [pending.after.get(name)] : [])];
        if (!allowed.includes(found.get(name)))
          faults.push(`${subject.kind} ${name} is ${show(found.get(name))}, should be ${allowed.map(show).join(' or ')}`);
      }
      there = found;
      pending = undefined;
      return faults;
    },
  };
}

const show = (value: string | undefined) => (value === undefined ? 'missing' : `"${value.slice(0, 80)}"`);
