import { describe, expect, it, vi } from 'vitest';
import { locate } from '../snapshot/snapshot.ts';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { createKeptLinks } from './kept-links.ts';
import { canProxy, downProxyUrl, encodePath, forwardParameters, needsSign, rawUrl, shouldProxy, signOf } from './links.ts';

it.each([
  ['/a b/c', '/a%20b/c'],
  ["/!'()*", '/%21%27%28%29%2A'],
  ['/$&+=:@', '/$&+=:@'],
  ['/a,;?#[]%', '/a%2C%3B%3F%23%5B%5D%25'],
  ['/-_.~', '/-_.~'],
  ['/é日😀', '/%C3%A9%E6%97%A5%F0%9F%98%80'],
  ['/', '/'],
])('%s is written %s', (path, encoded) => {
  expect(encodePath(path)).toBe(encoded);
  expect(decodeURIComponent(encoded)).toBe(path);
});

it('the path of a folder is encoded once for the entries that are asked for one after another', () => {
  const encode = vi.spyOn(globalThis, 'encodeURIComponent');
  const deep = '/ä'.repeat(500);
  for (let index = 0; index < 10; index += 1) expect(encodePath(`${deep}/${index}`)).toBe(`${'/%C3%A4'.repeat(500)}/${index}`);
  expect(encode.mock.calls.length).toBeLessThan(600);
  encode.mockRestore();
});

const unsigned = { sign_all: 'false' };

describe('links are signed', () => {
  const signs = async (options: Parameters<typeof openTree>[0], path = '/a/f.txt') => {
    const { snapshot } = await openTree(options);
    const { mount } = locate(snapshot, vpath(path));
    expect(signOf(snapshot, mount, vpath(path)) !== '').toBe(needsSign(snapshot, mount, vpath(path)));
    return needsSign(snapshot, mount, vpath(path));
  };

  it.each<[string, boolean, Parameters<typeof openTree>[0]]>([
    ['when all are', true, {}],
    ['else not', false, { settings: unsigned }],
    ['where the storage says so', true, { settings: unsigned, storages: [{ enable_sign: true }] }],
    ['where a password guards the file', true, { settings: unsigned, rules: [{ path: '/a', password: 'x', p_sub: true }] }],
    ['where only some may read', true, { settings: unsigned, rules: [{ path: '/a', read_users: [3], read_users_sub: true }] }],
    ['where the file is hidden', true, { settings: unsigned, rules: [{ path: '/a', hide: '^f' }] }],
    ['where a folder on the way is hidden', true, { settings: unsigned, rules: [{ path: '/', hide: '^a$' }] }],
  ])('%s', async (_when, isSigned, options) => {
    expect(await signs(options)).toBe(isSigned);
  });

  it('where the password is for the folder alone, although nobody asks for the sign', async () => {
    const { snapshot } = await openTree({ settings: unsigned, rules: [{ path: '/a', password: 'x' }] });
    const { mount } = locate(snapshot, vpath('/a/f.txt'));
    expect(signOf(snapshot, mount, vpath('/a/f.txt'))).not.toBe('');
    expect(needsSign(snapshot, mount, vpath('/a/f.txt'))).toBe(false);
  });
});

it('a storage that could redirect is proxied only where it, or the type of the file, says so', async () => {
  const direct = createTestDriver('Direct', [], { only_proxy: false });
  const streaming = createTestDriver('Streaming', [], { only_proxy: false });
  direct.linkBy(() => ({ url: 'https://elsewhere.example' }));
  const { snapshot } = await openTree({
    drivers: [direct.definition, streaming.definition],
    storages: [
      { mount_path: '/d', driver: 'Direct' },
      { mount_path: '/web', driver: 'Direct', web_proxy: true },
      { mount_path: '/policy', driver: 'Direct', webdav_policy: 'use_proxy_url' },
      { mount_path: '/must' },
      { mount_path: '/streams', driver: 'Streaming' },
    ],
  });
  const proxied = async (mountPath: string, name: string) => {
    const { mount } = locate(snapshot, vpath(mountPath));
    return [shouldProxy(snapshot, mount, name), canProxy(snapshot, mount, name, await mount.driver())];
  };
  expect(await proxied('/d', 'a.bin')).toEqual([false, false]);
  expect(await proxied('/d', 'a.TXT')).toEqual([false, true]);
  expect(await proxied('/d', 'a.m3u8')).toEqual([true, true]);
  expect(await proxied('/web', 'a.bin')).toEqual([true, true]);
  expect(await proxied('/policy', 'a.bin')).toEqual([false, true]);
  expect(await proxied('/must', 'a.bin')).toEqual([true, true]);
  expect(await proxied('/streams', 'a.bin')).toEqual([false, true]);
});

