import { createEgress, createEgressPolicy, type Egress } from '@wharf/egress';
import { ensureCommand, freePort, isAvailable, isMissing, startProcess } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refuses } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { DriverOption } from '../../src/driver-contract/driver-options.ts';
import { NO_EGRESS } from '../../src/driver-contract/open-context.ts';
import { OPTIONS, TYPES } from '../../src/drivers/rclone/allowed.ts';
import { rcloneConfigSchema } from '../../src/drivers/rclone/config.ts';
import { rcloneDriver } from '../../src/drivers/rclone/index.ts';
import { readOptions } from '../../src/drivers/rclone/options.ts';
import { checkParameters } from '../../src/drivers/rclone/parameters.ts';
import { ownRcd, Rcd } from '../../src/drivers/rclone/rcd.ts';
import { startRcd } from '../../src/drivers/rclone/rcd-process.ts';

const program = await ensureCommand('rclone', 'rclone');
const NOTHING = {
  type: '',
  options: '',
  secrets: '',
  oauth_token: '',
  root_folder_path: '',
  rcd_url: '',
  rcd_username: '',
  rcd_password: '',
};
const nowhere = async () => {
  throw new Error('nothing is reached here');
};

function egressTo(forbidden: readonly { host: string; port: number }[] = []): Egress {
  return createEgress(createEgressPolicy({ allow: [], forbidden, audience: 'admin', resolve: async () => ['127.0.0.1'] }));
}

describe.runIf(isAvailable('rclone', program))('what the form of Rclone offers', () => {
  if (isMissing(program)) return;

  const offered = (items: Partial<Record<keyof typeof NOTHING, string>>, egress: Egress = NO_EGRESS) =>
    rcloneDriver.readOptions(JSON.stringify(items), { egress });
  const named = (options: readonly DriverOption[], name: string) => options.find((option) => option.name === name);

  it('are the types that may be chosen, in the words of rclone', async () => {
    const [type, ...rest] = await offered({});
    expect(rest).toEqual([]);
    expect(type).toMatchObject({ name: 'type', item: 'type', isExclusive: true, isRequired: true, isShaping: true });
    // Those that this rclone has: Debian's newest is built without one of them.
    const types = type?.choices.map(({ value }) => value) ?? [];
    expect(Object.keys(TYPES).filter((each) => !types.includes(each)).length).toBeLessThanOrEqual(1);
    expect(types.filter((each) => !Object.hasOwn(TYPES, each))).toEqual([]);
    expect(type?.choices).toContainEqual({ value: 'drive', help: 'Google Drive' });
    expect(await offered({ type: 'local' }).catch(({ code }) => code)).toBe('INVALID_ARGUMENT');
  });

  it('are options with their help, their values and where they are kept', async () => {
    const options = await offered({ type: 'webdav' });
    expect(options.map(({ name }) => name)).toEqual(['type', 'url', 'vendor', 'user', 'pass', 'bearer_token']);
    expect(named(options, 'url')).toMatchObject({ item: 'options', type: 'string', isRequired: true, isAdvanced: false, isSecret: false });
    expect(named(options, 'url')?.help).toContain('URL of http host to connect to');
    expect(named(options, 'vendor')?.choices).toContainEqual({ value: 'nextcloud', help: 'Nextcloud' });
    expect(named(options, 'pass')).toMatchObject({ item: 'secrets', isSecret: true, isRequired: false });
    expect(named(await offered({ type: 'b2' }), 'hard_delete')).toMatchObject({ type: 'bool', default: 'false' });
    expect(named(await offered({ type: 'swift' }), 'auth_version')).toMatchObject({ type: 'number', default: '0' });
  });

  it('are those of the vendor that is chosen', async () => {
    const any = await offered({ type: 's3' });
    expect(named(any, 'provider')).toMatchObject({
      isShaping: true,
      choices: expect.arrayContaining([{ value: 'Ceph', help: 'Ceph Object Storage' }]),
    });
    // Hundreds of addresses, each of one vendor.
    expect(named(any, 'endpoint')?.choices).toEqual([]);
    const scaleway = await offered({ type: 's3', options: 'provider = Scaleway' });
    expect(named(scaleway, 'endpoint')?.choices.map(({ value }) => value)).toContain('s3.fr-par.scw.cloud');
    expect(named(scaleway, 'endpoint')?.choices.length).toBeLessThan(10);
    expect(named(any, 'requester_pays')).toBeDefined();
    expect(named(scaleway, 'requester_pays')).toBeUndefined();
    expect(named(await offered({ type: 'koofr', options: 'provider = koofr' }), 'endpoint')).toBeUndefined();
    expect(named(await offered({ type: 'koofr', options: 'provider = other' }), 'endpoint')).toMatchObject({ isRequired: true });
  });

  it('are tokens in the item that has them, and what we do ourselves where the admin says nothing', async () => {
    const drive = await offered({ type: 'drive' });
    expect(named(drive, 'token')).toBeUndefined();
    expect(named(drive, 'oauth_token')).toMatchObject({ item: 'oauth_token', isSecret: true });
    expect(named(await offered({ type: 'b2' }), 'oauth_token')).toBeUndefined();
    expect(named(await offered({ type: 'ftp' }), 'force_list_hidden')).toMatchObject({ default: 'true' });
    expect(named(await offered({ type: 'sftp' }), 'key_pem')).toMatchObject({ item: 'secrets', type: 'text' });
  });

  it.each(Object.keys(TYPES))('are taken, and nothing else is there, of %s', async (type) => {
    const vendors = named(await offered({ type }), 'provider')?.choices.map(({ value }) => value) ?? [];
    for (const vendor of ['', ...vendors]) {
      for (const option of await offered({ type, options: vendor === '' ? '' : `provider = ${vendor}` })) {
        if (option.name === option.item) continue;
        expect(OPTIONS.has(option.name)).toBe(true);
        for (const { value } of option.choices) {
          const given: [string, string][] = [[option.name, value]];
          const [options, secrets] = option.item === 'secrets' ? [[], given] : [given, []];
          expect(() => checkParameters(type, options, secrets)).not.toThrow();
        }
      }
    }
  });

  it('are those of another rclone, where the form names one', async () => {
    const port = await freePort();
    const external = await startProcess({
      name: 'rclone rcd',
      command: 'rclone',
      args: ['rcd', '--config', '', '--rc-addr', `127.0.0.1:${port}`, '--rc-user', 'anna', '--rc-pass', 'secret'],
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
      ready: { line: (line) => (line.includes('remote control') ? true : undefined) },
    });
    onTestFinished(async () => void (await external.stop()));
    const items = { type: 'webdav', rcd_url: `http://127.0.0.1:${port}`, rcd_username: 'anna', rcd_password: 'secret' };
    expect(named(await offered(items, egressTo()), 'vendor')).toBeDefined();
    await refuses('STORAGE_LOGIN_FAILED', offered({ ...items, rcd_password: 'another' }, egressTo()));
    await refuses('PERMISSION_DENIED', offered(items, egressTo([{ host: '127.0.0.1', port }])));
  });

  it('is what is wrong, where there is no rclone, or the form says what nobody can read', async () => {
    const missing = new Rcd(() => startRcd(nowhere, 'no-such-rclone'));
    const asked = readOptions(rcloneConfigSchema.parse(NOTHING), { egress: NO_EGRESS }, ownRcd(NO_EGRESS, missing));
    await expect(asked).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', message: expect.stringContaining('not installed') });
    await refuses('INVALID_ARGUMENT', offered({ type: 'webdav', options: 'no line of ours' }));
  });
});
