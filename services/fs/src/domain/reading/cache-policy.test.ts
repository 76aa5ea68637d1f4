import { describe, expect, it } from 'vitest';
import { mpath } from '../testing/memory-tree.ts';
import { cacheMinutes } from './cache-policy.ts';

const minutes = (custom_cache_policies: string, path: string) => cacheMinutes({ custom_cache_policies, cache_expiration: 30 }, mpath(path));

describe('how long a listing is kept', () => {
  it.each([
    ['/a:5', '/a', 5],
    ['a:5', '/a', 5],
    ['/a:5', '/a/b', 30],
    ['/a/*:5', '/a/b', 5],
    ['/a/*:5', '/a/b/c', 30],
    ['/a/**:5', '/a/b/c', 5],
    ['/a/**:5', '/a', 5],
    ['/a/**:5', '/ab', 30],
    ['**/new:1', '/new', 1],
    ['**/new:1', '/a/b/new', 1],
    ['**/new:1', '/a/renew', 30],
    ['/a/**/z:2', '/a/z', 2],
    ['/a/**/z:2', '/a/b/c/z', 2],
    ['/file?:3', '/file1', 3],
    ['/file?:3', '/file12', 30],
    ['/{x,y}/*:4', '/y/z', 4],
    ['/{x,y}/*:4', '/w/z', 30],
    ['/[a-c]:6', '/b', 6],
    ['/[!a-c]:6', '/b', 30],
    ['/a.b+(c):7', '/a.b+(c)', 7],
    ['/a.b:7', '/axb', 30],
    ['/\\*:8', '/*', 8],
    ['/a,b:9', '/a,b', 9],
    ['/[^a-c]:6', '/b', 30],
    ['/[]]:6', '/[]]', 6],
    ['/[\\-x]:6', '/-', 6],
    ['/[c-a]:6', '/b', 30],
    ['/[\\d]:6', '/d', 30],
    ['/?:3', '/\u{1f600}', 3],
    ['/{a,b{c,/**}}x:4', '/b/d/x', 4],
    ['/{a,b{c,}}x:4', '/bx', 4],
    ['/{a,b{c,}}x:4', '/x', 30],
    ['/a}:4', '/a', 30],
    ['/a:0', '/a', 0],
    ['/with:colon:11', '/with:colon', 11],
  ])('by %j for %s: %i minutes', (policy, path, expected) => {
    expect(minutes(policy, path)).toBe(expected);
  });

  it('is what the first line says that fits; lines that say nothing are passed over', () => {
    const policies = '\r\n  \nnonsense\n/x:many\n/{open:1\n/a/*:1\r\n/a/**:2\n**:3\n';
    expect([minutes(policies, '/a/b'), minutes(policies, '/a/b/c'), minutes(policies, '/z')]).toEqual([1, 2, 3]);
  });

  it('is not what lines say that are more, or longer, than a storage may have', () => {
    const long = Array.from({ length: 4 }, (_, line) => `/${line}${'[a-m]'.repeat(199)}:1`).join('\n');
    expect([minutes(`${long}\n/a:2`, '/a'), minutes(`${long}\n/${'a'.repeat(20)}:2`, `/${'a'.repeat(20)}`)]).toEqual([2, 30]);
    expect(minutes(`${'/x:1\n'.repeat(200)}/a:2`, '/a')).toBe(30);
  });

  it('is decided in linear time', () => {
    const policy = `${'**a'.repeat(200)}b:1`;
    expect(minutes(policy, `/${'aaaaaaa/'.repeat(400)}c`)).toBe(30);
  });
});
