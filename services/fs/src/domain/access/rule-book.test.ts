import { countTurns } from '@wharf/harness';
import { closedRule, type RuleRecord } from '@wharf/models';
import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { countWork } from '../testing/count-work.ts';
import { actor, vpath } from '../testing/memory-tree.ts';
import { ruleRecord } from '../testing/records.ts';
import { refusal } from '../testing/refusal.ts';
import { usedBytes } from '../testing/used-bytes.ts';
import type { Actor } from './permissions.ts';
import { createRuleBook, createRuleBookInTurns } from './rule-book.ts';

const bookOf = (...rules: Partial<RuleRecord>[]) => createRuleBook(rules.map((rest, index) => ruleRecord({ _id: index + 1, ...rest })));
/** Bits 0 (hidden entries) and 1 (passwords) are what rules ask for. */
const plain = actor({ permission: 0b11111000 });
const seer = actor({ permission: 0b1 });
const trusted = actor({ permission: 0b10 });
const admin = actor({ role: 2, permission: 0 });
const REFUSED = ['PERMISSION_DENIED', 'password is incorrect or you have no permission'];

type Book = ReturnType<typeof bookOf>;
const mayAccess = (book: Book, who: Actor, path: string, password = '') => {
  try {
    book.requireAccess(who, vpath(path), password);
    return true;
  } catch {
    return false;
  }
};
const mayTouch = (book: Book, who: Actor, path: string, change: 'read' | 'write' | 'create') => {
  try {
    book.requireEntry(who, vpath(path), change);
    return true;
  } catch {
    return false;
  }
};

describe('the nearest rule', () => {
  const book = bookOf(
    { path: '/', readme: 'root', r_sub: true, header: 'h', header_sub: false },
    { path: '/a', readme: 'a', r_sub: false, header: 'ha', header_sub: true },
  );

  it.each([
    ['/', 'root', 'h'],
    ['/x/y', 'root', ''],
    ['/a', 'a', 'ha'],
    ['/a/b', '', 'ha'],
    ['/ab', 'root', ''],
  ])('of %s is the only one that counts', (path, readme, header) => {
    expect([book.readme(vpath(path)), book.header(vpath(path))]).toEqual([readme, header]);
  });
});

