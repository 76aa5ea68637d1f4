import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { OPTIONS, SECRETS, TYPES } from './allowed.ts';
import { rcloneConfigSchema, remoteSettings } from './config.ts';
import { rcloneDriver } from './index.ts';
import { checkAgainst } from './parameters.ts';
import { toProviders } from './providers.ts';

const ITEMS = {
  type: 's3',
  options: '',
  secrets: '',
  oauth_token: '',
  root_folder_path: 'bucket',
  rcd_url: '',
  rcd_username: '',
  rcd_password: '',
} as const;
const TOKEN = '{"access_token":"a","token_type":"Bearer","refresh_token":"r","expiry":"2030-01-01T00:00:00Z"}';
/** Types of rclone 1.60 and later that read this machine, wrap other remotes, or open connections of their own. */
const OTHER_TYPES =
  'local alias crypt cache chunker combine compress hasher union memory archive hdfs sia storj tardigrade smb oos netstorage raid3 ' +
  ':local s3,env_auth=true :s3 S3 s3: constructor __proto__ toString';
/** Options of rclone 1.60 and later that name files, commands, variables, sockets or proxies of the machine, or other remotes. */
const OTHER_OPTIONS =
  'env_auth profile shared_credentials_file sdk_fallback role_arn download_url service_account_file service_account_credentials ' +
  'service_principal_file use_msi msi_object_id msi_client_id msi_mi_res_id use_emulator use_az client_certificate_path client_certificate_password ' +
  'key_file pubkey_file known_hosts_file key_use_agent ssh md5sum_command sha1sum_command server_command subsystem set_env path_override shell_type ' +
  'ask_password socks_proxy http_proxy proxy bearer_token_command unix_socket headers box_config_file config_file config_profile ' +
  'auth_url token_url storage_url plex_url front_endpoint sts_endpoint remote upstreams db_path chunk_path tmp_upload_path ' +
  'links copy_links encoding ca_cert client_cert client_key override.config override.ca_cert global.bind _root _name type config ' +
  'ssl_cert_file kerberos_ccache no_check_certificate tls explicit_tls sign_cmd metadata_mapper';

const read = (changed: Partial<Record<keyof typeof ITEMS, string>>) => remoteSettings(rcloneConfigSchema.parse({ ...ITEMS, ...changed }));
const refusal = (changed: Partial<Record<keyof typeof ITEMS, string>>): string => {
  try {
    read(changed);
  } catch (error) {
    return AppError.is(error) ? error.code : String(error);
  }
  return 'taken';
};

