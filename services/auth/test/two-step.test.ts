import { ROLE } from '@wharf/rights';
import { createLoginTokens } from '@wharf/service-kit';
import { generateSync } from 'otplib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { staticHash } from '../src/domain/static-hash.ts';
import { ADMIN, alignToStep, fromGateway, openPlace, type Place, type Replica } from './replica.ts';

const STEP_MS = 30_000;
const WRONG_CODE = { code: 'INVALID_ARGUMENT', message: 'Invalid 2FA code' };
const OTP_REQUIRED = { code: 'OTP_REQUIRED', message: 'Invalid 2FA code' };

let place: Place;
let one: Replica;
let two: Replica;
let last = 0;

const newAddress = () => `203.0.113.${++last % 250}`;
/** What an authenticator shows, that many steps from now. */
const codeOf = (secret: string, steps = 0) => generateSync({ secret, epoch: Math.floor((one.kit.clock() + steps * STEP_MS) / 1000) });
const nextStep = () => {
  for (const replica of [one, two]) replica.advance(STEP_MS);
};
const makeUser = async () => {
  const username = `user${++last}`;
  const { id } = await one.auth.createUser({ user: { username, password: 'x', base_path: '/' } }, one.as());
  const options = (replica = one) => replica.as({ ...ADMIN, id, username, role: ROLE.general });
  const login = (otp_code: string, replica = one, address = newAddress()) =>
    replica.auth.login({ username, password: 'x', otp_code, address });
  return { id, username, options, login };
};
/** A user with two-step verification, whose first code is used. */
const makeVerified = async () => {
  const user = await makeUser();
  const { secret } = await one.auth.generateOtp({}, user.options());
  await one.auth.verifyOtp({ secret, code: codeOf(secret, -1) }, user.options());
  return { ...user, secret };
};
const isOn = async (id: number) => (await one.auth.getUser({ id }, one.as())).user?.otp;

beforeAll(async () => {
  place = await openPlace();
  one = await place.open();
  two = await place.open();
});
beforeEach(() => alignToStep(one, two));
afterAll(() => place?.close());

