// biome-ignore-all lint/suspicious/noTemplateCurlyInString: names of groups, not placeholders
import { createPace } from '@wharf/pace';
import { RE2JS } from 're2js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { refusal } from '../../testing/refusal.ts';
import { compileRename } from './rename-template.ts';

describe('a rename by pattern', () => {
  it.each([
    // pattern, template, name, result
    ['a', 'b', 'banana', 'bbnbnb'],
    ['^IMG_(\\d+)', 'photo-$1', 'IMG_12.jpg', 'photo-12.jpg'],
    ['(\\d+)', '<$0>', 'a1b22', 'a<1>b<22>'],
    ['(?P<stem>.*)\\.(?P<end>[^.]+)', '${end}.${stem}', 'x.tar.gz', 'gz.x.tar'],
    ['(?<stem>.*)\\.txt', '$stem.md', 'note.txt', 'note.md'],
    // The longest run of letters, digits and _ is the name.
    ['(a)', '$1x', 'cat', 'ct'],
    ['(a)', '${1}x', 'cat', 'caxt'],
    ['(a)', '$1-x', 'cat', 'ca-xt'],
    ['(a)', '$1_x', 'cat', 'ct'],
    ['(a)', '$01', 'cat', 'ct'],
    ['(a)', '$9', 'cat', 'ct'],
    ['(a)|(b)', '[$1$2]', 'ab', '[a][b]'],
    ['(a)', '$$1', 'cat', 'c$1t'],
    ['(a)', '$$$1', 'cat', 'c$at'],
    ['(a)', '$', 'cat', 'c$t'],
    ['(a)', '$-', 'cat', 'c$-t'],
    ['(a)', '${1', 'cat', 'c${1t'],
    ['(a)', '${}', 'cat', 'c${}t'],
    ['(a)', '\\1', 'cat', 'c\\1t'],
    ['(a)', "$&$`$'$<n>", 'cat', "c$&$`$'$<n>t"],
    ['(a)', '<$é>', 'cat', 'c<>t'],
    ['a*', 'x', 'baac', 'xbxcx'],
    ['', '-', 'ab', '-a-b-'],
    ['(?i)A', 'x', 'aA', 'xx'],
    ['(?U)a+', 'x', 'aaa', 'xxx'],
    ['[[:xdigit:]]+', 'h', 'z1fz', 'zhz'],
    ['😀', 'x', 'a😀b', 'axb'],
    ['.', 'x', '😀', 'x'],
    ['same', 'same', 'same', 'same'],
  ])('%j by %j makes of %j %j', async (pattern, template, name, renamed) =>
    expect(await compileRename(pattern, template)(name, createPace())).toBe(renamed),
  );

  it('leaves a name alone that does not match', async () => expect(await compileRename('^x', 'y')('ax', createPace())).toBeUndefined());

  it.each(['(', 'a{1001}', '(?=a)', '(?!a)', '(a)\\1', '[z-a]', '(a{1000}){1000}', 'x'.repeat(1_001), '(?P<n>a)(?P<n>b)'])(
    '%s is no pattern, and its refusal says why',
    (pattern) => {
      const [code, message] = refusal(() => compileRename(pattern, ''));
      expect(code).toBe('FAILED_PRECONDITION');
      expect(message).toMatch(/^error parsing regexp: ./);
    },
  );
});

describe('C19: patterns cost linear time', () => {
  it('and one of many steps for each character is refused', async () => {
    expect(refusal(() => compileRename('(?:[a-z]?[a-y]?){600}[!?]', ''))).toEqual([
      'FAILED_PRECONDITION',
      'error parsing regexp: the pattern is too complex; use fewer or smaller repetitions',
    ]);
    const dated = compileRename('(?i)^(\\d{4})-(\\d{2})-(\\d{2})[ _.](.*)\\.(jpe?g|png|heic|mp4|mov)$', '$4');
    expect(await dated('2024-01-02 x.JPG', createPace())).toBe('x');
  });

  it('and one that would become a huge program is refused before it is compiled', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    onTestFinished(() => compile.mockRestore());
    for (const pattern of ['(x*){1000}'.repeat(100), 'x{1000}'.repeat(142), '(?:(?:[a-z]{10}){10}){9}[!?]{900}'])
      expect(refusal(() => compileRename(pattern, ''))[1]).toContain('too complex');
    expect(compile).not.toHaveBeenCalled();
  });

  it('and between two matches in one name, each of which is looked for to its end, others get their turn', async () => {
    const found: number[] = [];
    const step = async () => void found.push(found.length);
    // Each `a` may be the beginning of a longer match up to the last character of the name.
    const renamed = compileRename('a(?:.*x|.*y|.*z)?', 'b');
    expect(await renamed('a'.repeat(255), { step })).toBe('b'.repeat(255));
    expect(found).toHaveLength(255);
  });

  it('of 50,000 names with a pattern that a backtracking engine would never finish', async () => {
    const renamed = compileRename('(a+)+$', 'x');
    const names = Array.from({ length: 50_000 }, (_, index) => `${'a'.repeat(40)}!${index}`);
    const pace = createPace();
    for (const name of names) expect(await renamed(name, pace)).toBeUndefined();
  }, 60_000);
});
