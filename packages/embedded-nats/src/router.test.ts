import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRouter, type Subscription } from './router.ts';
import { matches } from './subject.ts';

const token = fc.constantFrom('a', 'b', 'c');
const subject = fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'));
const pattern = fc
  .tuple(fc.array(fc.oneof(token, fc.constant('*')), { maxLength: 3 }), fc.oneof(token, fc.constantFrom('*', '>')))
  .map(([tokens, last]) => [...tokens, last].join('.'));
const subscription = fc.record({ pattern, queue: fc.constantFrom(undefined, 'q1', 'q2') });

it('finds the same as trying every subscription, after any adding and removing', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(subscription, fc.boolean())), subject, (entries, wanted) => {
      const router = createRouter<Subscription>();
      for (const [entry] of entries) router.add(entry);
      for (const [entry, isRemoved] of entries) if (isRemoved) router.remove(entry);
      const expected = entries
        .filter(([entry, isRemoved]) => !isRemoved && matches(entry.pattern.split('.'), wanted.split('.')))
        .map(([entry]) => entry);
      const found = router.find(wanted);
      expect(new Set(found.plain)).toEqual(new Set(expected.filter((entry) => entry.queue === undefined)));
      expect(found.plain).toHaveLength(new Set(found.plain).size);
      for (const queue of ['q1', 'q2']) {
        const members = expected.filter((entry) => entry.queue === queue);
        const group = found.groups.find((entries) => entries[0]?.queue === queue) ?? [];
        expect(new Set(group)).toEqual(new Set(members));
      }
    }),
  );
});
