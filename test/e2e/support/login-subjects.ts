import { type Api, api, at, type Envelope, login } from '@wharf/harness';
import { change, type Subject } from './acknowledged.ts';
import { dataOf, makePerson, type Person } from './people.ts';
import { totpCode } from './totp.ts';
import type { World } from './world.ts';

/** Ended logins that are looked at after each kill. */
const ENDED_KEPT = 10;
/** Failures that lock an address out of an account, and how long at most a lock is asked for: five minutes, less the time that asking takes. */
const FAILURES = 5;
const ASKED_FOR_MS = 4 * 60_000;

/** What must hold of logins across kills: ended ones stay ended, used codes stay used, failures stay counted. */
export function loginSubjects(world: World): Subject[] {
  return [sessions(world), codes(world), failures(world)];
}

function sessions({ base, wharf }: World): Subject {
  const opened = new Map<string, Api>();
  return {
    kind: 'session',
    next(there, number) {
      const named = (value: string) => [...there].filter(([, held]) => held === value).map(([name]) => name);
      const [oldest] = named('open');
      const caller = oldest === undefined ? undefined : opened.get(oldest);
      if (number % 2 === 0 || oldest === undefined || caller === undefined) {
        const name = `login ${number}`;
        return change([[name, 'open']], async () => opened.set(name, await login(base, 'admin', wharf.adminPassword)));
      }
      const forgotten = named('ended').slice(0, -ENDED_KEPT);
      return change([[oldest, 'ended'], ...forgotten.map((name) => [name, undefined] as const)], async () => {
        await dataOf(caller, '/api/auth/logout');
        for (const name of forgotten) opened.delete(name);
      });
    },
    async read() {
      const found = new Map<string, string>();
      for (const [name, caller] of opened) found.set(name, (await caller.get('/api/me')).code === 200 ? 'open' : 'ended');
      return found;
    },
  };
}

/** People with two-step verification, one after the other, who use up their codes. */
function codes(world: World): Subject {
  const logIn = loginsOf(world.base);
  let person: Person | undefined;
  /** Those of the person that were sent, and those that wait. */
  let sent = new Map<string, string>();
  let unused: string[] = [];
  return {
    kind: 'two-step code',
    next(there, number) {
      const [owner, code] = [person, unused.shift()];
      if (owner !== undefined && code !== undefined) {
        const name = `${owner.username} ${code}`;
        return change([[name, 'used']], async () => {
          sent.set(name, code);
          const answer = await logIn(owner, OWN_ADDRESS, code);
          if (answer.code !== 200) throw new Error(`an unused code of ${owner.username} is refused: ${answer.message}`);
        });
      }
      const username = `careful-${number}`;
      const forgotten = [...there.keys()].map((name) => [name, undefined] as const);
      return change([[username, 'two-step'], [`${username} authenticator`, 'used'], ...forgotten], async () => {
        const made = await makePerson(world, { username });
        const secret = String(at(await made.call('/api/auth/2fa/generate'), 'secret'));
        await made.call('/api/auth/2fa/verify', { code: totpCode(secret), secret });
        const code = totpCode(secret, 1);
        unused = listOf(at(await made.call('/api/auth/2fa/recovery_codes', { code }), 'codes'));
        sent = new Map([[`${username} authenticator`, code]]);
        person = made;
      });
    },
    async read() {
      const found = new Map<string, string>();
      if (person === undefined) return found;
      found.set(person.username, (await logIn(person, nextAddress())).code === 200 ? 'one step' : 'two-step');
      for (const [name, code] of sent) {
        const answer = await logIn(person, nextAddress(), code);
        // It was sent before the kill and did not come. Now it is used.
        if (answer.code === 200) sent.delete(name);
        else if (errorCodeOf(answer) === 'OTP_REQUIRED') found.set(name, 'used');
        else throw new Error(`nothing is known of ${name}: ${answer.message}`);
      }
      return found;
    },
  };
}

/** Accounts that somebody guesses the password of, one after the other, until they are locked. */
function failures({ base }: World): Subject {
  const logIn = loginsOf(base);
  interface Guessed {
    readonly username: string;
    readonly address: string;
    readonly since: number;
    sent: number;
    acknowledged: number;
  }
  const locked = new Map<string, Guessed>();
  let guessed: Guessed | undefined;
  const guess = ({ username, address }: Guessed) => logIn({ username, password: 'a guess' }, address);
  const isOld = ({ since }: Guessed) => performance.now() - since > ASKED_FOR_MS;
  return {
    kind: 'lock',
    next(there, number) {
      if (guessed === undefined || guessed.acknowledged >= FAILURES || isOld(guessed))
        guessed = { username: `nobody-${number}`, address: nextAddress(), since: performance.now(), sent: 0, acknowledged: 0 };
      const target = guessed;
      const isLast = target.acknowledged === FAILURES - 1;
      const forgotten = isLast ? [...there.keys()].slice(0, -1) : [];
      return change(
        [...(isLast ? [[target.username, 'locked'] as const] : []), ...forgotten.map((name) => [name, undefined] as const)],
        async () => {
          target.sent += 1;
          const answer = await guess(target);
          if (isLockedOut(answer) && target.sent <= FAILURES)
            throw new Error(`${target.username} is locked after ${target.sent - 1} failures`);
          target.acknowledged += 1;
          if (isLast) locked.set(target.username, target);
          for (const name of forgotten) locked.delete(name);
        },
      );
    },
    async read() {
      const found = new Map<string, string>();
      for (const [name, target] of locked) found.set(name, isOld(target) || isLockedOut(await guess(target)) ? 'locked' : 'open');
      return found;
    },
  };
}

/** Where the owner of an account logs in from. Others have an address for each try: it has no failures yet. */
const OWN_ADDRESS = '192.0.2.1';
let addresses = 0;
function nextAddress(): string {
  addresses += 1;
  return `198.18.${addresses >> 8}.${addresses & 255}`;
}

const loginsOf =
  (base: string) =>
  (who: { username: string; password: string }, address: string, code?: string): Promise<Envelope> =>
    api(base).post(
      '/api/auth/login',
      { username: who.username, password: who.password, ...(code === undefined ? {} : { otp_code: code }) },
      { 'x-forwarded-for': address },
    );

/** Of a guess. @throws where nobody judged it: a service that is killed alone leaves a gateway that says so */
function isLockedOut(answer: Envelope): boolean {
  const code = errorCodeOf(answer);
  if (code !== 'RATE_LIMITED' && code !== 'UNAUTHENTICATED') throw new Error(`a guess is answered by ${code}: ${answer.message}`);
  return code === 'RATE_LIMITED';
}

const errorCodeOf = ({ headers }: Envelope) => headers['x-error-code'];

const listOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
