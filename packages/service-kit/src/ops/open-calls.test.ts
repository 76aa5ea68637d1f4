import { spawnSync } from 'node:child_process';
import { AppError } from '@wharf/errors';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createOpenCalls } from './open-calls.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Calls, told to end by their names, with a heap of which `heap.held` is in use and `heap.garbage` to be collected. */
function openCallsWith(heap: { held: number; garbage: number; collected: number }) {
  const ended: string[] = [];
  const logged: unknown[] = [];
  const open = createOpenCalls(
    { warn: (what: unknown) => void logged.push(what) },
    {
      used: () => heap.held + heap.garbage,
      collect() {
        heap.garbage = 0;
        heap.collected += 1;
      },
    },
  );
  const begin = (owner: string, name: string) => open.begin(owner, () => ended.push(name));
  return { begin, ended, logged, look: () => vi.advanceTimersToNextTimer() };
}

it('where the heap is nearly used up, the newer half of the calls of who has most end, again and again until there is room', () => {
  const heap = { held: 0.5, garbage: 0.45, collected: 0 };
  const { begin, ended, logged, look } = openCallsWith(heap);
  const a = [begin('a', 'a1'), begin('a', 'a2'), begin('a', 'a3'), begin('a', 'a4')];
  begin('b', 'b1');
  look();
  expect({ ...heap, ended }, 'what was garbage').toEqual({ held: 0.5, garbage: 0, collected: 1, ended: [] });
  heap.held = 0.91;
  look();
  expect(ended.splice(0)).toEqual(['a3', 'a4']);
  expect(logged).toEqual([{ owner: 'a', calls: 2 }]);
  look();
  expect(ended, 'those that end are still there').toEqual([]);
  expect(() => begin('b', 'b2')).toThrow(AppError);
  const c1 = begin('c', 'c1');
  c1();
  for (const leave of a.slice(2)) leave();
  look();
  expect(ended.splice(0), 'what they held is still held').toEqual(['a2']);
  a[1]?.();
  heap.held = 0.6;
  look();
  begin('b', 'b2');
  look();
  expect({ ended, collected: heap.collected }).toEqual({ ended: [], collected: 3 });
});

it('what is not held by calls is not collected for again and again', () => {
  const heap = { held: 0.92, garbage: 0, collected: 0 };
  const { begin, ended, look } = openCallsWith(heap);
  const leave = begin('a', 'a1');
  look();
  leave();
  look();
  for (let time = 0; time < 10; time += 1) begin(`b${time}`, 'b1')();
  for (let time = 0; time < 10; time += 1) {
    begin('b', 'b1')();
    look();
  }
  expect({ ended, collected: heap.collected }).toEqual({ ended: ['a1'], collected: 2 });
});

it('a process whose calls need more heap than there is goes on, and calls of others are answered', () => {
  const program = `
    const { createOpenCalls } = await import(${JSON.stringify(new URL('./open-calls.ts', import.meta.url).href)});
    const open = createOpenCalls({ warn: () => undefined });
    const call = async (owner, values) => {
      const abort = new AbortController();
      const leave = open.begin(owner, (error) => abort.abort(error));
      const kept = [];
      try {
        while (kept.length < values) {
          for (let i = 0; i < 250; i++) kept.push({ name: 'entry ' + kept.length, i });
          await new Promise((resolve) => setImmediate(resolve));
          abort.signal.throwIfAborted();
        }
      } finally {
        leave();
      }
    };
    const many = Promise.allSettled(Array.from({ length: 40 }, () => call('many', 60_000)));
    for (let i = 0; i < 100; i++) await call('one', 1_000);
    const ended = (await many).filter(({ reason }) => reason?.code === 'OVERLOADED');
    console.log(ended.length > 0 && ended.length < 40 ? 'some ended' : 'ended: ' + ended.length);
  `;
  const flags = ['--max-old-space-size=96', '--max-semi-space-size=2', '--input-type=module'];
  const run = spawnSync(process.execPath, [...flags, '--eval', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  expect({ status: run.status, stdout: run.stdout, stderr: run.stderr }).toEqual({ status: 0, stdout: 'some ended\n', stderr: '' });
});