describe('switching two-step verification on', () => {
  it('draws one code at a time, users by turns', async () => {
    const [many, other] = [await makeUser(), await makeUser()];
    const answered: number[] = [];
    const ask = ({ id, options }: typeof many) => one.auth.generateOtp({}, options()).then(() => answered.push(id));
    await Promise.all([...Array.from({ length: 10 }, () => ask(many)), ask(other)]);
    expect(answered.indexOf(other.id)).toBeLessThan(3);
  });
  it('draws none for a login that ends while it waits for its turn', async () => {
    const { id, username, login } = await makeUser();
    const { sid: sessionId } = createLoginTokens(one.kit.keys.jwt, one.kit.clock).verify((await login('')).token);
    const own = one.as({ ...ADMIN, id, username, role: ROLE.general, sessionId });
    const waiting = Promise.allSettled(Array.from({ length: 10 }, () => one.auth.generateOtp({}, own)));
    await one.auth.revokeSession({ id: sessionId }, own);
    expect((await waiting).at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'UNAUTHENTICATED' } });
  });
  it('takes the secret that was made and a code of it, and then logins need a code', async () => {
    const user = await makeUser();
    const { secret, qr } = await one.auth.generateOtp({}, user.options());
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(qr).toMatch(/^data:image\/png;base64,/);
    expect(await isOn(user.id)).toBe(false);
    await user.login('');
    // Made on one replica, verified on the other.
    const { revision } = await two.auth.verifyOtp({ secret, code: codeOf(secret, -1) }, user.options(two));
    expect(revision).toBeGreaterThan(0);
    expect(await isOn(user.id)).toBe(true);
    await expect(user.login('')).rejects.toMatchObject(OTP_REQUIRED);
    await user.login(codeOf(secret));
  });

  it('asks those for a code, too, whose logins wait for their hashes at that time', async () => {
    const user = await makeUser();
    const { secret } = await one.auth.generateOtp({}, user.options());
    const credential = { username: user.username, password: 'x', protocol: 'webdav' };
    const waiting = Promise.allSettled([
      ...Array.from({ length: 10 }, () => user.login('')),
      one.auth.checkCredential({ ...credential, address: newAddress() }, fromGateway(one.kit.tokens)),
      user.login(''),
    ]);
    await one.auth.verifyOtp({ secret, code: codeOf(secret) }, user.options());
    const [credentialAnswer, lastLogin] = (await waiting).slice(-2);
    expect(credentialAnswer).toMatchObject({ status: 'rejected', reason: { code: 'UNAUTHENTICATED' } });
    expect(lastLogin).toMatchObject({ status: 'rejected', reason: OTP_REQUIRED });
  });

  it('is refused with a wrong code, a secret that the caller made up, and the secret of somebody else', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const { secret } = await one.auth.generateOtp({}, user.options());
    const own = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    const wrong = codeOf(secret) === '000000' ? '000001' : '000000';
    for (const input of [
      { secret, code: wrong },
      { secret, code: '' },
      { secret, code: codeOf(secret, 5) },
      { secret: own, code: codeOf(own) },
      { secret: '', code: codeOf(secret) },
    ])
      await expect(one.auth.verifyOtp(input, user.options())).rejects.toMatchObject(WRONG_CODE);
    await expect(one.auth.verifyOtp({ secret, code: codeOf(secret) }, other.options())).rejects.toMatchObject(WRONG_CODE);
    expect(await isOn(user.id)).toBe(false);
    await one.auth.verifyOtp({ secret, code: codeOf(secret) }, user.options());
  });

  it('is refused ten minutes after the secret was made, and with a secret that another one replaced', async () => {
    const user = await makeUser();
    const { secret: first } = await one.auth.generateOtp({}, user.options());
    const { secret } = await one.auth.generateOtp({}, user.options());
    await expect(one.auth.verifyOtp({ secret: first, code: codeOf(first) }, user.options())).rejects.toMatchObject(WRONG_CODE);
    for (let i = 0; i < 20; i += 1) nextStep();
    await expect(one.auth.verifyOtp({ secret, code: codeOf(secret) }, user.options())).rejects.toMatchObject(WRONG_CODE);
  });

  it('replaces the secret that was there, whose codes and recovery codes are worth nothing then', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    nextStep();
    const { secret } = await one.auth.generateOtp({}, user.options());
    await user.login(codeOf(user.secret));
    nextStep();
    const otp_code = codeOf(user.secret, 1);
    await one.auth.verifyOtp({ secret, code: codeOf(secret), otp_code }, user.options());
    nextStep();
    for (const code of [codeOf(user.secret, 1), codes[0] ?? '']) await expect(user.login(code)).rejects.toMatchObject(OTP_REQUIRED);
    await user.login(codeOf(secret));
  });

  it('in the place of one that is on takes a code of that one, or a recovery code, once', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    nextStep();
    const { secret } = await one.auth.generateOtp({}, user.options());
    const replace = (otp_code: string, replica = one) =>
      replica.auth.verifyOtp({ secret, code: codeOf(secret), otp_code }, user.options(replica));
    await expect(replace('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('otp_code is missing') });
    for (const code of [codeOf(secret, 1), codeOf(user.secret, -1), 'abcd-efgh-jkmn'])
      await expect(replace(code)).rejects.toMatchObject(WRONG_CODE);
    expect(await isOn(user.id)).toBe(true);
    // What does not fit the new secret uses nothing up.
    const unfit = { secret, code: codeOf(secret, 5), otp_code: codes[0] ?? '' };
    await expect(one.auth.verifyOtp(unfit, user.options())).rejects.toMatchObject(WRONG_CODE);
    const results = await Promise.allSettled([replace(codes[0] ?? ''), replace(codes[0] ?? '', two)]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await user.login(codeOf(secret, 1));
  });

  it('beside another one that is switched on at the same time is refused', async () => {
    const user = await makeUser();
    const { secret } = await one.auth.generateOtp({}, user.options());
    const verify = (replica: Replica) => replica.auth.verifyOtp({ secret, code: codeOf(secret) }, user.options(replica));
    const results = await Promise.allSettled([verify(one), verify(two)]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('keeps secrets sealed in the store and out of the log', async () => {
    const user = await makeUser();
    const { secret } = await one.auth.generateOtp({}, user.options());
    const record = async () => JSON.stringify(await one.models.users.findById(user.id).lean());
    expect(await record()).not.toContain(secret);
    await one.auth.verifyOtp({ secret, code: codeOf(secret, -1) }, user.options());
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(secret) }, user.options());
    for (const text of [secret, ...codes]) {
      expect(await record()).not.toContain(text);
      expect(one.log()).not.toContain(text);
    }
  });

  it('is not for the guest, nor for nobody', async () => {
    const guest = one.as({ ...ADMIN, id: 2, role: ROLE.guest });
    const refusal = { code: 'PERMISSION_DENIED', message: 'Guest user can not generate 2FA code' };
    await expect(one.auth.generateOtp({}, guest)).rejects.toMatchObject(refusal);
    await expect(one.auth.verifyOtp({ code: '1', secret: '1' }, guest)).rejects.toMatchObject(refusal);
    await expect(one.auth.generateRecoveryCodes({ code: '1' }, guest)).rejects.toMatchObject(refusal);
    await expect(one.auth.generateOtp({})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('a code (C13)', () => {
  it('is good for its own step and the ones beside it', async () => {
    for (const steps of [-2, 2]) {
      const user = await makeVerified();
      await expect(user.login(codeOf(user.secret, steps))).rejects.toMatchObject(OTP_REQUIRED);
    }
    for (const steps of [0, 1]) {
      const user = await makeVerified();
      await user.login(codeOf(user.secret, steps));
    }
    const user = await makeVerified();
    nextStep();
    nextStep();
    await user.login(codeOf(user.secret, -1));
  });

  it('is good by the clock of the machine, too, where that of the store is off', async () => {
    const user = await makeVerified();
    for (const replica of [one, two]) replica.part(-600_000);
    try {
      await user.login(codeOf(user.secret, 600_000 / STEP_MS));
    } finally {
      for (const replica of [one, two]) replica.part(600_000);
    }
  });

  it('that is not six digits is refused', async () => {
    const user = await makeVerified();
    const code = codeOf(user.secret);
    for (const text of [`${code}0`, code.slice(1), `-${code.slice(1)}`, 'abcdef', '9'.repeat(1_000_000), '１２３４５６'])
      await expect(user.login(text)).rejects.toMatchObject(OTP_REQUIRED);
    await user.login(`${code.slice(0, 3)} ${code.slice(3)}`);
  });

  it('is used once, ever, on whichever replica; so is the one that switched verification on', async () => {
    const user = await makeUser();
    const { secret } = await one.auth.generateOtp({}, user.options());
    const code = codeOf(secret);
    await one.auth.verifyOtp({ secret, code }, user.options());
    await expect(user.login(code)).rejects.toMatchObject(OTP_REQUIRED);
    const next = codeOf(secret, 1);
    await user.login(next, two);
    for (const replica of [one, two]) await expect(user.login(next, replica)).rejects.toMatchObject(OTP_REQUIRED);
    // An older one is used up with the newer.
    await expect(user.login(code)).rejects.toMatchObject(OTP_REQUIRED);
  });

  it('is asked for by a login with the hash, too, and is used up by it', async () => {
    const { username, secret, login } = await makeVerified();
    const withHash = (otp_code: string) => one.auth.loginWithHash({ username, password: staticHash('x'), otp_code, address: newAddress() });
    await expect(withHash('')).rejects.toMatchObject(OTP_REQUIRED);
    const code = codeOf(secret);
    expect((await withHash(code)).token).not.toBe('');
    await expect(withHash(code)).rejects.toMatchObject(OTP_REQUIRED);
    await expect(login(code)).rejects.toMatchObject(OTP_REQUIRED);
  });

  it('sent with fifty logins at once to two replicas lets exactly one in', async () => {
    const user = await makeVerified();
    const code = codeOf(user.secret);
    const results = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => user.login(code, i % 2 ? one : two, `198.51.100.${i}`)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect([OTP_REQUIRED.code, 'RATE_LIMITED']).toContain(result.reason.code);
    expect(await one.models.sessions.countDocuments({ user_id: user.id })).toBe(1);
  });

  it('is guessed at five times in a quarter of an hour, from whichever address, however often the owner logs in', async () => {
    const user = await makeVerified();
    const home = newAddress();
    const outcome = (login: Promise<unknown>) =>
      login.then(
        () => 'ok',
        (error) => error.code,
      );
    const guess = (replica: Replica, address: string) => outcome(user.login(codeOf(user.secret, 9), replica, address));
    const guesses = [await guess(one, home), await guess(two, newAddress())];
    expect(await outcome(user.login(codeOf(user.secret), one, home))).toBe('ok');
    for (let i = 0; i < 8; i += 1) guesses.push(await guess(i % 2 ? one : two, newAddress()));
    expect(guesses).toEqual([...Array(5).fill('OTP_REQUIRED'), ...Array(5).fill('RATE_LIMITED')]);
    expect(await outcome(user.login(codeOf(user.secret, 1), one, home))).toBe('RATE_LIMITED');
    for (let i = 0; i < 30; i += 1) nextStep();
    expect(await outcome(user.login(codeOf(user.secret), one, home))).toBe('ok');
  });

  it('that nobody knows the password for cannot be locked, and recovery codes get in where others guess', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    const stranger = { username: user.username, password: 'wrong', otp_code: '000000' };
    for (let i = 0; i < 6; i += 1)
      await expect(one.auth.login({ ...stranger, address: newAddress() })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await user.login(codeOf(user.secret, 1));
    const wrong = codeOf(user.secret, 9);
    const guesses = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => user.login(wrong, i % 2 ? one : two)));
    expect(guesses.filter((each) => each.status === 'rejected' && each.reason.code === 'OTP_REQUIRED')).toHaveLength(5);
    await user.login(codes[0] ?? '', two);
  });

  it('is not asked for before the password is right', async () => {
    const { username, secret } = await makeVerified();
    const login = { username, password: 'wrong', otp_code: codeOf(secret), address: newAddress() };
    await expect(one.auth.login(login)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('recovery codes', () => {
  it('are ten, each of which logs in once, in any letter case, with or without its dashes', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    expect(codes).toHaveLength(10);
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4}$/);
    const [first = '', second = '', third = ''] = codes;
    await user.login(first);
    await user.login(second.toUpperCase(), two);
    await user.login(third.replaceAll('-', ' '));
    for (const code of [first, second, third]) await expect(user.login(code)).rejects.toMatchObject(OTP_REQUIRED);
  });

  it('are used once also by many logins at once', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    const login = (i: number) => user.login(codes[0] ?? '', i % 2 ? one : two, `198.51.100.${i}`);
    const results = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => login(i)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('made anew end the ones before, and one of them makes them anew', async () => {
    const user = await makeVerified();
    const { codes } = await one.auth.generateRecoveryCodes({ code: codeOf(user.secret) }, user.options());
    const [first = '', second = ''] = codes;
    const again = await one.auth.generateRecoveryCodes({ code: first }, user.options());
    await expect(user.login(second)).rejects.toMatchObject(OTP_REQUIRED);
    await user.login(again.codes[0] ?? '');
  });

  it('need a fresh code; five wrong ones lock them for a quarter of an hour, together with those of logins', async () => {
    const user = await makeUser();
    await expect(one.auth.generateRecoveryCodes({ code: '000000' }, user.options())).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    const verified = await makeVerified();
    const ask = (code: string, replica = one) => replica.auth.generateRecoveryCodes({ code }, verified.options(replica));
    const used = codeOf(verified.secret);
    await ask(used);
    await expect(ask(used)).rejects.toMatchObject(WRONG_CODE);
    const wrong = codeOf(verified.secret, 9);
    await expect(verified.login(wrong)).rejects.toMatchObject(OTP_REQUIRED);
    const results = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => ask(wrong, i % 2 ? one : two)));
    expect(results.filter((each) => each.status === 'rejected' && each.reason.code === 'RATE_LIMITED')).toHaveLength(9);
    nextStep();
    await expect(ask(codeOf(verified.secret))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    for (let i = 0; i < 30; i += 1) nextStep();
    await ask(codeOf(verified.secret));
  });
});

describe('switching two-step verification off', () => {
  it("is the admin's; it ends the user's sessions, and a password is enough again", async () => {
    const user = await makeVerified();
    const { token } = await user.login(codeOf(user.secret));
    await expect(one.auth.cancelOtp({ id: user.id }, user.options())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    const { revision } = await one.auth.cancelOtp({ id: user.id }, one.as());
    expect(revision).toBeGreaterThan(0);
    expect(await isOn(user.id)).toBe(false);
    await expect(one.callers.establish(token)).rejects.toMatchObject({ message: 'token is invalidated' });
    await user.login('');
  });

  it('leaves the sessions of a user who had none, and a secret that waits is forgotten', async () => {
    const user = await makeUser();
    const { token } = await user.login('');
    const { secret } = await one.auth.generateOtp({}, user.options());
    await one.auth.cancelOtp({ id: user.id }, one.as());
    await one.callers.establish(token);
    await expect(one.auth.verifyOtp({ secret, code: codeOf(secret) }, user.options())).rejects.toMatchObject(WRONG_CODE);
    await expect(one.auth.cancelOtp({ id: 999_999 }, one.as())).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });

  it("editing a user leaves the user's two-step verification as it is", async () => {
    const user = await makeVerified();
    const update = { id: user.id, username: user.username, base_path: '/x', password: 'x' };
    await one.auth.updateUser({ user: update }, one.as());
    await expect(user.login('')).rejects.toMatchObject(OTP_REQUIRED);
    await user.login(codeOf(user.secret));
  });
});
