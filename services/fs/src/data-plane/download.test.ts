import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '@wharf/errors';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { FsContext } from '../context.ts';
import { createKeptLinks } from '../domain/reading/kept-links.ts';
import { openTree } from '../domain/testing/memory-tree.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { pngOf } from '../thumbnails/testing/pictures.ts';
import { serveDownload } from './download.ts';
import { refuseDownload } from './refusal.ts';

const GUARDED = [{ path: '/', password: 'new', p_sub: true }];

/** A server of one storage with the file /photo.png, which is slow, or is slow to be shown small; meanwhile its folder gets a password, or not. */
async function serveSlow(hasPassword: boolean, { hasLinks = false, isSmall = false } = {}) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = createTestDriver('Slow', [], { only_proxy: !hasLinks });
  if (hasLinks) store.linkBy(() => ({ url: 'https://far.example/f' }));
  const definition = { ...store.definition, thumbnails: () => ({ cacheFolder: undefined, concurrency: 1 }) };
  const settings = { sign_all: 'false', image_types: 'png' };
  const open = (rules: typeof GUARDED) => openTree({ drivers: [definition], storages: [{ driver: 'Slow' }], rules, settings });
  const [before, after] = [await open([]), await open(hasPassword ? GUARDED : [])];
  await before.put('/photo.png', 'a picture');
  let snapshot = before.snapshot;
  const waitLong = async () => {
    snapshot = after.snapshot;
    vi.advanceTimersByTime(3_000);
  };
  if (!isSmall) store.beforeCalls(waitLong);
  const context = {
    configuration: { knownSnapshot: async () => snapshot },
    links: createKeptLinks(Date.now),
    thumbnails: { get: () => waitLong().then(() => pngOf(1, 1)) },
  } as unknown as FsContext;
  const server = createServer((request, response) => {
    const call = { identity: undefined, requestId: '', revisions: { auth: 0, admin: 0 }, signal: new AbortController().signal };
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://x');
    serveDownload(context, request, response, { call, route: 'd', path: pathname.slice(2), query, accelAddress: undefined }).catch(
      (error: unknown) => refuseDownload(request, response, AppError.from(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return async (query: string, init: RequestInit) => {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/d/photo.png${query}`, { ...init, redirect: 'manual' });
    return [answer.status, answer.headers.has('etag'), await answer.text()];
  };
}

it.each<[what: string, query: string, init: RequestInit, how: Parameters<typeof serveSlow>[1], status: number]>([
  ['a whole file', '', {}, {}, 200],
  ['a range', '', { headers: { Range: 'bytes=2-8' } }, {}, 206],
  ['several ranges', '', { headers: { Range: 'bytes=0-1,4-5' } }, {}, 206],
  ['a look', '', { method: 'HEAD' }, {}, 200],
  ['an address elsewhere', '', {}, { hasLinks: true }, 302],
  ['a thumbnail', '?type=thumb', {}, { isSmall: true }, 200],
])('%s that took long is answered by the rules of then', async (_what, query, init, how, status) => {
  const refused = await (await serveSlow(true, how))(query, init);
  expect(refused.slice(0, 2)).toEqual([401, false]);
  expect((await (await serveSlow(false, how))(query, init))[0]).toBe(status);
});
