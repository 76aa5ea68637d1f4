import { readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { runCommand } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

/** A key and its certificate, PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * Makes a certificate, good for a day.
 *
 * @param hostName whom it names: a name or an address
 * @param issuer who signs it: any other certificate of this function; absent: nobody but itself
 */
export async function makeCertificate(hostName: string, issuer?: Certificate): Promise<Certificate | Missing> {
  const openssl = await ensureCommand('openssl', 'openssl');
  if (isMissing(openssl)) return openssl;
  const dir = await makeTempDir('certificate');
  const [key, cert] = [join(dir.path, 'key'), join(dir.path, 'cert')];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', `/CN=${hostName}`, '-addext', `subjectAltName=${isIP(hostName) ? 'IP' : 'DNS'}:${hostName}`];
  const [issuerKey, issuerCert] = [join(dir.path, 'issuer-key'), join(dir.path, 'issuer-cert')];
  if (issuer) {
    await writeFile(issuerKey, issuer.key, { mode: 0o600 });
    await writeFile(issuerCert, issuer.cert);
  }
  const signed = issuer ? ['-CA', issuerCert, '-CAkey', issuerKey] : [];
  await runCommand(openssl.path, [...kind, ...subject, ...signed, '-keyout', key, '-out', cert]);
  const made = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  await dir.remove();
  return made;
}