describe('what may be told to rclone', () => {
  it('options and secrets are read as objects too, whose values are what they would be in lines', () => {
    const { parameters } = read({
      options: ' {"provider": "Ceph", "endpoint": "https://s3.example.org", "force_path_style": true, "list_version": 2}',
      secrets: '{"secret_access_key": " a = b\\\\n{\\"ä "}',
    });
    expect(parameters.values).toEqual({
      ...{ provider: 'Ceph', endpoint: 'https://s3.example.org', force_path_style: 'true', list_version: '2' },
      secret_access_key: ' a = b\\n{"ä ',
    });
    for (const options of [
      '{',
      '{"region": null}',
      '{"region": {"a": 1}}',
      '{"Region": "a"}',
      '{"a b": "c"}',
      '{"region": ["a"]}',
      '{"region": "a"} {}',
    ])
      expect(refusal({ options }), options).toBe('INVALID_ARGUMENT');
    expect(refusal({ options: '{"env_auth": "true"}' })).toBe('INVALID_ARGUMENT');
    expect(refusal({ options: '{"region": "a\\nb"}' })).toBe('INVALID_ARGUMENT');
    expect(refusal({ options: '{"secret_access_key": "a"}' })).toBe('INVALID_ARGUMENT');
    expect(refusal({ options: '{"region": "a"}', secrets: '{"region": "b"}' })).toBe('INVALID_ARGUMENT');
  });

  it('types, options, secrets and a token are read, each in its item', () => {
    const settings = read({
      options: 'provider = Ceph\n endpoint=https://s3.example.org:8443/x\n\nregion = eu-1',
      secrets: 'access_key_id = id\nsecret_access_key = a=b c"\\ä',
      root_folder_path: '/bucket/a b/',
    });
    expect(settings.parameters).toEqual({
      values: {
        provider: 'Ceph',
        endpoint: 'https://s3.example.org:8443/x',
        region: 'eu-1',
        access_key_id: 'id',
        secret_access_key: 'a=b c"\\ä',
      },
      servers: [{ host: 's3.example.org', port: 8443 }],
    });
    expect(settings.root).toEqual(['bucket', 'a b']);
    expect(read({ type: 'drive', oauth_token: TOKEN }).type).toBe('drive');
  });

  it('200 hostile configurations are refused (C20)', () => {
    const types = OTHER_TYPES.split(' ').map((type) => ({ type }));
    const named = OTHER_OPTIONS.split(' ').flatMap((name) => [{ options: `${name} = x` }, { secrets: `${name} = /etc/passwd` }]);
    const values = [
      '/etc/passwd',
      '../x',
      'a/b',
      ':local:/etc',
      'x:',
      'a\\b',
      '"x"',
      "'x'",
      '$(id)',
      '`id`',
      '{x}',
      '--config',
      '%2e',
      '~',
      '',
    ].flatMap((value) => ['region', 'storage_class', 'account'].map((name) => ({ options: `${name} = ${value}` })));
    const servers = [
      'file:///etc/passwd',
      'unix:///run/docker.sock',
      'http://a@169.254.169.254/',
      'http://2130706433/',
      'http://0x7f.1/',
      'https://a b/',
      'https://',
      'http://[::1',
      'gopher://x/',
      'http://example.org\\@127.0.0.1/',
    ].flatMap((value) => [{ options: `endpoint = ${value}` }, { type: 'webdav', options: `url = ${value}` }]);
    const hosts = ['/run/x.sock', 'a/b', 'a:22', 'x y', 'user@host', ''].map((value) => ({ type: 'sftp', options: `host = ${value}` }));
    const forms = [
      { options: 'region' },
      { options: '[s3]\ntype = local' },
      { options: 'region = a\nregion = b' },
      { options: 'region = a', secrets: 'region = b' },
      { options: 'secret_access_key = x' },
      { options: 'token = {}' },
      { secrets: `token = ${TOKEN}` },
      { options: 'region = a\u0000b' },
      { options: 'region = a\rtype = local' },
      { options: `region = ${'x'.repeat(10_000)}` },
      ...['x', '[]', '{}', '{"access_token":1}', '{"type":"external_account"}'].map((oauth_token) => ({ type: 'drive', oauth_token })),
      ...['../a', 'a/../..', 'a\0'].map((root_folder_path) => ({ root_folder_path })),
    ];
    const hostile = [...types, ...named, ...values, ...servers, ...hosts, ...forms];
    expect(hostile.length).toBeGreaterThanOrEqual(200);
    const taken: unknown[] = [];
    for (const one of hostile) {
      // A type that the form does not have is refused by its schema.
      let code: string;
      try {
        code = refusal(one);
      } catch {
        code = 'INVALID_ARGUMENT';
      }
      if (!/^(INVALID_ARGUMENT|UNSAFE_PATH|ZodError)/.test(code) && !code.includes('invalid_value')) taken.push([one, code]);
    }
    expect(taken).toEqual([]);
  });

  it('a refused configuration is told without its values, and nothing is started for it', async () => {
    const addition = JSON.stringify({ ...ITEMS, options: 'env_auth = hunter2', secrets: 'key_file = hunter2' });
    await expect(rcloneDriver.open(addition)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.not.stringContaining('hunter2'),
    });
  });

  it('names neither a file, a command, a variable, a login address nor another remote among its options (C20)', () => {
    const hints =
      /_file(?!s)|^file(?!_password)|path(?!_style)|command|cmd|env|cache|proxy|socket|_cert|agent|upstream|remote|emulator|_msi|msi_|config|header|token_url|auth_url/;
    expect([...OPTIONS.keys()].filter((name) => hints.test(name) && name !== 'key_file_pass')).toEqual([]);
    expect([...SECRETS].filter((name) => !OPTIONS.has(name))).toEqual([]);
    expect(Object.keys(TYPES).filter((type) => OTHER_TYPES.split(' ').includes(type))).toEqual([]);
  });

  it('options that rclone does not have, or not with this value, are refused', () => {
    const option = { Name: 'region', Help: '', Type: 'string', IsPassword: false };
    const providers = toProviders({
      providers: [
        {
          Name: 'amazon',
          Prefix: 's3',
          Description: 'S3',
          Options: [
            option,
            { ...option, Name: 'provider', Exclusive: true, Examples: [{ Value: 'AWS' }] },
            { ...option, Name: 'provider', Exclusive: true, Examples: [{ Value: 'Ceph' }] },
            { ...option, Name: 'v2_auth', Type: 'bool' },
            { ...option, Name: 'env_auth', Type: 'bool' },
          ],
        },
      ],
    });
    checkAgainst(providers, 's3', { region: 'x', provider: 'Ceph', v2_auth: 'true' });
    for (const values of [{ vendor: 'x' }, { provider: 'Other' }, { v2_auth: '1' }]) {
      expect(() => checkAgainst(providers, 's3', values as unknown as Record<string, string>)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
    expect(() => checkAgainst(providers, 'b2', {})).toThrow(expect.objectContaining({ code: 'FAILED_PRECONDITION' }));
  });
});
