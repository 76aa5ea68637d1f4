import { expect, it, onTestFinished } from 'vitest';
import { heldWhileOpen } from '../../driver-contract/while-open.ts';
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

it('who asks by a session that is lent is known to hold one', async () => {
  const pool = new SessionPool(
    async () => session(),
    (work) => void work.catch(() => undefined),
    'lending',
  );
  onTestFinished(() => pool.close());
  const { session: lent, release } = await pool.take('writes');
  expect(await pool.lend(lent, async () => heldWhileOpen.getStore())).toBeInstanceOf(Map);
  release();
});
