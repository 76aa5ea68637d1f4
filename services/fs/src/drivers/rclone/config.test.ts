import { describe, expect, it } from 'vitest';
import { plainContext } from '../../driver-contract/open-context.ts';
import { rcloneConfigSchema, remoteSettings, smbConfigSchema, smbSettings } from './config.ts';
import { rcloneStorage } from './rclone.ts';
import { smbStorage } from './smb.ts';

const ITEMS = { root_folder_path: '.', address: 'nas.example.org', username: 'anna', password: 'secret', share_name: 'files' };
const settings = (changed: Partial<typeof ITEMS> = {}) => smbSettings(smbConfigSchema.parse({ ...ITEMS, ...changed }));
const RCLONE = { options: '', secrets: '', oauth_token: '', root_folder_path: '/', rcd_url: '', rcd_username: '', rcd_password: '' };
/** All that rclone is told of a storage. */
const ALLOWED = ['case_insensitive', 'domain', 'host', 'pass', 'port', 'user'];

it.each([
  ['sftp', 'host = 127.0.0.1', ['FAILED_PRECONDITION']],
  ['ftp', 'host = 127.0.0.1', []],
  ['webdav', 'url = https://127.0.0.1', []],
])('a storage of the type %s that takes any server is told of when it is opened', (type, options, codes) => {
  const config = rcloneConfigSchema.parse({ ...RCLONE, type, options, secrets: 'pass = canary-secret' });
  const told: unknown[] = [];
  rcloneStorage(remoteSettings(config))
    .openWay(plainContext(config, { warn: (error) => void told.push(error) }))
    .close();
  expect(told).toEqual(codes.map((code) => expect.objectContaining({ code, message: expect.not.stringContaining('canary') })));
});

describe('the items of SMB', () => {
  it('are the family’s, in its order', () => {
    expect(Object.keys(smbConfigSchema.shape)).toEqual(['root_folder_path', 'address', 'username', 'password', 'share_name']);
  });

  it('say a server, a share and a folder of it', () => {
    expect(settings()).toMatchObject({ host: 'nas.example.org', port: 445, username: 'anna', domain: undefined, share: 'files', root: [] });
    expect(settings({ address: '[::1]:1445', username: 'OFFICE\\anna' })).toMatchObject({
      host: '::1',
      port: 1445,
      domain: 'OFFICE',
      username: 'anna',
    });
    for (const root_folder_path of ['a/b', './a/b', '/a/b/', 'a\\b']) expect(settings({ root_folder_path }).root).toEqual(['a', 'b']);
    for (const root_folder_path of ['.', './', '/']) expect(settings({ root_folder_path }).root).toEqual([]);
  });

  it.each([
    ...['', '..', '.', 'a/b', 'a\\b', 'C:', 'a[b]', 'a\nb', 'x'.repeat(81)].map((share_name) => ({ share_name })),
    ...['a\nb', 'a\0', 'x'.repeat(2000)].map((username) => ({ username })),
    ...['../a', 'a/../b', 'a\\..\\b', 'a\0b'].map((root_folder_path) => ({ root_folder_path })),
    ...['', 'a b', 'user@host', 'host:99999', 'http://host'].map((address) => ({ address })),
  ])('refuse %j', (changed) => {
    expect(() => settings(changed)).toThrow(expect.objectContaining({ code: expect.stringMatching(/INVALID_ARGUMENT|UNSAFE_PATH/) }));
  });

  it('200 hostile configurations change neither the type nor the options that rclone is told, nor where it goes (C20)', async () => {
    const parts = [
      'local',
      ':local:/etc',
      'x,type=local',
      'alias,remote=/etc:',
      '"',
      "'",
      '--config=/etc/passwd',
      '$(id)',
      '`id`',
      'ssh=id',
      'a=b;c=d',
      '%2e%2e',
      'key_file=/etc/shadow',
    ];
    const names = ['username', 'password', 'share_name', 'root_folder_path', 'address'] as const;
    let told = 0;
    for (let index = 0; index < 200; index += 1) {
      const text = `${parts[index % parts.length]}${parts[(index * 7 + 3) % parts.length]}`;
      const changed = { [names[index % names.length] ?? 'username']: text };
      let storage: ReturnType<typeof smbStorage>;
      try {
        storage = smbStorage(settings(changed));
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/INVALID_ARGUMENT|UNSAFE_PATH/) });
        continue;
      }
      told += 1;
      const way = storage.openWay(plainContext({}, {}));
      const { type, parameters } = await way.remote(async () => []);
      way.close();
      expect(type).toBe('smb');
      expect(Object.keys(parameters).filter((name) => !ALLOWED.includes(name))).toEqual([]);
      expect(parameters).toMatchObject({ host: '127.0.0.1', port: expect.stringMatching(/^\d+$/) });
      expect(storage.places.root.split('/').filter((name) => ['', '.', '..'].includes(name))).toEqual([]);
    }
    expect(told).toBeGreaterThan(50);
  });
});
