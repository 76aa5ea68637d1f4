import { expect, it } from 'vitest';
import { createStoreContact } from './store-contact.ts';

/** A worker that asks each second; the clock is the test's. */
function worker() {
  let now = 50_000;
  const contact = createStoreContact(() => now);
  return {
    contact,
    async ask(seconds: number, answersAfterMs = 0) {
      for (let second = 0; second < seconds; second += 1) {
        now += 1_000;
        await contact.through(async () => {
          now += answersAfterMs;
        });
      }
      return contact.isSteady();
    },
    fail: () => contact.through(() => Promise.reject(new Error('away'))).catch(() => contact.isSteady()),
    sleep: (ms: number) => {
      now += ms;
      return contact.isSteady();
    },
  };
}

it('leases are believed once the store has answered for as long as a lease, from the start on', async () => {
  const { contact, ask } = worker();
  expect(contact.isSteady()).toBe(false);
  expect(await ask(6)).toBe(false);
  expect(await ask(1)).toBe(true);
});

it.each<[string, (place: ReturnType<typeof worker>) => Promise<boolean> | boolean]>([
  ['an error', ({ fail }) => fail()],
  ['an answer that was long in coming', ({ ask }) => ask(1, 11_000)],
  ['a stop of the process itself', ({ sleep }) => sleep(11_000)],
])('after %s a whole lease has to pass', async (_what, happen) => {
  const place = worker();
  expect(await place.ask(10)).toBe(true);
  expect(await happen(place)).toBe(false);
  expect(await place.ask(5)).toBe(false);
  expect(await place.ask(2)).toBe(true);
});
