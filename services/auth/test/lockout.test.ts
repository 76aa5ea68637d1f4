import { ROLE } from '@wharf/rights';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, ADMIN_PASSWORD, openPlace, type Place, type Replica } from './replica.ts';

const LOCKED = 'Too many unsuccessful sign-in attempts have been made using an incorrect username or password, Try again later.';
const MINUTE = 60_000;

let place: Place;
let one: Replica;
let two: Replica;
let lastAddress = 0;

const newAddress = () => `198.51.${Math.trunc(++lastAddress / 250)}.${lastAddress % 250}`;
/** The code of the error that a login ends with, or `ok`. */
const tryLogin = async (replica: Replica, address: string, password: string) =>
  replica.auth.login({ username: 'admin', password, address }).then(
    () => 'ok',
    (error) => {
      if (error.code === 'RATE_LIMITED') expect(error.message).toBe(LOCKED);
      return error.code;
    },
  );
const advance = (ms: number) => {
  for (const replica of [one, two]) replica.advance(ms);
};

beforeAll(async () => {
  place = await openPlace();
  one = await place.open();
  two = await place.open();
});
afterAll(() => place?.close());

describe('the lockout of an address with an account, with two replicas on one store (C14)', () => {
  it('five failures lock it everywhere, even for the right password, and no other address', async () => {
    const address = newAddress();
    for (const replica of [one, two, one, two, one]) expect(await tryLogin(replica, address, 'wrong')).toBe('UNAUTHENTICATED');
    for (const replica of [one, two]) {
      expect(await tryLogin(replica, address, ADMIN_PASSWORD)).toBe('RATE_LIMITED');
      expect(await tryLogin(replica, `::ffff:${address}`, ADMIN_PASSWORD)).toBe('RATE_LIMITED');
      expect(await tryLogin(replica, newAddress(), ADMIN_PASSWORD)).toBe('ok');
    }
  });

  it('a locked address costs no verification', async () => {
    const address = newAddress();
    for (let i = 0; i < 5; i += 1) await tryLogin(one, address, 'wrong');
    const before = await one.verifications();
    expect(await tryLogin(one, address, 'wrong')).toBe('RATE_LIMITED');
    expect(await one.verifications()).toBe(before);
  });

  it('guesses that were sent before the lock, and wait, cost none either', async () => {
    const address = newAddress();
    const before = await one.verifications();
    await Promise.all(Array.from({ length: 60 }, () => tryLogin(one, address, 'wrong')));
    expect((await one.verifications()) - before).toBeLessThan(30);
  });

  it('a lock ends after five minutes although it was tried meanwhile', async () => {
    const address = newAddress();
    for (let i = 0; i < 5; i += 1) await tryLogin(one, address, 'wrong');
    advance(4 * MINUTE);
    for (const replica of [one, two, one, two]) expect(await tryLogin(replica, address, 'wrong')).toBe('RATE_LIMITED');
    advance(MINUTE);
    expect(await tryLogin(two, address, 'wrong')).toBe('UNAUTHENTICATED');
    expect(await tryLogin(one, address, ADMIN_PASSWORD)).toBe('ok');
  });

  it('four failures are forgotten by a login that works', async () => {
    const address = newAddress();
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 4; i += 1) expect(await tryLogin(one, address, 'wrong')).toBe('UNAUTHENTICATED');
      expect(await tryLogin(two, address, ADMIN_PASSWORD)).toBe('ok');
    }
  });

  it('four failures are forgotten five minutes after the first', async () => {
    const address = newAddress();
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 4; i += 1) expect(await tryLogin(one, address, 'wrong')).toBe('UNAUTHENTICATED');
      advance(5 * MINUTE);
    }
  });

  it('of many wrong guesses sent side by side to both replicas exactly five are judged', async () => {
    const address = newAddress();
    const codes = await Promise.all(Array.from({ length: 24 }, (_, i) => tryLogin(i % 2 ? one : two, address, `wrong ${i}`)));
    expect(codes.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(5);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(19);
  });

  it('many right logins side by side from one address all work', async () => {
    const address = newAddress();
    const codes = await Promise.all(Array.from({ length: 24 }, (_, i) => tryLogin(i % 2 ? one : two, address, ADMIN_PASSWORD)));
    expect(new Set(codes)).toEqual(new Set(['ok']));
  });
});

const tryName = (username: string, address: string, password: string, replica = one) =>
  replica.auth.login({ username, password, address }).then(
    () => 'ok',
    (error) => error.code,
  );
const makeUser = async (username: string) =>
  (await one.auth.createUser({ user: { username, password: 'x', base_path: '/' } }, one.as())).id;

