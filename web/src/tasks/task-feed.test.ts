import { expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const page = { hidden: false, turn: () => {}, addEventListener: (_: string, turn: () => void) => Object.assign(page, { turn }) };
vi.stubGlobal('document', page);
vi.mock('../session.ts', () => ({ isGuest: () => false }));
const { createTaskFeed } = await import('./task-feed.ts');

const taskOf = (index: number, state: number) => ({ id: `${index % 100}`, state, start_time: null });

it('shows tasks that change by the thousand a few times a second', async () => {
  const changes = Array.from(
    { length: 2_000 },
    (_, index) => `event: task\ndata: ${JSON.stringify(taskOf(index, index < 1_900 ? 1 : 2))}\n\n`,
  );
  const fetched = vi.fn(
    async () => new Response(`event: snapshot\ndata: []\n\n${changes.join('')}`, { headers: { 'Content-Type': 'text/event-stream' } }),
  );
  vi.stubGlobal('fetch', fetched);
  const sorted = vi.spyOn(Array.prototype, 'toSorted');
  const ended = vi.fn();
  const feed = createTaskFeed(ended);
  await vi.waitFor(() => expect(feed.tasks()).toHaveLength(100));
  expect(ended).toHaveBeenCalledTimes(100);
  expect(sorted.mock.calls.length).toBeLessThan(100);
  sorted.mockRestore();
  page.hidden = true;
  page.turn();
  vi.unstubAllGlobals();
});

it('a stream of which nothing comes any more is opened anew', async () => {
  vi.useFakeTimers();
  const ended: AbortSignal[] = [];
  const fetched = vi.fn(async (_: string, { signal }: { signal: AbortSignal }) => {
    ended.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        stream.enqueue(new TextEncoder().encode('event: snapshot\ndata: []\n\n'));
        signal.addEventListener('abort', () => stream.error(signal.reason));
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  });
  vi.stubGlobal('fetch', fetched);
  vi.stubGlobal('document', page);
  page.hidden = false;
  const feed = createTaskFeed(() => undefined);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(feed.isLive()).toBe(true);
  expect(fetched).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(fetched).toHaveBeenCalledTimes(2);
  expect(ended[0]?.aborted).toBe(true);
  page.hidden = true;
  page.turn();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
