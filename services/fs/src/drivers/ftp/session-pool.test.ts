import { expect, it, onTestFinished } from 'vitest';
import type { FtpSession } from './client.ts';
import { NotGreeted } from './errors.ts';
import { SessionPool } from './session-pool.ts';

const session = () => ({ isEnded: false, isSettled: true, end: () => undefined }) as unknown as FtpSession;

it('who is refused a session while the first one is being made waits for that one', async () => {
  const first = Promise.withResolvers<FtpSession>();
  let asked = 0;
  const connect = async () => {
    asked += 1;
    if (asked === 1) return first.promise;
    throw new NotGreeted();
  };
  const pool = new SessionPool(connect, (work) => void work.catch(() => undefined), 'server');
  onTestFinished(() => pool.close());
  const taking = [pool.take('names'), pool.take('writes')];
  const served = taking.map(async (lease) => (await lease).release());
  first.resolve(session());
  await Promise.all(served);
  expect(asked).toBe(2);
});