describe('a password', () => {
  const book = bookOf({ path: '/a', password: 'pw', p_sub: true }, { path: '/b', password: 'pw' }, { path: '/a/free' });

  it.each([
    ['/a', plain, '', false],
    ['/a', plain, 'wrong', false],
    ['/a', plain, 'p', false],
    ['/a', plain, 'pw ', false],
    ['/a', plain, 'PW', false],
    ['/a', plain, 'p\u0174', false],
    ['/a', plain, 'pw', true],
    ['/a/x/y', plain, '', false],
    ['/a/x/y', plain, 'pw', true],
    ['/a', trusted, '', true],
    ['/a', admin, '', true],
    ['/b', plain, '', false],
    ['/b/x', plain, '', true],
    ['/a/free', plain, '', true],
    ['/a/free/x', plain, '', true],
    ['/ab', plain, '', true],
  ])('of %s', (path, who, password, isAllowed) => {
    expect(mayAccess(book, who, path, password)).toBe(isAllowed);
  });

  it('that is wrong is refused in the words of the family', () => {
    expect(refusal(() => book.requireAccess(plain, vpath('/a'), ''))).toEqual(REFUSED);
  });

  it('makes links need a signature where it guards', () => {
    expect(['/a', '/a/x', '/b', '/b/x', '/a/free', '/'].map((path) => book.isRestricted(vpath(path)))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('hidden entries', () => {
  const book = bookOf(
    { path: '/a', hide: 'secret\n\n^\\.\r\n(unclosed', h_sub: true },
    { path: '/b', hide: '^x$' },
    { path: '/a/secret/own' },
  );

  it.each([
    ['/a/my secret', false],
    ['/a/Secret', true],
    ['/a/.dot', false],
    ['/a/b/.dot', false],
    ['/a/plain', true],
    ['/a', true],
    ['/b/x', false],
    ['/b/x/y', false],
    ['/b/c/x', true],
    // A rule of its own does not show what is in a hidden folder.
    ['/a/secret/own', false],
    ['/a/secret/own/file', false],
  ])('%s may be seen: %s', (path, isSeen) => {
    expect(mayAccess(book, plain, path)).toBe(isSeen);
    expect(mayAccess(book, seer, path)).toBe(true);
    expect(mayAccess(book, admin, path)).toBe(true);
  });

  it('above somebody’s own root do not hide it from them', () => {
    const inside = { ...plain, basePath: vpath('/a/secret') };
    expect(mayAccess(book, inside, '/a/secret/file')).toBe(true);
    expect(mayAccess(book, inside, '/a/secret/.dot')).toBe(false);
  });

  it('are left out of listings, whoever may not see them', () => {
    const names = ['plain', 'secrets', '.git', 'a.b'];
    const shown = (who: Actor, directory: string) => {
      const filter = book.listingFilter(who, vpath(directory));
      return names.filter((name) => !filter || filter(name, false));
    };
    expect(shown(plain, '/a')).toEqual(['plain', 'a.b']);
    expect(shown(plain, '/a/deeper')).toEqual(['plain', 'a.b']);
    expect(shown(plain, '/b/deeper')).toEqual(names);
    expect(shown(seer, '/a')).toEqual(names);
    expect(book.listingFilter(plain, vpath('/elsewhere'))).toBeUndefined();
  });

  it('C19: are found in linear time whatever the pattern', () => {
    const filter = bookOf({ path: '/', hide: '(a+)+$' }).listingFilter(plain, vpath('/'));
    // An engine that goes back would not be done with the first of them.
    const names = Array.from({ length: 50_000 }, (_, index) => `${'a'.repeat(40)}!${index}`);
    expect(names.every((name) => filter?.(name, false))).toBe(true);
  }, 60_000);
});

describe('lists of readers', () => {
  const book = bookOf(
    { path: '/a', read_users: [7], read_users_sub: true },
    { path: '/b', read_users: [8], read_users_sub: false },
    { path: '/c', read_users: [8], read_users_sub: true },
    { path: '/c/open' },
  );

  it.each([
    ['/a', true],
    ['/b', false],
    ['/b/x', true],
    ['/c', false],
    ['/c/x', false],
    ['/c/open', true],
  ])('%s may be read: %s', (path, isAllowed) => {
    expect(mayAccess(book, plain, path, '')).toBe(isAllowed);
    expect(mayAccess(book, admin, path)).toBe(true);
  });

  it('leave folders out of listings by their own rule, and files by that of the listing', () => {
    const filter = book.listingFilter(plain, vpath('/'));
    expect(['a', 'b', 'c', 'd'].filter((name) => filter?.(name, true))).toEqual(['a', 'd']);
    expect(['a', 'b', 'c', 'd'].filter((name) => filter?.(name, false))).toEqual(['a', 'b', 'c', 'd']);
    expect(book.listingFilter(admin, vpath('/'))).toBeUndefined();
  });

  it('make links need a signature', () => {
    expect(['/a/x', '/b', '/b/x', '/c/open'].map((path) => book.isRestricted(vpath(path)))).toEqual([true, true, false, false]);
  });
});

describe('writing', () => {
  const nobody = actor({ permission: 0 });
  const book = bookOf(
    { path: '/drop', write: true },
    { path: '/free', write: true, w_sub: true },
    { path: '/list', write: true, w_sub: true, write_users: [8], write_users_sub: true },
    { path: '/here', write_users: [8] },
  );

  it.each([
    // directory, with the permission, without it, bypassed
    ['/', true, false, false],
    ['/drop', true, true, true],
    ['/drop/x', true, false, false],
    ['/free/x', true, true, true],
    ['/list', false, false, true],
    ['/list/x', false, false, true],
    ['/here', false, false, false],
    ['/here/x', true, false, false],
  ])('into %s', (directory, withBit, withoutBit, isBypassed) => {
    const path = vpath(directory);
    expect(book.canCreateIn(plain, path)).toBe(withBit);
    expect(book.canCreateIn(nobody, path)).toBe(withoutBit);
    expect(book.isWriteBypassed(path)).toBe(isBypassed);
    expect(book.canCreateIn(admin, path)).toBe(true);
  });
});

describe('an operation on an entry', () => {
  const book = bookOf(
    { path: '/tree/locked', password: 'pw', p_sub: true },
    { path: '/tree/foreign', read_users: [8] },
    { path: '/tree/fixed', write_users: [8] },
    { path: '/hide', hide: '^h' },
  );

  it.each([
    ['/tree/plain', true, true, true],
    // Everything below must allow it too.
    ['/tree', false, false, false],
    ['/tree/locked', false, false, true],
    ['/tree/locked/x', false, false, true],
    ['/tree/foreign', false, false, false],
    ['/tree/fixed', true, false, false],
    ['/hide/hidden', false, false, false],
    ['/hide/shown', true, true, true],
  ])('%s: reading %s, changing %s, making %s', (path, reads, writes, creates) => {
    expect((['read', 'write', 'create'] as const).map((change) => mayTouch(book, plain, path, change))).toEqual([reads, writes, creates]);
    expect((['read', 'write', 'create'] as const).map((change) => mayTouch(book, admin, path, change))).toEqual([true, true, true]);
  });

  it('that is refused says only that', () => {
    expect(refusal(() => book.requireEntry(plain, vpath('/tree'), 'read'))).toEqual(['PERMISSION_DENIED', 'permission denied']);
  });
});

describe('an entry with a rule of its own', () => {
  it('is closed to whom that rule refuses; all others are open', () => {
    const book = bookOf({ path: '/a/locked', password: 'word' }, { path: '/a/listed', read_users: [99] });
    const isOpen = (who: Actor, path: string, password = '') => book.isOpen(who, vpath(path), password);
    expect([isOpen(plain, '/a/locked'), isOpen(plain, '/a/listed'), isOpen(plain, '/a/other')]).toEqual([false, false, true]);
    expect([isOpen(plain, '/a/locked', 'word'), isOpen(trusted, '/a/locked'), isOpen(admin, '/a/listed')]).toEqual([true, true, true]);
  });
});

describe('a path of many segments', () => {
  const book = bookOf({ path: '/', hide: '^secret$', h_sub: true }, { path: '/s/s', read_users: [7], password: 'word', write_users: [7] });
  const deep = (segments: number) => vpath('/s'.repeat(segments));
  const growth = (act: (segments: number) => void) => {
    const [once = 0, twice = 0, fourTimes = 0] = [400, 800, 1600].map((segments) => countWork(() => act(segments)));
    expect(once).toBeGreaterThan(0);
    return [twice / once, fourTimes / once];
  };

  it.each<[string, (path: VirtualPath) => unknown]>([
    ['whether it is restricted', (path) => book.isRestricted(path)],
    ['whether somebody may see it', (path) => book.canAccess(plain, path, 'word')],
    ['whether somebody may change all of it', (path) => book.mayTouchWhole(plain, path, 'write')],
    ['whether anything in it may be hidden', (path) => book.mayHideIn(plain, path)],
  ])('is read once: %s', (_what, ask) => {
    const [twice, fourTimes] = growth((segments) => void ask(deep(segments)));
    expect(twice).toBeLessThan(2.2);
    expect(fourTimes).toBeLessThan(4.4);
  });

  it('is read once for all entries of a folder', () => {
    const ask = (entries: number) => () => {
      for (let index = 0; index < entries; index += 1) book.isRestricted(childPath(deep(1000), `f${index}` as EntryName));
    };
    expect(countWork(ask(400)) / countWork(ask(100))).toBeLessThan(4.4);
    expect(countWork(ask(100)) / 100).toBeLessThan(200);
  });
});

it('what is asked of one path does not grow with the rules elsewhere', () => {
  const work = (count: number) => {
    const book = bookOf(...Array.from({ length: count }, (_, index) => ({ path: `/r${index}`, hide: 'x', password: 'word' })));
    const [path, seen] = [vpath('/a/b'), actor({ permission: 2 })];
    return countWork(() => [book.mayTouchWhole(seen, path, 'write'), book.mayHideIn(seen, path), book.findGuard(path)]);
  };
  expect(work(4000)).toBe(work(1000));
});

it('what is remembered of a name is the name, not the path in which it was asked for (C18)', () => {
  const book = bookOf({ path: '/', hide: '^secret$' });
  const below = `/${'x'.repeat(250)}`.repeat(15);
  const before = usedBytes();
  for (let index = 0; index < 5_000; index += 1) book.canAccess(plain, vpath(`/name-number-${index}${below}`), '');
  // The paths have 19 MB.
  expect(usedBytes() - before).toBeLessThan(5_000_000);
  expect(mayAccess(book, plain, '/secret')).toBe(false);
});

it('patterns are compiled when a path below their rule is asked for, and once, however often the configuration changes', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  try {
    const open = () =>
      bookOf(...Array.from({ length: 200 }, (_, index) => ({ path: `/r${index}`, hide: `^one-${index}$\n^two-${index}$` })));
    const book = open();
    expect(compile).not.toHaveBeenCalled();
    expect(mayAccess(book, plain, '/r7/two-7')).toBe(false);
    expect(mayAccess(book, plain, '/r7/two-8')).toBe(true);
    expect(compile).toHaveBeenCalledTimes(2);
    expect(mayAccess(open(), plain, '/r7/one-7')).toBe(false);
    expect(compile).toHaveBeenCalledTimes(2);
  } finally {
    compile.mockRestore();
  }
});

/** Each takes about half a millisecond to compile, and 48 KiB when it is. */
const costlyLines = (rule: number) => Array.from({ length: 200 }, (_, line) => `(?:[a-z]{1,9}|q){1,12}${rule}-${line}z`).join('\n');

it('others have their turn while the patterns of rules inside each other are compiled, and none is left for whoever asks for a path below', async () => {
  const rules = Array.from({ length: 2 }, (_, index) => ruleRecord({ _id: index, path: '/d'.repeat(index + 1), hide: costlyLines(index) }));
  const turns = countTurns();
  const book = await createRuleBookInTurns(rules);
  turns.stop();
  expect(turns.count()).toBeGreaterThan(5);
  const compile = vi.spyOn(RE2JS, 'compile');
  try {
    expect(mayAccess(book, plain, '/d/d/d/d')).toBe(true);
    expect(mayTouch(book, plain, '/d', 'write')).toBe(true);
    expect(compile).not.toHaveBeenCalled();
  } finally {
    compile.mockRestore();
  }
});

it.each(['(?i)^read-write\\.txt$', '(?i)^disk[a-d]\\.iso$', '(?i)[\\x{41}-\\x{1e942}]'])('a rule that hides %j is made', async (hide) => {
  const book = await createRuleBookInTurns([ruleRecord({ path: '/d', hide })]);
  expect(mayAccess(book, plain, '/d/none')).toBe(!hide.includes('1e942'));
});

it('patterns of rules that are more than admin takes do not fill the memory, and hide all the same (C18)', () => {
  const rules = Array.from({ length: 10 }, (_, index) => ({ path: `/r${index}`, hide: `^secret$\n${costlyLines(index + 10)}` }));
  const book = bookOf(...rules);
  const before = usedBytes();
  for (const { path } of [...rules, ...rules]) {
    expect(mayAccess(book, plain, `${path}/secret`)).toBe(false);
    expect(mayAccess(book, plain, `${path}/x`)).toBe(true);
  }
  // All take 90 MB.
  expect(usedBytes() - before).toBeLessThan(48 * 1024 * 1024);
});

it('whether somebody may change all of a folder is what the rules below it say one by one', () => {
  const path = fc.array(fc.constantFrom('a', 'b'), { maxLength: 4 }).map((names) => vpath(`/${names.join('/')}`));
  const users = fc.constantFrom<number[]>([], [], [7], [9]);
  const record = fc.record({
    ...{ path, password: fc.constantFrom('', '', 'word'), hide: fc.constantFrom('', '', 'a', 'b') },
    ...{ p_sub: fc.boolean(), h_sub: fc.boolean(), read_users_sub: fc.boolean(), write_users_sub: fc.boolean() },
    ...{ read_users: users, write_users: users },
  });
  const who = fc.record({
    id: fc.constant(7),
    role: fc.constantFrom(0, 0, 2),
    permission: fc.constantFrom(0, 1, 2, 3),
    basePath: fc.constant(vpath('/')),
  });
  fc.assert(
    fc.property(fc.uniqueArray(record, { maxLength: 5, selector: (each) => each.path }), who, path, (records, asking, top) => {
      const book = bookOf(...records);
      const below = records.filter((each) => top === '/' || each.path === top || each.path.startsWith(`${top}/`)).map((each) => each.path);
      for (const change of ['read', 'write', 'create'] as const)
        expect(book.mayTouchWhole(asking, top, change)).toBe([top, ...below].every((each) => book.mayTouch(asking, each, change)));
    }),
    { numRuns: 500 },
  );
});

it('the way to each of many rules inside each other is gone once where all below a folder is asked for', () => {
  const work = (count: number) => {
    const book = bookOf(...Array.from({ length: count }, (_, index) => ({ path: '/d'.repeat(index + 1), hide: 'x', h_sub: true })));
    return countWork(() => book.mayTouchWhole(plain, vpath('/d'), 'write'));
  };
  expect(work(800) / work(200)).toBeLessThan(4.4);
});

describe('a rule that cannot be opened', () => {
  const stored = [
    { path: '/a', password: 'broken', write: true, w_sub: true },
    { path: '/a/open', readme: 'r' },
    { path: '/odd', read_users: undefined as unknown as number[], password: 'broken' },
    { path: '/b', password: 'pw' },
  ].map((rest, index) => ruleRecord({ _id: index + 1, ...rest }));
  const closed: string[] = [];
  const opening = createRuleBookInTurns(
    stored,
    (record) => {
      if (record.password === 'broken') throw new Error('it cannot be opened');
      return record;
    },
    (_error, record) => {
      closed.push(record.path);
      return closedRule(record);
    },
  );

  it('closes its path and what is below to all but admins, and is in the way of no other', async () => {
    const book = await opening;
    expect(closed).toEqual(['/a', '/odd']);
    const paths = ['/a', '/a/x', '/a/x/y', '/a/open', '/odd/x', '/b', '/c'];
    const seen = (who: Actor) => paths.filter((path) => mayAccess(book, who, path, 'broken') || mayAccess(book, who, path, 'pw'));
    expect(seen(plain)).toEqual(['/b', '/c']);
    expect(seen(admin)).toEqual(paths);
    expect(paths.filter((path) => mayTouch(book, plain, path, 'create'))).toEqual(['/b', '/c']);
    expect([book.canCreateIn(plain, vpath('/a')), book.isWriteBypassed(vpath('/a/x')), book.canCreateIn(admin, vpath('/a'))]).toEqual([
      false,
      false,
      true,
    ]);
    expect([book.isRestricted(vpath('/a')), book.isRestricted(vpath('/a/x')), book.isRestricted(vpath('/c'))]).toEqual([true, true, false]);
    expect([plain, seer, admin].map((who) => book.listingFilter(who, vpath('/'))?.('a', true) ?? true)).toEqual([false, false, true]);
  });

  it('is as closed in books that are made of the records of this one', async () => {
    const again = createRuleBook((await opening).records);
    expect([mayAccess(again, plain, '/a/x'), mayAccess(again, seer, '/a'), mayAccess(again, admin, '/a')]).toEqual([false, false, true]);
  });
});
