import { getEventListeners } from 'node:events';
import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { openOrLeave, whileOpen } from './while-open.ts';

it('what was open ends with who used it, for a reason that is an error of ours, and the caller is let go of', async () => {
  const outer = new AbortController();
  const opened: AbortSignal[] = [];
  const open = async (signal: AbortSignal) => void opened.push(signal);
  await whileOpen(outer.signal, open, async () => expect(opened[0]?.aborted).toBe(false));
  await expect(whileOpen(outer.signal, open, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await whileOpen(undefined, open, async () => undefined);
  await openOrLeave(undefined, open);
  expect(opened).toHaveLength(4);
  for (const { aborted, reason } of opened) expect([aborted, AppError.is(reason, 'CANCELLED')]).toEqual([true, true]);
  expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
});

it('what is open ends when the caller does, for its reason', async () => {
  const outer = new AbortController();
  const reason = new AppError('DEADLINE_EXCEEDED', 'too late');
  const seen: unknown[] = [];
  const use = async (signal: AbortSignal) => {
    outer.abort(reason);
    seen.push(signal.reason);
  };
  await whileOpen(outer.signal, async (signal) => signal, use);
  await whileOpen(
    outer.signal,
    async (signal) => void seen.push(signal.reason),
    async () => undefined,
  );
  expect(seen).toEqual([reason, reason]);
});
