import { expect, it } from 'vitest';
import { foldersOf, wordsOf } from './task-words.ts';

it.each([
  ['copy [/a](/x/y.txt) to [/b](/)', { verb: 'copy', name: 'y.txt', to: '/b' }],
  ['move [/a](/x (1)) to [/](/deep/er)', { verb: 'move', name: 'x (1)', to: '/deep/er' }],
  ['upload to [1].txt to [/b](/c)', { verb: 'upload', name: 'to [1].txt', to: '/b/c' }],
  ['download https://host/dir/file.iso?key=a/b to (/b/c)', { verb: 'download', name: 'file.iso', to: '/b/c' }],
  ['download magnet:?xt=urn:btih:abc to (/b)', { verb: 'download', name: 'magnet:', to: '/b' }],
  ['transfer [](/tmp/x) to [/b](/)', { verb: 'transfer', name: 'x', to: '/b' }],
  ['remove [/a](/x/y (1))', { verb: 'remove', name: 'y (1)', to: '' }],
  ['remove 12 entries of [/a](/x)', { verb: undefined, name: 'remove 12 entries of [/a](/x)', to: '' }],
  ['something else', { verb: undefined, name: 'something else', to: '' }],
])('%s', (name, words) => expect(wordsOf(name)).toEqual(words));

it.each([
  ['remove [/a](/x/y (1))', ['/a/x/y (1)', '/a/x']],
  ['remove 12 entries of [/a](/x)', ['/a/x', '/a']],
  ['remove empty folders of [/](/)', ['/']],
  ['move [/a](/x) to [/](/deep/er)', ['/a/x', '/a', '/deep/er', '/deep']],
  ['download https://host/file.iso to (/b/c)', []],
  ['something else', []],
])('%j may change how %j look', (name, folders) => {
  expect(foldersOf(name)).toEqual(folders);
});
