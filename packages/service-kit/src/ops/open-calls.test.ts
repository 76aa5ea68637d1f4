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

/** Calls, told to end by their names, in a memory with so much strain, of which `memory.garbage` can be collected. */
function openCallsWith(memory: { held: number; garbage: number; collected: number; beside?: number; kept?: number }) {
  const ended: string[] = [];
  const logged: unknown[] = [];
  const open = createOpenCalls(
    { warn: (what: unknown) => void logged.push(what) },
    {
      strain: () => Math.max(memory.held + memory.garbage, memory.beside ?? -1),
      heapStrain: () => memory.held + memory.garbage,
      collect() {
        memory.garbage = 0;
        memory.collected += 1;
      },
      forget() {
        const { kept = 0 } = memory;
        memory.held -= kept;
        memory.garbage += kept;
        memory.kept = 0;
        return kept > 0;
      },
    },
  );
  const begin = (owner: string, name: string) => open.begin(owner, () => ended.push(name));
  return { begin, isShort: open.isShort, ended, logged, look: () => vi.advanceTimersToNextTimer() };
}

it('where memory is nearly used up, the newer half of the calls of who has most end, again and again until there is room', () => {
  const memory = { held: -1, garbage: 1.1, collected: 0 };
  const { begin, ended, logged, look } = openCallsWith(memory);
  const a = [begin('a', 'a1'), begin('a', 'a2'), begin('a', 'a3'), begin('a', 'a4')];
  const b = begin('b', 'b1');
  look();
  expect({ ...memory, ended }, 'what was garbage').toEqual({ held: -1, garbage: 0, collected: 1, ended: [] });
  memory.held = 0.1;
  look();
  expect(ended.splice(0)).toEqual(['a3', 'a4']);
  expect(logged).toEqual([{ owner: 'a', calls: 2 }]);
  look();
  expect(ended, 'those that end are still there').toEqual([]);
  expect(() => begin('b', 'b2')).toThrow(AppError);
  const c = begin('c', 'c1');
  for (const leave of a.slice(2)) leave();
  look();
  expect(ended.splice(0), 'what they held is still held').toEqual(['a2']);
  a[1]?.();
  look();
  expect(ended, 'everybody keeps one').toEqual([]);
  memory.held = 0.6;
  look();
  expect(ended.splice(0), 'it is too much for that').toEqual(['a1']);
  for (const leave of [...a, b, c]) leave();
  memory.held = -0.1;
  look();
  begin('a', 'a5');
  look();
  expect({ ended, collected: memory.collected }).toEqual({ ended: [], collected: 5 });
});

it('what is remembered is forgotten before calls end, and not again and again', () => {
  const memory = { held: 0.1, garbage: 0, collected: 0, kept: 0.2 };
  const { begin, ended, look } = openCallsWith(memory);
  for (const name of ['a1', 'a2']) begin('a', name);
  look();
  expect({ ended, ...memory }).toEqual({ ended: [], held: expect.closeTo(-0.1), garbage: 0, collected: 2, kept: 0 });
  Object.assign(memory, { held: 0.3, kept: 0.2 });
  vi.advanceTimersByTime(1_000);
  expect({ ended: ended.splice(0), kept: memory.kept }).toEqual({ ended: ['a2'], kept: 0.2 });
  vi.advanceTimersByTime(10_000);
  memory.held = 0.6;
  vi.advanceTimersByTime(1_000);
  expect(memory.kept).toBe(0);
});

it('calls that do not end, and memory that they do not give back, keep nobody from others for more than seconds', () => {
  const memory = { held: 0.1, garbage: 0, collected: 0 };
  const { begin, ended, look } = openCallsWith(memory);
  for (const name of ['a1', 'a2', 'a3', 'a4']) begin('a', name);
  look();
  expect(ended.splice(0)).toEqual(['a3', 'a4']);
  vi.advanceTimersByTime(2_100);
  expect(ended.splice(0), 'those that were ended are waited for no longer').toEqual(['a2']);
  expect(() => begin('a', 'a5')).toThrow(AppError);
  vi.advanceTimersByTime(10_000);
  begin('a', 'a5');
  expect({ ended, collected: memory.collected }).toEqual({ ended: [], collected: 3 });
});

