import { type Certificate, isMissing, makeCertificate } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { expect } from 'vitest';
import type { StorageDriver } from '../storage-driver.ts';
import { put, textOf } from './driver-calls.ts';
import type { Able, Rule, StorageUnderTest, TlsSide, Trust, WebServer } from './rule.suite.ts';
import { atEnd } from './rule-end.suite.ts';
import { startWebRelay } from './web-relay.suite.ts';

/** Where the servers of these rules are. */
const HOST = '127.0.0.1';

/** The items by which drivers say whom they trust. */
export function trustItems(trust: Trust | undefined): { tls_insecure_skip_verify: boolean; tls_certificate: string } {
  return {
    tls_insecure_skip_verify: trust === 'any certificate',
    tls_certificate: typeof trust === 'object' ? trust.certificate : '',
  };
}

/** Of a storage that is reached by HTTP: a relay in front of its server speaks HTTPS. */
function tlsOfWeb({ url, open, secrets }: WebServer): TlsSide {
  return {
    secrets,
    async start(certificate) {
      const relay = await startWebRelay(url, certificate);
      return { open: (trust) => open(relay.url, trust), isSpokenTo: async () => relay.requests() > 0 };
    },
  };
}

function tlsOf({ tls, web }: StorageUnderTest): TlsSide {
  const side = tls ?? (web && tlsOfWeb(web));
  if (!side) throw new Error('there is no way by TLS');
  return side;
}

/** Its server shows that certificate: the storage must not be opened, and nothing be said that is not for everybody. */
async function expectRefusal(side: StorageUnderTest, certificate: Certificate, trust?: Trust): Promise<void> {
  const { secrets, start } = tlsOf(side);
  const server = await start(certificate);
  const refusal = await server.open(trust).then(
    (driver) => driver.close(),
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('certificate') });
  for (const secret of secrets) expect(String((refusal as Error).message)).not.toContain(secret);
  expect(await server.isSpokenTo()).toBe(false);
}

/** The same, where it is trusted: the storage works. */
async function expectTrust(side: StorageUnderTest, certificate: Certificate, trust: Trust): Promise<void> {
  const server = await tlsOf(side).start(certificate);
  const driver = (await server.open(trust)) as StorageDriver & Able<'write'>;
  atEnd(() => driver.close());
  await put(driver, '/by tls', 'said in secret');
  expect(await textOf(driver, '/by tls')).toBe('said in secret');
  expect((await driver.stat(MOUNT_ROOT)).isDirectory).toBe(true);
  expect(await server.isSpokenTo()).toBe(true);
}

/** TLS is verified, unless the storage says that it is not. @param hasTrustItem it can be told to take any certificate, and one more authority */
export function tlsRules(rule: Rule, hasTrustItem: boolean): void {
  rule('a certificate that nobody signed is refused before anything is said, and the admin is told (C21)', [], async (_driver, side) => {
    await expectRefusal(side, await certificate(HOST));
  });
  if (!hasTrustItem) return;
  rule('any certificate is taken where the storage says so', ['write'], async (_driver, side) => {
    await expectTrust(side, await certificate('elsewhere.example.org'), 'any certificate');
  });
  rule('a certificate of an authority that the storage trusts is taken, and its own too', ['write'], async (_driver, side) => {
    const authority = await certificate('authority.example.org');
    const signed = await certificate(HOST, authority);
    await expectTrust(side, signed, { certificate: authority.cert });
    await expectTrust(side, signed, { certificate: signed.cert });
    const own = await certificate(HOST);
    await expectTrust(side, own, { certificate: own.cert });
  });
  rule('a certificate of another authority, or of another host, is refused all the same (C21)', [], async (_driver, side) => {
    const [authority, other] = [await certificate('authority.example.org'), await certificate('other.example.org')];
    await expectRefusal(side, await certificate(HOST, other), { certificate: authority.cert });
    await expectRefusal(side, await certificate('elsewhere.example.org', authority), { certificate: authority.cert });
  });
}

/** For redirects, too. @param issuer absent: nobody signs it */
export async function certificate(hostName: string, issuer?: Certificate): Promise<Certificate> {
  const made = await makeCertificate(hostName, issuer);
  if (isMissing(made)) throw new Error(made.missing);
  return made;
}
