import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { NO_EGRESS } from '../../driver-contract/open-context.ts';
import { RcloneClient } from './client.ts';
import { ownRcd, Rcd } from './rcd.ts';
import type { RcdProcess } from './rcd-process.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** One whose child ends when it is told to, and starts at once. */
function startedOften() {
  let end = () => {};
  const rcd = new Rcd(async () => {
    const ended = new AbortController();
    end = () => ended.abort();
    return { url: '', authorization: '', ended: ended.signal, kill: () => ended.abort() };
  });
  /** Lets it run for so long, and answers how long nobody may start it again. */
  const pauseAfter = async (ms: number): Promise<number> => {
    await rcd.get();
    vi.advanceTimersByTime(ms);
    end();
    const refusal = await rcd.get().then(
      () => undefined,
      (error: { details?: { retryAfterMs?: number } }) => error,
    );
    const pauseMs = refusal?.details?.retryAfterMs ?? 0;
    vi.advanceTimersByTime(pauseMs);
    return pauseMs;
  };
  return pauseAfter;
}

it('a child that is killed every five seconds is there again at once, each time', async () => {
  const pauseAfter = startedOften();
  for (let kill = 0; kill < 12; kill += 1) expect(await pauseAfter(5_000)).toBe(0);
});

it('one that ends as soon as it has started is waited for longer each time, half a minute at most', async () => {
  const pauseAfter = startedOften();
  const pauses: number[] = [];
  for (let end = 0; end < 10; end += 1) pauses.push(await pauseAfter(100));
  expect(pauses.slice(0, 4)).toEqual([250, 500, 1_000, 2_000]);
  expect(pauses.at(-1)).toBe(30_000);
  expect(await pauseAfter(5_000)).toBe(0);
});

it('one that is suspected, and of which the first question fails at once, is asked again and left alone', async () => {
  let asked = 0;
  const server = http.createServer((request, response) => {
    asked += 1;
    if (asked === 1) request.destroy();
    else response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ended = new AbortController();
  const { port } = server.address() as AddressInfo;
  const process = { url: `http://127.0.0.1:${port}`, authorization: '', ended: ended.signal, kill: () => ended.abort() };
  const rcd = new Rcd(async () => process);
  await rcd.get();
  await rcd.suspect(process);
  server.close();
  expect({ asked, isEnded: ended.signal.aborted }).toEqual({ asked: 2, isEnded: false });
});

it.each([1, 4])(
  'storages (%i) for whose listings the child was ended have others from then on, which end nothing of others',
  async (count) => {
    const children: RcdProcess[] = [];
    /** An rclone that is ended for each listing, which takes long. */
    const start = async (): Promise<RcdProcess> => {
      const ended = new AbortController();
      const server = await startHttpServer((request, response) => {
        if (request.url !== '/operations/list') return void response.end('{}');
        vi.advanceTimersByTime(5_000);
        ended.abort(new AppError('STORAGE_UNAVAILABLE', 'rclone took more memory than it may'));
        response.destroy();
      });
      onTestFinished(() => server.stop());
      const child = { url: server.url, authorization: '', ended: ended.signal, kill: () => ended.abort() };
      children.push(child);
      return child;
    };
    const shared = new Rcd(start);
    const way = { remote: async () => ({ type: 'memory', parameters: {} }), failure: undefined, close: () => undefined };
    const open = () => {
      const client = new RcloneClient(way, ownRcd(NO_EGRESS, shared, start));
      onTestFinished(() => client.close());
      return client;
    };
    const other = open();
    const lists = Array.from({ length: count }, () => {
      const endless = open();
      return () => Array.fromAsync(endless.list('', {}));
    });
    for (const list of lists) {
      await expect(list()).rejects.toMatchObject({ message: 'rclone took more memory than it may' });
      expect(await other.find('a', {})).toBeUndefined();
    }
    const common = children.at(-1);
    for (const list of [...lists, ...lists]) await expect(list()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(await other.find('a', {})).toBeUndefined();
    expect(common?.ended.aborted).toBe(false);
    expect(children.filter(({ ended }) => !ended.aborted)).toEqual([common]);
  },
);
