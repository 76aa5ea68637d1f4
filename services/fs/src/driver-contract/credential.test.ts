import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { openCredential, type Timing } from './credential.ts';
import type { KeptItem } from './kept-item.ts';

/** A place that several replicas share, and a server whose secrets are good once. */
function openPlace() {
  let stored = '';
  let isAway = false;
  let secret = 'entered';
  let token = '';
  let asked = 0;
  let nowMs = 0;
  let expiresAt: Date | undefined;
  let afterwards = () => {};
  const timing: Timing = {
    clock: () => nowMs,
    pause: async (ms) => {
      nowMs += ms;
      await new Promise(setImmediate);
    },
  };
  const keptItem = (): KeptItem => {
    let value = stored;
    return {
      get value() {
        return value;
      },
      async replace(before, after) {
        await new Promise(setImmediate);
        if (isAway) throw new AppError('STORAGE_UNAVAILABLE', 'admin does not answer');
        if (stored === before) stored = after;
        value = stored;
        return value;
      },
    };
  };
  const renew = async (shown: string) => {
    asked += 1;
    await new Promise(setImmediate);
    if (shown !== secret) throw new AppError('STORAGE_LOGIN_FAILED', 'this secret was used before');
    secret = `secret ${asked}`;
    token = `token ${asked}`;
    afterwards();
    return { token, secret, expiresAt };
  };
  return {
    open: (entered = 'entered') => openCredential(keptItem(), { secret: entered, renew }, timing),
    call: async (shown: string) => {
      if (shown !== token) throw new AppError('STORAGE_LOGIN_FAILED', 'expired');
      return shown;
    },
    expire: () => {
      token = '';
    },
    asked: () => asked,
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** What the server gives ends then. */
    endAt: (date: Date) => {
      expiresAt = date;
    },
    stored: () => stored,
    store: (text: string) => {
      stored = text;
    },
    setAway: (away: boolean) => {
      isAway = away;
    },
    nowMs: () => nowMs,
    afterRenewing: (run: () => void) => {
      afterwards = run;
    },
    setSecret: (next: string) => {
      secret = next;
    },
  };
}

describe('a credential', () => {
  it('is renewed by one of many that find it expired, in whatever replica', async () => {
    const place = openPlace();
    const replicas = [place.open(), place.open(), place.open()];
    for (let round = 1; round <= 20; round += 1) {
      const results = await Promise.all([...replicas, ...replicas].map((each) => each.use(place.call)));
      expect(new Set(results)).toEqual(new Set([`token ${round}`]));
      place.expire();
    }
    expect(place.asked()).toBe(20);
  });

  it('is taken over from a replica that ended while it asked', async () => {
    const place = openPlace();
    await place.open().use(place.call);
    place.expire();
    place.store(JSON.stringify({ ...JSON.parse(place.stored()), claim: 'of one that ended' }));
    expect(await place.open().use(place.call)).toBe('token 2');
    expect(place.nowMs()).toBeGreaterThanOrEqual(15_000);
    expect(place.stored()).not.toContain('claim');
  });

  it('is not lost where it cannot be kept at once', async () => {
    const place = openPlace();
    const one = place.open();
    await one.use(place.call);
    place.expire();
    place.afterRenewing(() => place.setAway(true));
    expect(await one.use(place.call)).toBe('token 2');
    expect(await one.use(place.call)).toBe('token 2');
    place.expire();
    await expect(one.use(place.call)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    place.afterRenewing(() => {});
    place.setAway(false);
    expect(await one.use(place.call)).toBe('token 3');
    expect(await place.open().use(place.call)).toBe('token 3');
  });

  it('begins anew with another secret that was entered', async () => {
    const place = openPlace();
    await place.open().use(place.call);
    place.expire();
    place.setSecret('another');
    expect(await place.open('another').use(place.call)).toBe('token 2');
  });

  it('says why the server refuses, and lets others try', async () => {
    const place = openPlace();
    place.setSecret('no more');
    await expect(place.open().use(place.call)).rejects.toMatchObject({
      code: 'STORAGE_LOGIN_FAILED',
      message: 'this secret was used before',
    });
    place.setSecret('entered');
    expect(await place.open().use(place.call)).toBe('token 2');
  });

  it('passes other failures on, and ends with its caller', async () => {
    const place = openPlace();
    const credential = place.open();
    const broken = new AppError('STORAGE_UNAVAILABLE', 'gone');
    await expect(credential.use(() => Promise.reject(broken))).rejects.toBe(broken);
    expect(place.asked()).toBe(1);
    await expect(place.open().use(place.call, { signal: AbortSignal.abort() })).resolves.toBe('token 1');
    place.expire();
    await expect(place.open().use(place.call, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('is asked for once in a while of a server that refuses each', async () => {
    const place = openPlace();
    const credential = place.open();
    const refuse = async () => {
      throw new AppError('STORAGE_LOGIN_FAILED', 'refused');
    };
    for (let call = 0; call < 5; call += 1) await expect(credential.use(refuse)).rejects.toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
    expect(place.asked()).toBe(3);
    place.pass(10_001);
    for (let call = 0; call < 5; call += 1) await expect(credential.use(refuse)).rejects.toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
    expect(place.asked()).toBe(4);
  });

  it.each([new Date(0), new Date(Number.NaN), new Date(Date.now() + 1_000)])(
    'that would end at once is used until it is refused: %s',
    async (end) => {
      const place = openPlace();
      place.endAt(end);
      const credential = place.open();
      for (let call = 0; call < 5; call += 1) await credential.use(place.call);
      expect(place.asked()).toBe(1);
    },
  );
});
