import { describe, expect, it } from 'vitest';
import { addressOf, bytesAddress, cleanPath, isWithin, joinPath, nameOf, parentOf, pathAt, pathNear, waysOf } from './tree-path.ts';

describe('paths of the tree', () => {
  it.each([
    ['', '/'],
    ['//a///b/', '/a/b'],
    ['a/./b', '/a/b'],
  ])('%j is cleaned to %j', (given, clean) => expect(cleanPath(given)).toBe(clean));

  it('parts and ways', () => {
    expect([joinPath('/', 'a'), joinPath('/a', 'b'), parentOf('/a/b'), parentOf('/a'), nameOf('/a/b')]).toEqual([
      '/a',
      '/a/b',
      '/a',
      '/',
      'b',
    ]);
    expect(waysOf('/a/b')).toEqual(['/', '/a', '/a/b']);
    expect(waysOf('/')).toEqual(['/']);
    expect([isWithin('/a/b', '/a'), isWithin('/ab', '/a'), isWithin('/a', '/a'), isWithin('/x', '/')]).toEqual([true, false, true, true]);
  });

  it.each(['/', '/local/tour', '/api', '/api/x', '/d/x', '/@s', '/@/x', '/dav', '/a b/ü%/#?', '/robots.txt', '/100% sure'])(
    'the address of %j leads back to it, and is none of the server’s own',
    (path) => {
      const address = addressOf(path);
      expect(pathAt(address)).toBe(path);
      expect(address).not.toMatch(/^\/(api|d|dav)(\/|$)/);
      expect(address).not.toMatch(/[ #?]/);
    },
  );

  it('an address that is not percent-encoded is taken as it is', () => expect(pathAt('/100%')).toBe('/100%'));

  it.each([
    ['b.png', '/a/b.png'],
    ['./b%20c/d.md#part', '/a/b c/d.md'],
    ['../b.png?raw=1', '/b.png'],
    ['../../../b', '/b'],
  ])('in a text of /a, %j means %j', (address, path) => expect(pathNear(address, '/a')).toBe(path));

  it.each([
    'https://example.org/b',
    '//example.org/b',
    '\\\\example.org',
    '/d/b',
    '#part',
    '?x',
    '',
    ' ',
    'javascript:x',
    'data:,x',
    '100%/%zz',
  ])('in a text of /a, %j means nothing beside it', (address) => expect(pathNear(address, '/a')).toBeUndefined());

  it('bytes are below the path that the user’s tree begins at', () => {
    expect(bytesAddress('/', '/a b', 'x:0=')).toBe('/d/a%20b?sign=x%3A0%3D');
    expect(bytesAddress('/home', '/a', '')).toBe('/d/home/a');
  });
});