describe('failures with one account', () => {
  it('are not forgotten by a login to another one from there', async () => {
    const address = newAddress();
    await makeUser('guesser');
    const guesses = [];
    for (let i = 0; i < 3; i += 1) {
      for (let j = 0; j < 2; j += 1) guesses.push(await tryName('admin', address, 'wrong', j % 2 ? one : two));
      expect(await tryName('guesser', address, 'x')).toBe('ok');
    }
    expect(guesses).toEqual([...Array(5).fill('UNAUTHENTICATED'), 'RATE_LIMITED']);
    expect(await tryName('admin', address, ADMIN_PASSWORD)).toBe('RATE_LIMITED');
  });

  it('are not forgotten by the password of an app', async () => {
    const address = newAddress();
    const id = await makeUser('with an app');
    const options = one.as({ ...ADMIN, id, username: 'with an app', role: ROLE.general });
    const { password } = await one.auth.createAppPassword({ name: 'phone', protocols: ['webdav'] }, options);
    const check = () => one.auth.checkCredential({ username: 'with an app', password, protocol: 'webdav', address }, one.kit.ownCall());
    for (let i = 0; i < 4; i += 1) expect(await tryName('with an app', address, 'wrong')).toBe('UNAUTHENTICATED');
    await check();
    expect(await tryName('with an app', address, 'wrong')).toBe('UNAUTHENTICATED');
    expect(await tryName('with an app', address, 'x')).toBe('RATE_LIMITED');
  });

  it('do not refuse the others from there, until twenty are in a quarter of an hour; a login takes back its own alone', async () => {
    const address = newAddress();
    await makeUser('neighbour');
    const guess = (name: string) => tryName(name, address, 'wrong');
    for (let i = 0; i < 16; i += 1) expect(await guess(`name ${i % 4}`)).toBe('UNAUTHENTICATED');
    for (let i = 0; i < 3; i += 1) expect(await guess('neighbour')).toBe('UNAUTHENTICATED');
    // Nineteen; three of them are taken back.
    expect(await tryName('neighbour', address, 'x')).toBe('ok');
    for (let i = 0; i < 4; i += 1) expect(await guess(`other ${i}`)).toBe('UNAUTHENTICATED');
    const before = await one.verifications();
    expect(await tryName('neighbour', address, 'x')).toBe('RATE_LIMITED');
    expect(await one.verifications()).toBe(before);
    expect(await tryName('neighbour', newAddress(), 'x')).toBe('ok');
    advance(15 * MINUTE);
    expect(await tryName('neighbour', address, 'x')).toBe('ok');
  });
});

describe('the lockout of an account, with two replicas on one store', () => {
  /** Fifty failures, from ten addresses. */
  const failFiftyTimes = async (username: string) => {
    for (let i = 0; i < 10; i += 1) {
      const address = newAddress();
      for (let j = 0; j < 5; j += 1) expect(await tryName(username, address, 'wrong', j % 2 ? one : two)).toBe('UNAUTHENTICATED');
    }
  };

  it('fifty failures refuse it to addresses that never logged in to it, and to no other', async () => {
    const [known, stranger] = [newAddress(), newAddress()];
    expect(await tryName('admin', known, ADMIN_PASSWORD)).toBe('ok');
    advance(15 * MINUTE);
    await failFiftyTimes('ADMIN');
    const before = await one.verifications();
    expect(await tryName('admin', stranger, ADMIN_PASSWORD)).toBe('RATE_LIMITED');
    expect(await one.verifications()).toBe(before);
    for (const replica of [one, two]) {
      expect(await tryName('admin', known, 'wrong', replica)).toBe('UNAUTHENTICATED');
      expect(await tryName('admin', `::ffff:${known}`, ADMIN_PASSWORD, replica)).toBe('ok');
    }
    advance(14 * MINUTE);
    expect(await tryName('admin', stranger, ADMIN_PASSWORD)).toBe('RATE_LIMITED');
    advance(MINUTE);
    expect(await tryName('admin', stranger, ADMIN_PASSWORD)).toBe('ok');
  });

  it('does not tell which names exist', async () => {
    await failFiftyTimes('nobody of this name');
    expect(await tryName('nobody of this name', newAddress(), 'wrong')).toBe('RATE_LIMITED');
    expect(await tryName('admin', newAddress(), ADMIN_PASSWORD)).toBe('ok');
  });

  it('an account remembers the last fifty addresses', async () => {
    const { id } = await one.auth.createUser({ user: { username: 'traveller', password: 'x', base_path: '/' } }, one.as());
    const addresses = Array.from({ length: 52 }, newAddress);
    for (const address of addresses) {
      advance(1);
      expect(await tryName('traveller', address, 'x')).toBe('ok');
    }
    const remembered = (await one.models.loginAddresses.find({ user_id: id }).lean()).map(({ _id }) => _id);
    expect(remembered.sort()).toEqual(
      addresses
        .slice(2)
        .map((address) => `${id} ${address}`)
        .sort(),
    );
    await one.auth.deleteUser({ id }, one.as());
    expect(await one.models.loginAddresses.countDocuments({ user_id: id })).toBe(0);
  });
});
