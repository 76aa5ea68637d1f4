import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createCallLimit } from './call-limit.ts';

it('a client without a login has one share, from whichever address of its IPv6 network it comes', async () => {
  const limit = createCallLimit(2, { begin: () => () => undefined, isShort: () => false });
  const hold = Promise.withResolvers<void>();
  const call = (address: string) =>
    limit.during(
      undefined,
      address,
      () => hold.promise,
      () => undefined,
    );
  const [first, second] = [call('2001:db8:1:2::1'), call('2001:db8:1:2::2')];
  await expect(call('2001:db8:1:2::3')).rejects.toSatisfy((error) => AppError.is(error, 'OVERLOADED'));
  const other = call('2001:db8:1:3::1');
  hold.resolve();
  await Promise.all([first, second, other]);
});

it('a call that ends early is told why, whatever it throws, and is under way no longer', async () => {
  const under = new Set<(error: AppError) => void>();
  const limit = createCallLimit(1, {
    isShort: () => false,
    begin(_owner, end) {
      under.add(end);
      return () => under.delete(end);
    },
  });
  const hold = Promise.withResolvers<void>();
  const call = () =>
    limit.during(
      undefined,
      '192.0.2.1',
      () => hold.promise,
      () => hold.reject(new AppError('CANCELLED', 'the caller has gone')),
    );
  const first = call();
  for (const end of under) end(new AppError('OVERLOADED', 'too much'));
  await expect(first).rejects.toMatchObject({ code: 'OVERLOADED', message: 'too much' });
  expect(under.size).toBe(0);
  await expect(call(), 'its place is free').rejects.toMatchObject({ code: 'CANCELLED' });
});

it('some addresses without a login leave places for those that have none yet', async () => {
  const limit = createCallLimit(64, { begin: () => () => undefined, isShort: () => false });
  const hold = Promise.withResolvers<void>();
  const refused: unknown[] = [];
  let underWay = 0;
  const call = (address: string) => {
    const run = () => {
      underWay += 1;
      return hold.promise;
    };
    return limit.during(undefined, address, run, () => undefined).catch((error) => refused.push(error));
  };
  const callsOf = (address: string) => Array.from({ length: 100 }, () => call(address));
  const calls = callsOf('192.0.2.1');
  expect(underWay, 'alone').toBe(64);
  for (let other = 2; other <= 8; other += 1) calls.push(...callsOf(`192.0.2.${other}`));
  const before = underWay;
  calls.push(call('198.51.100.1'), call('198.51.100.2'));
  expect(underWay - before).toBe(2);
  hold.resolve();
  await Promise.all(calls);
  expect(refused.every((error) => AppError.is(error, 'OVERLOADED'))).toBe(true);
});
