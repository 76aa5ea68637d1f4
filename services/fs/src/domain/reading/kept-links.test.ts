import type { MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import type { DirectLink, LinkOptions, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { countWork } from '../testing/count-work.ts';
import { mpath, vpath } from '../testing/memory-tree.ts';
import { createKeptLinks } from './kept-links.ts';

const HOUR_MS = 3_600_000;

/** A storage that makes another address each time. */
function setUp(linkOf: (count: number) => Partial<DirectLink> = () => ({ expiresAt: new Date(HOUR_MS) })) {
  let now = 0;
  let made = 0;
  const links = createKeptLinks(() => now);
  const driver = (): StorageDriver =>
    Object.assign(new MemoryDriver(), {
      link: async () => {
        made += 1;
        return { url: `https://s3.example/${made}`, ...linkOf(made) };
      },
    });
  const opened = driver();
  const urlOf = async (path: string, from = opened) => (await links.find(from, mpath(path), vpath(path), {}))?.url.split('/').at(-1);
  return { links, driver, urlOf, advance: (ms: number) => (now += ms), made: () => made };
}

it('a link is given again until a minute before it expires', async () => {
  const { urlOf, advance, made } = setUp((count) => ({ expiresAt: new Date(count * HOUR_MS) }));
  expect([await urlOf('/f'), await urlOf('/f')]).toEqual(['1', '1']);
  advance(HOUR_MS - 60_001);
  expect(await urlOf('/f')).toBe('1');
  advance(1);
  expect([await urlOf('/f'), await urlOf('/f'), made()]).toEqual(['2', '2', 2]);
});

it('a link that tells no end, or one that is near, is asked for each time', async () => {
  for (const link of [{}, { expiresAt: new Date(59_000) }]) {
    const { urlOf } = setUp(() => link);
    expect([await urlOf('/f'), await urlOf('/f')]).toEqual(['1', '2']);
  }
});

it('a storage that makes none has none', async () => {
  const { urlOf } = setUp();
  expect(await urlOf('/f', new MemoryDriver())).toBeUndefined();
});

it('what changes at a path or above it forgets its link, and no other', async () => {
  const { links, urlOf } = setUp();
  for (const path of ['/d/a', '/d/e/b', '/f']) await urlOf(path);
  links.forget([vpath('/d/e'), vpath('/d/a')]);
  expect([await urlOf('/f'), await urlOf('/d/a'), await urlOf('/d/e/b')]).toEqual(['3', '4', '5']);
  links.forget([vpath('/')]);
  expect(await urlOf('/f')).toBe('6');
});

it('one that is on its way during a change is not kept', async () => {
  const { links, driver, urlOf } = setUp();
  const gate = Promise.withResolvers<void>();
  const slow = driver();
  const { link } = slow;
  slow.link = (...given) => gate.promise.then(() => link?.(...given) as Promise<DirectLink>);
  const early = urlOf('/f', slow);
  links.forget([vpath('/f')]);
  gate.resolve();
  expect([await early, await urlOf('/f', slow), await urlOf('/f', slow)]).toEqual(['1', '2', '2']);
});

it('links are of one opening of a storage', async () => {
  const { driver, urlOf } = setUp();
  expect([await urlOf('/f'), await urlOf('/f', driver())]).toEqual(['1', '2']);
});

it('only so many are kept', async () => {
  const { urlOf, made } = setUp();
  for (let index = 0; index <= 10_000; index += 1) await urlOf(`/${index}`);
  await urlOf('/10000');
  expect(made()).toBe(10_001);
  await urlOf('/0');
  expect(made()).toBe(10_002);
});

it.each([
  ['of paths through thousands of folders', '/d'.repeat(2_000), ''],
  ['with long addresses', '', 'u'.repeat(512 * 1024)],
])('%s fewer are kept', async (_, deep, long) => {
  const { urlOf, made } = setUp((count) => ({ expiresAt: new Date(HOUR_MS), url: `https://s3.example/${long}/${count}` }));
  for (let index = 0; index < 40; index += 1) await urlOf(`/${index}${deep}`);
  await urlOf(`/39${deep}`);
  expect(made()).toBe(40);
  await urlOf(`/0${deep}`);
  expect(made()).toBe(41);
});

it('a link for one client is asked for each time, with that client', async () => {
  const { links, driver } = setUp();
  const asked: unknown[] = [];
  const picky = Object.assign(driver(), {
    link: async (_file: MountPath, options?: LinkOptions) => {
      asked.push(options?.client);
      return { url: 'https://s3.example/own', isForClient: true as const, expiresAt: new Date(HOUR_MS) };
    },
  });
  const clients = [
    { address: '192.0.2.1', agent: 'Player' },
    { address: '192.0.2.2', agent: undefined },
  ];
  for (const client of clients) await links.find(picky, mpath('/f'), vpath('/f'), { client });
  expect(asked).toEqual(clients);
});

it('the way to many changes in a deep folder is gone once', async () => {
  const { links, urlOf } = setUp();
  const deep = '/d'.repeat(500);
  await urlOf(`${deep}/f`);
  const changed = Array.from({ length: 500 }, (_, index) => vpath(`${deep}/${index}`));
  expect(countWork(() => links.forget([...changed, vpath(`${deep}/f`)]))).toBeLessThan(50 * changed.length);
  expect(await urlOf(`${deep}/f`)).toBe('2');
});
