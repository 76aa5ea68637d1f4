import { AppError, type ErrorCode } from '@wharf/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  baseName,
  childPath,
  compareNames,
  type EntryName,
  hasRoomFor,
  isEntryName,
  isWithin,
  joinPath,
  parentPath,
  parseEntryName,
  parseVirtualPath,
  pathSegments,
  relativeTo,
  sortNames,
  VIRTUAL_ROOT,
} from './paths.ts';

function refusal(run: () => unknown): ErrorCode | 'accepted' {
  try {
    run();
    return 'accepted';
  } catch (error) {
    return AppError.from(error).code;
  }
}

/** Texts made of what paths are attacked with. */
const hostile = fc
  .array(
    fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '...',
      'a',
      'b',
      '%2e',
      '%2f',
      '%5c',
      ' ',
      '\0',
      '\r\n',
      'é',
      'e\u0301',
      '😀',
      '\ud800',
      ';x',
      '~',
    ),
    {
      maxLength: 14,
    },
  )
  .map((parts) => parts.join(''));

const path = fc
  .array(fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).filter(isEntryName), { maxLength: 5 })
  .map((names) => parseVirtualPath(names.join('/')));

describe('parseVirtualPath', () => {
  it.each([
    ['', '/'],
    ['/', '/'],
    ['//', '/'],
    ['a', '/a'],
    ['/a/b', '/a/b'],
    ['/a/b/', '/a/b'],
    ['//a///b//', '/a/b'],
    ['/./a/./b/.', '/a/b'],
    ['a\\b', '/a/b'],
    ['\\\\a\\b', '/a/b'],
    ['/a..b', '/a..b'],
    ['/..a/b..', '/..a/b..'],
    ['/.../x', '/.../x'],
    ['....//x', '/..../x'],
    ['/%2e%2e/x', '/%2e%2e/x'],
    ['/..%2fx', '/..%2fx'],
    ['/%252e%252e%252f', '/%252e%252e%252f'],
    ['/%c0%ae%c0%ae/x', '/%c0%ae%c0%ae/x'],
    ['/..;/x', '/..;/x'],
    ['/ a /b ', '/ a /b '],
    ['/.hidden', '/.hidden'],
    ['/C:/x', '/C:/x'],
    ['/caf\u00e9', '/caf\u00e9'],
    ['/cafe\u0301', '/cafe\u0301'],
    ['/😀', '/😀'],
    ['/\u2024\u2024/x', '/\u2024\u2024/x'],
    ['/\uff0e\uff0e/x', '/\uff0e\uff0e/x'],
    ['/a\u007f', '/a\u007f'],
  ])('%j is %j', (raw, parsed) => expect(parseVirtualPath(raw)).toBe(parsed));

  it.each([
    '..',
    '/..',
    '../a',
    '/a/..',
    '/a/../b',
    '/a/b/../..',
    '..\\a',
    '/a\\..\\b',
    '/a/..\\',
    '/./../a',
    '//..//',
    '/a\0',
    '/a\0/../b',
    '/a\r\nb',
    '/a\tb',
    '/\u001f',
    '/\ud800',
    '/a\udc00b',
  ])('%j is refused as unsafe', (raw) => expect(refusal(() => parseVirtualPath(raw))).toBe('UNSAFE_PATH'));

  it('says what the family says', () => {
    expect(() => parseVirtualPath('/a/../b')).toThrow('using relative path is not allowed');
  });

  it('a segment has at most 255 bytes, a path 4096', () => {
    expect(parseVirtualPath(`/${'a'.repeat(255)}`)).toHaveLength(256);
    expect(refusal(() => parseVirtualPath(`/${'a'.repeat(256)}`))).toBe('INVALID_ARGUMENT');
    expect(refusal(() => parseVirtualPath(`/${'é'.repeat(128)}`))).toBe('INVALID_ARGUMENT');
    expect(parseVirtualPath('/abc'.repeat(1024))).toHaveLength(4096);
    expect(refusal(() => parseVirtualPath('/abcd'.repeat(1024)))).toBe('INVALID_ARGUMENT');
  });

  it('a text that is far longer is not looked at', () => {
    expect(parseVirtualPath('/.'.repeat(30_000))).toBe('/');
    for (const raw of ['/.'.repeat(40_000), 'a/'.repeat(2_000_000), '/..'.repeat(30_000), '\0'.repeat(70_000)])
      expect(refusal(() => parseVirtualPath(raw))).toBe('INVALID_ARGUMENT');
  });

  it('what it accepts is in normal form, and parsing again changes nothing', () => {
    fc.assert(
      fc.property(hostile, (raw) => {
        if (refusal(() => parseVirtualPath(raw)) !== 'accepted') return;
        const parsed = parseVirtualPath(raw);
        expect(parsed).toMatch(/^\/([^/]+(\/[^/]+)*)?$/);
        for (const segment of pathSegments(parsed)) expect(isEntryName(segment)).toBe(true);
        expect(parseVirtualPath(parsed)).toBe(parsed);
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses exactly the texts with a ".." segment or an unsafe character, of those that are short', () => {
    fc.assert(
      fc.property(hostile, (raw) => {
        const climbs = raw.split(/[/\\]/).includes('..');
        const unsafe = raw.includes('\0') || raw.includes('\r') || !raw.isWellFormed();
        expect(refusal(() => parseVirtualPath(raw))).toBe(climbs || unsafe ? 'UNSAFE_PATH' : 'accepted');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parseEntryName', () => {
  it.each(['a', '.a', '...', 'a..b', '..%2f', '%2e%2e', '%00', ' ', 'a ', "it's", '"q"', 'C:', 'x'.repeat(255), 'é'.repeat(127), '😀'])(
    '%j is a name',
    (raw) => expect(parseEntryName(raw)).toBe(raw),
  );

  it.each([
    '',
    '.',
    '..',
    '/',
    'a/b',
    '../a',
    '\\',
    'a\\b',
    '..\\a',
    '\0',
    'a\0b',
    'a\nb',
    'a\rb',
    '\u0001',
    '\ud800',
    'x'.repeat(256),
    'é'.repeat(128),
  ])('%j is no name', (raw) => {
    expect(refusal(() => parseEntryName(raw))).toBe('UNSAFE_PATH');
    expect(() => parseEntryName(raw)).toThrow('using relative path is not allowed');
  });
});

describe('paths together', () => {
  it('joined to a base, no request leaves it', () => {
    fc.assert(
      fc.property(path, hostile, (base, raw) => {
        if (refusal(() => parseVirtualPath(raw)) !== 'accepted') return;
        const joined = joinPath(base, parseVirtualPath(raw));
        expect(isWithin(base, joined)).toBe(true);
        expect(parseVirtualPath(joined)).toBe(joined);
      }),
    );
  });

  it('within means whole segments', () => {
    const at = parseVirtualPath;
    expect(isWithin(at('/team'), at('/team'))).toBe(true);
    expect(isWithin(at('/team'), at('/team/a'))).toBe(true);
    expect(isWithin(at('/team'), at('/team-private'))).toBe(false);
    expect(isWithin(at('/team/a'), at('/team'))).toBe(false);
    expect(isWithin(VIRTUAL_ROOT, at('/x'))).toBe(true);
  });

  it('what is relative to a mount gives the path again when joined', () => {
    fc.assert(
      fc.property(path, path, (mount, inner) => {
        const full = joinPath(mount, inner);
        expect(relativeTo(mount, full)).toBe(inner);
      }),
    );
    expect(refusal(() => relativeTo(parseVirtualPath('/ab'), parseVirtualPath('/abc')))).toBe('UNSAFE_PATH');
  });

  it('parent and name take a path apart, child puts it together', () => {
    fc.assert(
      fc.property(path, (whole) => {
        const name = baseName(whole);
        if (name === undefined) expect(parentPath(whole)).toBe('/');
        else expect(childPath(parentPath(whole), name)).toBe(whole);
      }),
    );
  });

  it('a join or a child that becomes too long is refused', () => {
    const long = parseVirtualPath('/abc'.repeat(1000));
    expect(refusal(() => joinPath(long, long))).toBe('INVALID_ARGUMENT');
    expect(refusal(() => childPath(long, 'x'.repeat(255) as EntryName))).toBe('INVALID_ARGUMENT');
    expect(hasRoomFor(long, 'x'.repeat(255) as EntryName)).toBe(false);
    expect(hasRoomFor(parentPath(long), 'x' as EntryName)).toBe(true);
  });
});

it('names sort as their bytes do', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'B', '0', 'é', '\uffee', '\ue000', '😀', '𐀀') }), { maxLength: 12 }),
      (names) => {
        const expected = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(sortNames([...names])).toEqual(expected);
        expect([...names].sort(compareNames)).toEqual(expected);
      },
    ),
  );
});