it('what lies beside the heap, and stays there when calls gave it back, ends others only when it grows', () => {
  const memory = { held: -1, garbage: 0, collected: 0, beside: 0.05 };
  const { begin, ended, look } = openCallsWith(memory);
  const leave = ['a1', 'a2', 'a3', 'a4'].map((name) => begin('a', name));
  look();
  expect(ended.splice(0)).toEqual(['a3', 'a4']);
  for (const each of leave.slice(2)) each();
  for (let time = 0; time < 10; time += 1) look();
  expect(ended).toEqual([]);
  memory.beside = 0.4;
  look();
  expect(ended).toEqual(['a2']);
});

it('of one owner a thousand calls are under way, whether somebody waits for them or not', () => {
  const { begin } = openCallsWith({ held: -1, garbage: 0, collected: 0 });
  const leave = Array.from({ length: 1_000 }, () => begin('a', 'call'));
  expect(() => begin('a', 'another')).toThrow(AppError);
  begin('b', 'b1');
  leave[0]?.();
  begin('a', 'another');
});

it('memory is short from when calls were ended until there is room, or for some seconds', () => {
  const memory = { held: 0.1, garbage: 0, collected: 0 };
  const { begin, isShort, ended, look } = openCallsWith(memory);
  const calls = [begin('a', 'a1'), begin('a', 'a2')];
  expect(isShort()).toBe(false);
  look();
  expect([ended, isShort()]).toEqual([['a2'], true]);
  for (const leave of calls) leave();
  memory.held = -0.1;
  look();
  expect(isShort()).toBe(false);
  memory.held = 0.1;
  begin('a', 'a3');
  begin('a', 'a4');
  look();
  expect(isShort()).toBe(true);
  vi.advanceTimersByTime(10_000);
  expect(isShort()).toBe(false);
});

it('what is not held by calls is not collected for again and again, whether it is too much or nearly so', () => {
  for (const held of [0.1, -0.1]) {
    const memory = { held, garbage: 0.2, collected: 0 };
    const { begin, ended, look } = openCallsWith(memory);
    for (let time = 0; time < 10; time += 1) {
      memory.garbage = 0.2;
      const leave = begin('a', 'a1');
      look();
      leave();
    }
    expect({ ended, collected: memory.collected }).toEqual({ ended: [], collected: 1 });
  }
});

/** What a process has of its container is known on Linux alone. */
const [inHeap, inContainer] = [
  { of: 'heap', piece: "Array.from({ length: 250 }, (_, i) => ({ name: 'entry ' + i }))", most: 240 },
  { of: 'memory of its container', piece: 'Buffer.alloc(65_536)', most: 300 },
];
it.each(process.platform === 'linux' ? [inHeap, inContainer] : [inHeap])(
  'a process whose calls need more $of than there is goes on, and calls of others are answered',
  ({ piece, most }) => {
    const program = `
    process.constrainedMemory = () => 300 * 1024 * 1024;
    const { createOpenCalls } = await import(${JSON.stringify(new URL('./open-calls.ts', import.meta.url).href)});
    const open = createOpenCalls({ warn: () => undefined });
    const call = async (owner, pieces) => {
      const abort = new AbortController();
      const leave = open.begin(owner, (error) => abort.abort(error));
      const kept = [];
      try {
        while (kept.length < pieces) {
          kept.push(${piece});
          await new Promise((resolve) => setImmediate(resolve));
          abort.signal.throwIfAborted();
        }
      } finally {
        leave();
      }
    };
    const many = Promise.allSettled(Array.from({ length: 40 }, () => call('many', ${most})));
    for (let i = 0; i < 100; i++) await call('one', 4);
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
  },
);
