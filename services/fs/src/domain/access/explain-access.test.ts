import { isWithin } from '@wharf/paths';
import { hasPermission } from '@wharf/rights';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actor, vpath } from '../testing/memory-tree.ts';
import { ruleRecord } from '../testing/records.ts';
import { createRuleBook } from './rule-book.ts';

const path = fc.constantFrom('/', '/a', '/a/b', '/a/b/c', '/a/x', '/d');
const users = fc.subarray([5, 6]);
const rule = fc.record({
  path,
  password: fc.constantFrom('', '', 'pw'),
  p_sub: fc.boolean(),
  write: fc.boolean(),
  w_sub: fc.boolean(),
  hide: fc.constantFrom('', '', '^b$', '^x$'),
  h_sub: fc.boolean(),
  read_users: users,
  read_users_sub: fc.boolean(),
  write_users: users,
  write_users_sub: fc.boolean(),
});
const who = fc.record({
  id: fc.constantFrom(5, 6, 7),
  role: fc.constantFrom(0, 0, 0, 1, 2),
  permission: fc.integer({ min: 0, max: 255 }),
  basePath: fc.constantFrom(vpath('/'), vpath('/a')),
});

it('an explanation says what the rule book does, and names the rule that it is because of', () => {
  fc.assert(
    fc.property(fc.uniqueArray(rule, { selector: (each) => each.path, maxLength: 4 }), who, path, (rules, rights, text) => {
      const book = createRuleBook(rules.map((each, index) => ruleRecord({ _id: index + 1, ...each })));
      const person = actor(rights);
      const at = vpath(text);
      const decisions = book.explain(person, at);
      const isAllowed = Object.fromEntries(decisions.map(({ action, allowed }) => [action, allowed]));
      const isInside = isWithin(person.basePath, at);
      const may = (name: 'rename' | 'move' | 'copy' | 'delete') => isInside && hasPermission(person, name);
      const isMovable = book.findGuard(at) === undefined;
      expect(isAllowed).toEqual({
        see: isInside && book.canAccess(person, at, ''),
        make: isInside && book.canCreateIn(person, at) && book.mayTouch(person, at, 'create'),
        rename: may('rename') && book.mayTouchWhole(person, at, 'write') && isMovable,
        move: may('move') && book.mayTouchWhole(person, at, 'write') && isMovable,
        copy: may('copy') && book.mayTouchWhole(person, at, 'read'),
        remove: may('delete') && book.mayTouchWhole(person, at, 'write'),
      });
      const withoutRule = ['admin', 'outside', 'permission', 'free'];
      for (const { reason, rulePath } of decisions) {
        if (withoutRule.includes(reason)) expect(rulePath).toBe('');
        else expect(rules.map((each) => each.path)).toContain(rulePath);
      }
    }),
    { numRuns: 2_000 },
  );
});