it('the address of a download proxy is its first line, with a signature unless the storage wants none', async () => {
  const { snapshot } = await openTree({
    storages: [
      { mount_path: '/p', down_proxy_url: ' https://cdn.example/x \nhttps://other.example' },
      { mount_path: '/q', down_proxy_url: 'https://cdn.example', disable_proxy_sign: true },
      { mount_path: '/r', down_proxy_url: '\nhttps://other.example' },
    ],
    settings: unsigned,
  });
  const url = (path: string) => downProxyUrl(snapshot, locate(snapshot, vpath(path)).mount, vpath(path));
  const sign = encodeURIComponent(snapshot.signer.sign('/p/a b', 0));
  expect(url('/p/a b')).toBe(`https://cdn.example/x/p/a%20b?sign=${sign}`);
  expect(url('/q/f')).toBe('https://cdn.example/q/f');
  expect(url('/r/f')).toBeUndefined();
});

it('our own address carries a signature only where one is needed', async () => {
  const signed = await openTree({});
  const open = await openTree({ settings: unsigned });
  const path = vpath('/a b');
  const url = ({ snapshot }: typeof signed) =>
    rawUrl(snapshot, createKeptLinks(Date.now), locate(snapshot, path), path, 'a b', 'https://files.example', {});
  expect(await url(open)).toBe('https://files.example/p/a%20b');
  expect(await url(signed)).toBe(`https://files.example/p/a%20b?sign=${encodeURIComponent(signed.snapshot.signer.sign('/a b', 0))}`);
});

it("a file's address is the storage's own one, unless downloads pass through us, it takes headers, or it is not of the web", async () => {
  const driver = createTestDriver('Direct', [], { only_proxy: false });
  driver.linkBy((path) => {
    if (path === '/headers') return { url: 'https://s3.example/headers', headers: { Authorization: 'secret' } };
    return { url: path === '/script' ? 'javascript:alert(1)' : `https://s3.example${path}?X-Signature=a%2Fb` };
  });
  const opened = await openTree({
    drivers: [driver.definition],
    storages: [
      { mount_path: '/d', driver: 'Direct' },
      { mount_path: '/web', driver: 'Direct', web_proxy: true },
      { mount_path: '/down', driver: 'Direct', down_proxy_url: 'https://cdn.example', disable_proxy_sign: true },
    ],
    settings: unsigned,
  });
  for (const name of ['f', 'headers', 'script', 'list.m3u8']) await opened.put(`/d/${name}`);
  const url = (path: string) => {
    const located = locate(opened.snapshot, vpath(path));
    const name = path.split('/').at(-1) ?? '';
    return rawUrl(opened.snapshot, createKeptLinks(Date.now), located, vpath(path), name, 'https://files.example', {});
  };
  expect(await url('/d/f')).toBe('https://s3.example/f?X-Signature=a%2Fb');
  expect(await url('/d/list.m3u8')).toBe('https://s3.example/list.m3u8?X-Signature=a%2Fb');
  expect(await url('/d/headers')).toBe('https://files.example/d/d/headers');
  expect(await url('/d/script')).toBe('https://files.example/d/d/script');
  expect(await url('/web/f')).toBe('https://files.example/p/web/f');
  expect(await url('/down/f')).toBe('https://s3.example/f?X-Signature=a%2Fb');
  expect(await url('/down/headers')).toBe('https://cdn.example/down/headers');
});

it("a request's parameters go along only where the settings say so, those that are ours excepted", async () => {
  const { snapshot: quiet } = await openTree({});
  const { snapshot } = await openTree({ settings: { forward_direct_link_params: 'true', ignore_direct_link_params: 'sign,raw' } });
  const query = new URLSearchParams('sign=abc&Raw=1&x=a b&x=2&y=%26');
  const address = 'https://s3.example/f?X-Signature=a%2Fb';
  expect(forwardParameters(quiet, address, query)).toBe(address);
  expect(forwardParameters(snapshot, address, query)).toBe(`${address}&x=a+b&x=2&y=%26`);
  expect(forwardParameters(snapshot, 'https://s3.example/f#part', query)).toBe('https://s3.example/f?x=a+b&x=2&y=%26#part');
  expect(forwardParameters(snapshot, address, new URLSearchParams('sign=abc'))).toBe(address);
});
