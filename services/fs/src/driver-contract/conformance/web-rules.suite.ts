import { AppError } from '@wharf/errors';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect } from 'vitest';
import type { StorageDriver } from '../storage-driver.ts';
import { at, collect, entriesIn, put, textOf } from './driver-calls.ts';
import type { Able, Rule, StorageUnderTest } from './rule.suite.ts';
import { atEnd } from './rule-end.suite.ts';
import { certificate } from './tls-rules.suite.ts';
import { startListener, startWebRelay, type WebRelay } from './web-relay.suite.ts';

/** Statuses of redirects: with the first three clients may change the method, with the last they may not. */
const REDIRECTS = [301, 302, 303, 307, 308];
/** What a client that follows everything would ask for before it gives up is more. */
const FEW = 40;

type Writable = Able<'write' | 'makeDirectory' | 'remove'>;

function webOf({ web }: StorageUnderTest) {
  if (!web) throw new Error('there is no way over the web');
  return web;
}

/** Opens the storage until the test ends. */
async function opened(opening: Promise<StorageDriver>): Promise<Writable> {
  const driver = await opening;
  atEnd(() => driver.close());
  return driver as Writable;
}

/** The storage with an old file, opened anew by way of a relay. @param isTls the relay speaks HTTPS, with a certificate that nobody signed, and any is taken */
async function openBehind(driver: Able<'write'>, side: StorageUnderTest, isTls = false): Promise<{ relay: WebRelay; behind: Writable }> {
  const { url, open } = webOf(side);
  await put(driver, '/file', 'old');
  const relay = await startWebRelay(url, isTls ? await certificate('store.example') : undefined);
  return { relay, behind: await opened(open(relay.url, isTls ? 'any certificate' : undefined)) };
}

/** One call of each kind, one after the other. @returns the AppErrors that they failed with */
async function failuresOf(driver: Writable): Promise<AppError[]> {
  const calls = [
    () => driver.stat(at('/file')),
    () => entriesIn(driver, '/'),
    async () => collect(await driver.read(at('/file'))),
    () => put(driver, '/new', 'new'),
    () => driver.makeDirectory(at('/folder')),
    () => driver.remove(at('/file'), { recursive: true }),
  ];
  const failures: AppError[] = [];
  for (const call of calls) await call().catch((error: unknown) => failures.push(AppError.from(error)));
  return failures;
}

/** Of a storage whose server is reached by HTTP: redirects lead its secrets nowhere. @param hasTrustItem it can be told to take any certificate */
export function redirectRules(rule: Rule, hasTrustItem: boolean): void {
  rule(
    'a redirect to another host gets no secret, whatever was asked (C21)',
    ['write', 'makeDirectory', 'remove'],
    async (driver, side) => {
      const { secrets } = webOf(side);
      const elsewhere = await startListener();
      const { relay, behind } = await openBehind(driver, side);
      for (const status of REDIRECTS) {
        relay.answer((request, response) => {
          request.resume();
          response.writeHead(status, { Location: `${elsewhere.url}${request.url}` }).end();
        });
        await failuresOf(behind);
      }
      expect(elsewhere.heard()).not.toMatch(/^(authorization|proxy-authorization|cookie)$/im);
      for (const secret of secrets) expect(elsewhere.heard()).not.toContain(secret);
      relay.answer(undefined);
      expect(await textOf(behind, '/file')).toBe('old');
    },
  );
  for (const target of ['http://169.254.169.254/latest/meta-data/', 'http://[fd00:ec2::254]/latest/', 'file:///etc/passwd']) {
    rule(`a redirect to ${target} is not followed (C6)`, ['write', 'makeDirectory', 'remove'], async (driver, side) => {
      const { relay, behind } = await openBehind(driver, side);
      const before = relay.requests();
      relay.answer((request, response) => {
        request.resume();
        response.writeHead(302, { Location: target }).end();
      });
      const failures = await failuresOf(behind);
      expect(failures).toHaveLength(6);
      for (const { code } of failures) expect(['FAILED_PRECONDITION', 'PERMISSION_DENIED', 'STORAGE_UNAVAILABLE']).toContain(code);
      expect(relay.requests() - before).toBeLessThan(FEW);
      relay.answer(undefined);
      expect(await textOf(behind, '/file')).toBe('old');
    });
  }
  rule('a redirect in a circle ends', ['write', 'makeDirectory', 'remove'], async (driver, side) => {
    const { relay, behind } = await openBehind(driver, side);
    const before = relay.requests();
    relay.answer((request, response) => {
      request.resume();
      response.writeHead(307, { Location: `${relay.url}${request.url}` }).end();
    });
    expect(await failuresOf(behind)).toHaveLength(6);
    expect(relay.requests() - before).toBeLessThan(4 * FEW);
  });
  if (!hasTrustItem) return;
  rule('a redirect from https to http is not followed (C21)', ['write', 'makeDirectory', 'remove'], async (driver, side) => {
    const plain = await startListener();
    const { relay, behind } = await openBehind(driver, side, true);
    relay.answer((request, response) => {
      request.resume();
      response.writeHead(307, { Location: `${plain.url}${request.url}` }).end();
    });
    expect(await failuresOf(behind)).toHaveLength(6);
    expect(plain.heard()).toBe('');
  });
}

/** Of every storage that is logged in to. */
export function loginRules(rule: Rule): void {
  rule('a login that is refused is told without its secret, and leaves nothing behind (C21)', [], async (_driver, { badLogin }) => {
    if (!badLogin) throw new Error('there is no login to be refused');
    const refusal = await badLogin.open().then(
      (driver) => driver.close(),
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
    expect(String((refusal as Error).message)).not.toContain(badLogin.secret);
  });
}

/** Of those whose server can say at any moment that a login is over. */
export function expiryRules(rule: Rule): void {
  rule(
    'a login that ends is told, as nothing else, and all is well when it is good again',
    ['write', 'makeDirectory', 'remove'],
    async (driver, side) => {
      const { secrets, refuseLogin } = webOf(side);
      const { relay, behind } = await openBehind(driver, side);
      relay.answer((request, response) => {
        request.resume();
        refuseLogin(response);
      });
      const failures = await failuresOf(behind);
      expect(failures.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => 'STORAGE_LOGIN_FAILED'));
      for (const secret of secrets) for (const { message } of failures) expect(message).not.toContain(secret);
      relay.answer(undefined);
      expect(await textOf(behind, '/file')).toBe('old');
      expect((await behind.stat(MOUNT_ROOT)).isDirectory).toBe(true);
    },
  );
}
