import { expect, it } from 'vitest';
import { ANN } from './testing/ann.ts';
import { createTwoStep, type TwoStepStore } from './two-step.ts';
import type { User } from './user.ts';

const USER: User = { ...ANN, otpSecret: 'sealed' };
const ID = USER.id;
const AWAY = new Error('the store is away');

it.each([1, 2, 3, 4])(
  'switching it off ends all logins, also where the store is away for write %i and it is asked for again',
  async (awayAt) => {
    let user = USER;
    let logins = 2;
    let writes = 0;
    const write = async (change: () => void) => {
      writes += 1;
      if (writes === awayAt) throw AWAY;
      change();
    };
    const store: Partial<TwoStepStore> = {
      clear: () =>
        write(() => {
          user = { ...user, otpSecret: '' };
        }),
    };
    const endSessionsOf = () =>
      write(() => {
        logins = 0;
      });
    const changed = () => write(() => {}).then(() => 1);
    const parts = { findUser: async () => user, store, endSessionsOf, changed };
    const twoStep = createTwoStep(parts as unknown as Parameters<typeof createTwoStep>[0]);
    await expect(twoStep.cancel(ID)).rejects.toBe(AWAY);
    await twoStep.cancel(ID);
    expect([user.otpSecret, logins]).toEqual(['', 0]);
  },
);
