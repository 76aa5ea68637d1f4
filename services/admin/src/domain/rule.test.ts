import { AppError } from '@wharf/errors';
import { countTurns } from '@wharf/harness';
import { createPace } from '@wharf/pace';
import { describe, expect, it } from 'vitest';
import { createRulesRoom, parseRuleFields, type RuleFields, shadowedBy } from './rule.ts';
import { ruleFields } from './testing/fields.ts';

const parse = (given: RuleFields) => parseRuleFields(given, createPace());
const errorOf = (rest: Partial<RuleFields>) =>
  parse(ruleFields(rest)).then(
    () => undefined,
    (error: unknown) => AppError.from(error),
  );

describe('parseRuleFields', () => {
  it('keeps what is in order, cleans the path and names each user once', async () => {
    const given = ruleFields({ path: '//a/b/', hide: '^x\n\n(?i)y$\n', read_users: [2, 1, 2], p_sub: true, readme: '# hi' });
    expect(await parse(given)).toEqual({ ...given, path: '/a/b', read_users: [2, 1] });
  });

  it('passes over what is no field of a rule', async () => {
    expect(await parse({ ...ruleFields(), ...{ id: 3, shadows: ['/'] } })).toEqual(ruleFields());
  });

  it('leaves others their turn between its patterns', async () => {
    const turns = countTurns();
    await parse(ruleFields({ hide: Array.from({ length: 200 }, (_, index) => `(?i)[a-\u4000]${index}`).join('\n') }));
    turns.stop();
    expect(turns.count()).toBeGreaterThan(5);
  });

  it.each([
    ['no path', { path: '' }, 'INVALID_ARGUMENT', 'path is required'],
    ['a path that climbs', { path: '/a/..' }, 'UNSAFE_PATH', 'using relative path is not allowed'],
    ['a hide line that is no pattern', { hide: 'a\n[' }, 'INVALID_ARGUMENT', '[ is illegal: missing closing ]: `[`'],
    ['look-around', { hide: '^(?!a)' }, 'INVALID_ARGUMENT', '^(?!a) is illegal: look-ahead and look-behind are not supported'],
    ['too many hide lines', { hide: 'a\n'.repeat(201) }, 'INVALID_ARGUMENT', 'a is illegal: there may be 200 patterns at most'],
    ['a long readme', { readme: 'x'.repeat(65_537) }, 'INVALID_ARGUMENT', 'readme is longer than 65536 bytes'],
    ['a long password', { password: 'x'.repeat(1_025) }, 'INVALID_ARGUMENT', 'password is longer than 1024 bytes'],
    [
      'too many users',
      { write_users: Array.from({ length: 1_001 }, (_, id) => id) },
      'INVALID_ARGUMENT',
      'write_users has more than 1000 users',
    ],
  ])('refuses %s', async (_what, rest, code, message) => {
    expect(await errorOf(rest)).toMatchObject({ code, message });
  });
});

describe('shadowedBy', () => {
  const rules = new Set(['/', '/a', '/a/b/c', '/ab', '/x']);

  it.each([
    ['/', []],
    ['/a', ['/']],
    ['/ab', ['/']],
    ['/a/b', ['/', '/a']],
    ['/a/b/c/d', ['/', '/a', '/a/b/c']],
  ])('a rule at %s replaces %j', (path, shadowed) => {
    expect(shadowedBy(path, rules)).toEqual(shadowed);
  });

  it('of many rules inside each other the nearest are named', () => {
    const paths = Array.from({ length: 2_000 }, (_, index) => '/a'.repeat(index + 1));
    const shadowed = shadowedBy('/a'.repeat(2_001), new Set(paths));
    expect(shadowed).toEqual(['/a'.repeat(1_999), '/a'.repeat(2_000)]);
  });
});

it('all rules together have 16 MiB, and one that becomes smaller is taken in any case', async () => {
  const long = 'x'.repeat(65_000);
  const texts = { hide: long, readme: long, header: long };
  const all = Array.from({ length: 84 }, (_, id) => ({ ...ruleFields({ path: `/${id}`, ...texts }), id }));
  const full = { code: 'QUOTA_EXCEEDED', message: expect.stringContaining('16 MiB together') };
  const takeRoom = await createRulesRoom(all, createPace());
  takeRoom(ruleFields({ path: '/new', ...texts }), undefined);
  for (const [fields, id] of [
    [ruleFields({ path: '/another', ...texts }), undefined],
    [ruleFields({ path: '/unknown', ...texts }), 99],
  ] as const)
    expect(() => takeRoom(fields, id)).toThrow(expect.objectContaining(full));
  takeRoom(ruleFields({ path: '/1', readme: long }), 1);
  takeRoom(ruleFields({ path: '/another' }), undefined);
});

it('the patterns of all rules together are bounded, the same ones count once, and what becomes less is taken in any case', async () => {
  // Each rule has a third of them: 245 instructions a line.
  const costly = (rule: number) => Array.from({ length: 180 }, (_, line) => `(?:[a-z]{1,9}|q){1,12}${rule}${line}z`).join('\n');
  const all = [1, 2, 2, 2].map((rule, id) => ({ ...ruleFields({ path: `/${id}`, hide: costly(rule) }), id }));
  const takeRoom = await createRulesRoom(all, createPace());
  const full = expect.objectContaining({ code: 'QUOTA_EXCEEDED', message: expect.stringContaining('hide patterns of all rules') });
  takeRoom(ruleFields({ path: '/same', hide: costly(1) }), undefined);
  takeRoom(ruleFields({ path: '/new', hide: costly(3) }), undefined);
  expect(() => takeRoom(ruleFields({ path: '/more', hide: costly(4) }), undefined)).toThrow(full);
  // Others have the same still.
  expect(() => takeRoom(ruleFields({ path: '/1', hide: costly(4) }), 1)).toThrow(full);
  takeRoom(ruleFields({ path: '/1', hide: costly(4).slice(0, 9) }), 1);
  takeRoom(ruleFields({ path: '/more', hide: '^simple$' }), undefined);
});
