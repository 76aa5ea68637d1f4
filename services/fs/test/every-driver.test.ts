import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable } from '@wharf/harness';
import { parseVirtualPath } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { at, collect, failureWithout } from '../src/driver-contract/conformance/driver-calls.ts';
import { ftpConfigSchema } from '../src/drivers/ftp/config.ts';
import { ftpSettings } from '../src/drivers/ftp/settings.ts';
import { DRIVERS } from '../src/drivers/index.ts';
import { localConfigSchema, localSettings } from '../src/drivers/local/config.ts';
import { sftpConfigSchema, sftpSettings } from '../src/drivers/sftp/config.ts';

/** Attacks that concern every kind of storage in the same way (docs/security.md). */

const SECRET = 'canary-secret';
const LOGIN = { username: 'u', password: SECRET };
/** Items of a storage on a host, of each kind that reaches one. */
const REACHING: Readonly<Record<string, (host: string) => object>> = {
  S3: (host) => ({ endpoint: `http://${host}`, bucket: 'b', access_key_id: SECRET, secret_access_key: SECRET, root_folder_path: '/' }),
  SFTP: (host) => ({ ...LOGIN, address: `${host}:22`, root_folder_path: '/' }),
  FTP: (host) => ({ ...LOGIN, address: `${host}:21`, encoding: 'utf-8', root_folder_path: '/' }),
  SMB: (host) => ({ ...LOGIN, address: `${host}:445`, share_name: 's', root_folder_path: '.' }),
  WebDav: (host) => ({ ...LOGIN, address: `http://${host}/dav`, root_folder_path: '/' }),
  UrlTree: (host) => ({ url_structure: `file:http://${host}/latest` }),
  OpenList: (host) => ({ ...LOGIN, url: `http://${host}`, root_folder_path: '/' }),
  'AList V3': (host) => ({ ...LOGIN, url: `http://${host}`, root_folder_path: '/' }),
  Rclone: (host) => ({ type: 'webdav', options: `url = http://${host}\nuser = u`, secrets: `pass = ${SECRET}`, root_folder_path: '/' }),
};
/** These reach what is mounted, a folder of this machine, or nothing. */
const REACHING_NOTHING = ['Local', 'Alias', 'Virtual', 'Crypt', 'Strm'];
/** Items that sound like secrets and are none: keys of others, a switch. */
const NO_SECRETS = ['host_key', 'withSign', 'enable_custom_host_presign', 'sign_url_expire'];
/** A folder above the one that is meant. */
const UPWARD = '/team/../../etc';
/** Items that lead there, of kinds whose root is in a tree of names: the tree of Wharf, or one that a server has below its address. */
const LEADING_UP: Readonly<Record<string, object>> = {
  ...Object.fromEntries(['S3', 'SMB', 'WebDav', 'OpenList', 'AList V3', 'Rclone'].map((name) => [name, { root_folder_path: UPWARD }])),
  Alias: { paths: `x:${UPWARD}` },
  Crypt: { remote_path: UPWARD, password: SECRET, ...{ filename_encryption: 'off', directory_name_encryption: 'false' } },
  Strm: { paths: `x:${UPWARD}`, siteUrl: 'http://x' },
  UrlTree: { url_structure: `../x:http://a.example.test/latest` },
};
/** The root of these is any folder of a server or of this machine: the one that the admin means, and nothing is asked for by another name. */
const RESOLVED: Readonly<Record<string, (addition: unknown) => string>> = {
  SFTP: (addition) => sftpSettings(sftpConfigSchema.parse(addition)).rootPath,
  FTP: (addition) => ftpSettings(ftpConfigSchema.parse(addition)).rootPlace,
  Local: (addition) => localSettings(localConfigSchema.parse(addition)).rootPath,
};
/** Its entries are made up. */
const ROOTLESS = ['Virtual'];
/** The cloud's own data about a machine, by its number and by a name. */
const FORBIDDEN_HOSTS = ['169.254.169.254', 'inner.example.test'];

const offered = DRIVERS.filter(({ internal }) => !internal);
const rclone = await ensureCommand('rclone', 'rclone');
const resolve = async () => ['169.254.169.254'];
const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin', resolve }));

it('every kind of storage is looked at here', () => {
  const names = offered.map(({ name }) => name).toSorted();
  expect([...Object.keys(REACHING), ...REACHING_NOTHING].toSorted()).toEqual(names);
  expect([...Object.keys(LEADING_UP), ...Object.keys(RESOLVED), ...ROOTLESS].toSorted()).toEqual(names);
});

describe.each(offered)('a storage of the kind $name', ({ name, items, secretKeys, normaliseAddition, open }) => {
  const itemsOn = REACHING[name];
  const isThere = !['SMB', 'Rclone'].includes(name) || isAvailable('rclone', rclone);
  it.runIf(itemsOn && isThere).each(FORBIDDEN_HOSTS)(
    'goes nowhere the policy does not allow, and says so without its secrets (C6, C21): %s',
    async (host) => {
      const refused = async () => {
        const driver = await open(JSON.stringify(itemsOn?.(host)), { egress });
        try {
          // Addresses of files are asked for when they are read.
          await collect(await driver.read(at('/file')));
        } finally {
          await driver.close();
        }
      };
      expect(await failureWithout(SECRET, refused())).toMatchObject({ code: 'PERMISSION_DENIED' });
    },
  );

  it.runIf(LEADING_UP[name])('has no root above the one it is in (C1)', async () => {
    const openMount = async (path: string) => expect.unreachable(`${parseVirtualPath(path)} was opened`);
    const opening = open(JSON.stringify({ ...itemsOn?.('a.example.test'), ...LEADING_UP[name] }), { egress, openMount });
    expect(await failureWithout(SECRET, opening)).toMatchObject({ code: expect.stringMatching(/^(INVALID_ARGUMENT|UNSAFE_PATH)$/) });
  });
  it.runIf(RESOLVED[name])('has the root that is meant, without a way up in its name (C1)', () => {
    const items = { ...itemsOn?.('a.example.test'), root_folder_path: UPWARD };
    expect(RESOLVED[name]?.(JSON.parse(normaliseAddition(JSON.stringify(items))))).toBe('/etc');
  });

  const trusting = items.map((item) => item.name).filter((item) => /insecure|verify/.test(item));
  it.runIf(trusting.length > 0).each(trusting)('tells whoever runs Wharf that %s is on, each time it is opened (C21)', async (item) => {
    const openWith = async (isOn: boolean) => {
      const warned: string[] = [];
      const warn = (error: unknown) => void warned.push(String(error));
      await refusalOf(open(JSON.stringify({ ...itemsOn?.('169.254.169.254'), [item]: isOn }), { egress, warn }));
      return warned;
    };
    expect(await openWith(true)).toEqual([expect.stringContaining(item)]);
    expect(await openWith(false)).toEqual([]);
  });

  it('seals every item that holds a secret (C21)', () => {
    const secret = items.map((item) => item.name).filter((item) => /pass|secret|token|key|salt|cookie|credential|sign/i.test(item));
    const isKnown = (item: string) => NO_SECRETS.includes(item) || /^pass_\w+_to_upsteam$|_pass_through$/.test(item);
    expect(secret.filter((item) => !secretKeys.has(item) && !isKnown(item))).toEqual([]);
  });
});
