import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { runCommand } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

/** A key and a certificate that nobody else has signed, PEM; good for a day. @param hostName whom it names: a name or an address */
export async function makeCertificate(hostName: string): Promise<{ readonly key: string; readonly cert: string } | Missing> {
  const openssl = await ensureCommand('openssl', 'openssl');
  if (isMissing(openssl)) return openssl;
  const dir = await makeTempDir('certificate');
  const [key, cert] = [join(dir.path, 'key'), join(dir.path, 'cert')];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', `/CN=${hostName}`, '-addext', `subjectAltName=${isIP(hostName) ? 'IP' : 'DNS'}:${hostName}`];
  await runCommand(openssl.path, [...kind, ...subject, '-keyout', key, '-out', cert]);
  const made = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  await dir.remove();
  return made;
}
