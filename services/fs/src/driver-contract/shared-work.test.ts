import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createSharedWork } from './shared-work.ts';

const waiting = () => new AbortController();

it('is done once for all who ask for it, and goes on when one of them goes away', async () => {
  const share = createSharedWork<string>();
  const held = Promise.withResolvers<void>();
  const begun: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    begun.push(signal);
    return held.promise;
  };
  const [first, second] = [waiting(), waiting()];
  const [gone, stays] = [share('a', first.signal, work), share('a', second.signal, work)];
  const other = share('b', waiting().signal, async () => {});
  first.abort();
  await expect(gone).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(begun.map(({ aborted }) => aborted)).toEqual([false]);
  held.resolve();
  await Promise.all([stays, other]);
});

it('ends when nobody waits any more; whoever comes then begins anew', async () => {
  const share = createSharedWork<string>();
  const signals: AbortSignal[] = [];
  const only = waiting();
  const gone = share('a', only.signal, (signal) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  only.abort();
  await expect(gone).rejects.toMatchObject({ code: 'CANCELLED' });
  await share('a', waiting().signal, async (signal) => void signals.push(signal));
  expect(signals[0]?.aborted).toBe(true);
  expect(signals).toHaveLength(2);
});

it('that fails does so for all, and is begun anew', async () => {
  const share = createSharedWork<string>();
  const fail = async () => {
    throw new Error('it broke');
  };
  const outcomes = await Promise.allSettled([share('a', waiting().signal, fail), share('a', waiting().signal, fail)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await share('a', waiting().signal, async () => {});
});

it('that fails by the way that the one came by who began it is done anew for those who came by another one', async () => {
  const share = createSharedWork<string, string>();
  const circle = new AppError('CIRCULAR_MOUNT', 'gateways mount each other in a circle');
  const first = share('a', waiting().signal, () => Promise.reject(circle));
  const second = share('a', waiting().signal, async () => 'done');
  await expect(first).rejects.toBe(circle);
  expect(await second).toBe('done');
});
