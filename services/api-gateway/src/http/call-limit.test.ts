import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createCallLimit } from './call-limit.ts';

it('a client without a login has one share, from whichever address of its IPv6 network it comes', async () => {
  const limit = createCallLimit(2);
  const hold = Promise.withResolvers<void>();
  const call = (address: string) => limit.during(undefined, address, () => hold.promise);
  const [first, second] = [call('2001:db8:1:2::1'), call('2001:db8:1:2::2')];
  await expect(call('2001:db8:1:2::3')).rejects.toSatisfy((error) => AppError.is(error, 'OVERLOADED'));
  const other = call('2001:db8:1:3::1');
  hold.resolve();
  await Promise.all([first, second, other]);
});
