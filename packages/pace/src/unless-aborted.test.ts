import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { unlessAborted } from './unless-aborted.ts';

it('work that nobody waits for any more may fail, whenever that was', async () => {
  const failures: unknown[] = [];
  const note = (reason: unknown) => void failures.push(reason);
  process.on('unhandledRejection', note);
  try {
    const gone = new AbortController();
    const [before, meanwhile] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waiting = unlessAborted(gone.signal, meanwhile.promise);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(unlessAborted(gone.signal, before.promise)).rejects.toThrow('gone');
    for (const { reject } of [before, meanwhile]) reject(new Error('failed'));
    await setImmediate();
    expect(failures).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});

it('who waits no more leaves nothing at work that goes on', async () => {
  const work = Promise.withResolvers<string>();
  const then = vi.spyOn(work.promise, 'then');
  const wait = () => unlessAborted(new AbortController().signal, work.promise);
  const stays = wait();
  for (let time = 0; time < 100; time += 1) {
    const gone = new AbortController();
    const waiting = unlessAborted(gone.signal, work.promise);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  }
  expect(then).toHaveBeenCalledTimes(1);
  work.resolve('done');
  expect(await stays).toBe('done');
  expect(await wait()).toBe('done');
});
