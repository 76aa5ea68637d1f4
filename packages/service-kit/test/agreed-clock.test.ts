import { startStoreProcess } from '@wharf/harness';
import { expect, it } from 'vitest';
import { followStoreClock } from '../src/agreed-clock.ts';
import { connectStore } from '../src/store.ts';

const QUIET = { warn: () => undefined };
const HOUR_MS = 3_600_000;
/** Of answers on a busy machine. */
const NEAR_MS = 30_000;

it.each([2 * HOUR_MS, -2 * HOUR_MS])('the time is the one of the store where the clock of a machine is %i ms off', async (offMs) => {
  const store = await startStoreProcess();
  const connection = await connectStore(store.url);
  const warned: unknown[] = [];
  const clock = await followStoreClock(connection, { warn: (fields: unknown) => warned.push(fields) }, () => Date.now() + offMs);
  try {
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(NEAR_MS);
    expect(warned).toHaveLength(1);
  } finally {
    clock.stop();
    await connection.close();
    await store.stop();
  }
});

it('the time is the one of this machine where the store has the same', async () => {
  const store = await startStoreProcess();
  const connection = await connectStore(store.url);
  const fixed = Date.now();
  const clock = await followStoreClock(connection, QUIET, () => fixed);
  try {
    expect(Math.abs(clock.now() - fixed)).toBeLessThan(NEAR_MS);
  } finally {
    clock.stop();
    await connection.close();
    await store.stop();
  }
});
