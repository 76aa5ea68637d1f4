import { describe, expect, it } from 'vitest';
import { planNames, type RenamePattern } from './rename-plan.ts';

const files = (...names: string[]) => names.map((name) => ({ name, is_dir: false }));
const plan = (names: string[], pattern: Partial<RenamePattern>, others: string[] = []) =>
  planNames(files(...names), { find: '', replace: '', isRegex: false, withEnding: false, ...pattern }, new Set(others));
const names = (planned: readonly { to: string }[]) => planned.map(({ to }) => to);

describe('a plan of names', () => {
  it('replaces a text in each, not in endings', () => {
    expect(names(plan(['a.b.txt', 'txt.txt'], { find: 'txt', replace: 'md' }))).toEqual(['a.b.txt', 'md.txt']);
    expect(names(plan(['a.txt'], { find: 'txt', replace: 'md', withEnding: true }))).toEqual(['a.md']);
  });

  it('gives whole names that count, with zeros', () => {
    expect(names(plan(['z.jpg', 'b.png'], { replace: 'Lake {nn}' }))).toEqual(['Lake 01.jpg', 'Lake 02.png']);
  });

  it('counts those alone that change', () => {
    expect(names(plan(['x1.txt', 'other.txt', 'x2.txt'], { find: 'x', replace: '{n}-' }))).toEqual(['1-1.txt', 'other.txt', '2-2.txt']);
  });

  it('knows the groups of a regular expression, and a plain text’s dollars as they stand', () => {
    expect(names(plan(['IMG_12.jpg'], { find: '^IMG_(\\d+)$', replace: 'Photo $1', isRegex: true }))).toEqual(['Photo 12.jpg']);
    expect(names(plan(['a.txt'], { find: 'a', replace: '$&$1' }))).toEqual(['$&$1.txt']);
    expect(() => plan(['a'], { find: '(', isRegex: true })).toThrow(SyntaxError);
  });

  it('says which names are taken: by others, by each other, and by one that is to change later', () => {
    expect(plan(['a1.txt', 'a2.txt'], { find: '[12]', replace: '', isRegex: true })).toMatchObject([
      { problem: undefined },
      { problem: 'taken' },
    ]);
    expect(plan(['a.txt'], { find: 'a', replace: 'b' }, ['b.txt'])).toMatchObject([{ problem: 'taken' }]);
    expect(plan(['1.txt', '2.txt'], { replace: '{n}' })).toMatchObject([{ problem: undefined }, { problem: undefined }]);
    expect(plan(['b.txt', '1.txt'], { replace: '{n}' })).toMatchObject([{ problem: 'taken' }, { problem: undefined }]);
  });

  it.each(['', '  ', 'a/b', 'a\\b'])('refuses %j', (replace) => {
    expect(plan(['x.txt'], { find: 'x', replace })).toMatchObject([{ problem: 'bad' }]);
  });

  it('leaves folders their dots', () => {
    const entries = [{ name: 'v1.2', is_dir: true }];
    expect(names(planNames(entries, { find: '.', replace: '-', isRegex: false, withEnding: false }, new Set()))).toEqual(['v1-2']);
  });
});
