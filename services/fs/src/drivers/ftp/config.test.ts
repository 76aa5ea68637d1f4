import { rootCertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { ftpConfigSchema } from './config.ts';
import { ftpSettings } from './settings.ts';

const [PEM = ''] = rootCertificates;
/** Without its last lines, as a careless hand copies it. */
const BROKEN = PEM.replace(/(\n[^-\n]+){4}\n-----END/, '\n-----END');

const items = (given: object) =>
  ftpConfigSchema.parse({
    ...{ address: 'files.example.org', encoding: 'utf-8', username: 'keeper', password: 'secret', cwd_list: false },
    ...{ root_folder_path: '/', encryption: 'explicit', tls_insecure_skip_verify: false, tls_certificate: '' },
    ...given,
  });

describe('the settings of an FTP storage', () => {
  it.each([
    [{}, { host: 'files.example.org', port: 21, rootPlace: '/', tls: { isImplicit: false, verifies: true, certificate: undefined } }],
    [{ encryption: 'implicit' }, { port: 990, tls: { isImplicit: true, verifies: true, certificate: undefined } }],
    [
      { encryption: 'none', address: '[::1]:2121' },
      { host: '::1', port: 2121, tls: undefined },
    ],
    // Of the family's own storages, which have no such item.
    [{ encryption: '' }, { port: 21, tls: undefined }],
    [
      { tls_insecure_skip_verify: true, tls_certificate: ` a comment\n${PEM}\n` },
      { tls: { isImplicit: false, verifies: false, certificate: PEM } },
    ],
    [{ root_folder_path: 'a/../b/' }, { rootPlace: '/b' }],
    [{ root_folder_path: '/../..' }, { rootPlace: '/' }],
  ])('%j', (given, settings) => {
    expect(ftpSettings(items(given))).toMatchObject(settings);
  });

  it.each([
    { address: 'two words' },
    { address: 'host:0' },
    { encoding: 'klingon' },
    { username: 'a\r\nDELE b' },
    { password: 'a\nb' },
    { root_folder_path: '/a\r\nDELE b' },
    { tls_certificate: '/etc/ssl/ca.pem' },
    { tls_certificate: BROKEN },
    { tls_certificate: `${PEM}\n${BROKEN}` },
  ])('%j cannot be', (given) => {
    expect(() => ftpSettings(items(given))).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
