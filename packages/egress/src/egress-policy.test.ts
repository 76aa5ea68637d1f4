import { networkInterfaces } from 'node:os';
import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { createEgressPolicy, type EgressOptions } from './egress-policy.ts';
import { endpointsOf, ownEndpoints } from './endpoints.ts';

const policy = (options: Partial<EgressOptions> = {}) => createEgressPolicy({ allow: [], forbidden: [], audience: 'user', ...options });

const PRIVATE_HOSTS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.255.255.254',
    '0.0.0.0',
    '0',
    '0.1.2.3',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '0x7f.1',
    '0177.0.0.1',
  ],
  ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255', '169.254.169.254', '169.254.0.1'],
  ...['192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.9', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
  ...['100.100.100.200', '192.88.99.1'],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.1.2.3]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
  ],
  ...[
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fdff::1]',
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[2001::1]',
    '[3fff::1]',
  ],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::1]', '[2002:7f00:1::]', '[2002:c0a8:101::1]', '[100::1]', '[5f00::1]'],
  ...['localhost', 'LOCALHOST.', 'foo.localhost'],
];

describe('addresses that users may not reach (C6)', () => {
  it.each(PRIVATE_HOSTS)('%s', (host) => {
    expect(() => policy().parseUrl(`http://${host}/x`)).toThrowError(/not allowed/);
  });

  it.each([
    '93.184.215.14',
    '1.1.1.1',
    '[2606:4700::1111]',
    '[64:ff9b::1.1.1.1]',
    '[2002:101:101::1]',
    'files.example',
    '100.63.255.255',
    '172.32.0.1',
  ])('%s is no such address', (host) => {
    expect(policy().parseUrl(`https://${host}/x`).pathname).toBe('/x');
  });

  it.each([
    'ftp://a.example/x',
    'file:///etc/passwd',
    'gopher://a.example/',
    'sftp://a.example/x',
    'data:text/plain,x',
    'javascript:1',
    'magnet:?xt=urn:btih:1',
  ])('%s has a scheme that is not fetched', (text) => {
    expect(codeOf(() => policy().parseUrl(text))).toBe('UNSUPPORTED_OPERATION');
  });

  it('what is no URL is said to be none', () => {
    for (const text of ['', 'files.example/x', 'http://', 'http://[::1', 'http://300.1.1.1/'])
      expect(codeOf(() => policy().parseUrl(text))).toBe('INVALID_ARGUMENT');
  });
});

describe('names', () => {
  it('are judged by every address they resolve to, and only the good ones are handed on', async () => {
    const mixed = policy({ resolve: async () => ['127.0.0.1', '1.1.1.1', '::1'] });
    expect(await mixed.resolve('mixed.example', 80)).toEqual(['1.1.1.1']);
    await expect(policy({ resolve: async () => ['10.0.0.1', '::ffff:10.0.0.1'] }).resolve('bad.example', 80)).rejects.toThrowError(
      /not allowed/,
    );
  });

  it('of which somebody has given one thousands of addresses cost no more than those of a few', async () => {
    const many = async () => Array.from({ length: 4_000 }, (_, index) => `5.9.${index >> 8}.${index & 255}`);
    let looks = 0;
    const networks = () => {
      looks += 1;
      return ['192.168.1.5/24'];
    };
    expect(await policy({ resolve: many, networks }).resolve('many.example', 80)).toContain('5.9.0.0');
    expect(looks).toBeLessThan(100);
  });

  it('that do not resolve are told so', async () => {
    const broken = policy({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
    await expect(broken.resolve('nowhere.example', 80)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});

describe('what an admin allows', () => {
  it('is a host, an address or a block', async () => {
    const allowed = policy({ allow: ['nas.lan', '10.1.2.3', '192.168.0.0/16', 'fd00::/8', '[::1]'], resolve: async () => ['10.9.9.9'] });
    expect(await allowed.resolve('NAS.lan.', 80)).toEqual(['10.9.9.9']);
    for (const host of ['10.1.2.3', '192.168.77.1', '[fd12::1]', '[::1]', '[::ffff:10.1.2.3]'])
      expect(allowed.parseUrl(`http://${host}/`).protocol).toBe('http:');
    for (const host of ['10.1.2.4', '172.16.0.1', '127.0.0.1'])
      expect(() => allowed.parseUrl(`http://${host}/`)).toThrowError(/not allowed/);
    await expect(allowed.resolve('other.lan', 80)).rejects.toThrowError(/not allowed/);
  });

  it('never opens the store or the bus', async () => {
    const options = {
      allow: ['127.0.0.0/8', '10.0.0.0/8', '::1'],
      forbidden: [
        ...endpointsOf('mongodb://user:pw@db.internal:27017,127.0.0.1:27018/wharf', 27017),
        ...endpointsOf('nats://127.0.0.1', 4222),
      ],
      resolve: async (host: string) => (host === 'db.internal' ? ['10.0.0.5'] : ['10.0.0.6', '10.0.0.5']),
    };
    const guarded = policy(options);
    await expect(guarded.resolve('10.0.0.5', 27017)).rejects.toThrowError(/not allowed/);
    expect(await guarded.resolve('alias.example', 27017)).toEqual(['10.0.0.6']);
    expect(await guarded.resolve('10.0.0.5', 80)).toEqual(['10.0.0.5']);
    for (const host of ['127.0.0.1', '127.0.0.2', '::ffff:127.0.0.1', '::1'])
      await expect(guarded.resolve(host, 27018)).rejects.toThrowError();
    await expect(guarded.resolve('127.0.0.1', 4222)).rejects.toThrowError(/not allowed/);
  });

  it('never opens our own ports, by any address of this machine', async () => {
    const forbidden = ownEndpoints({ engines: ['0.0.0.0:5244', '127.0.0.1:9090', '[::]:5245'] });
    const outside = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).filter(({ family }) => family === 'IPv4'));
    const admin = policy({ audience: 'admin', forbidden, allow: outside.map(({ address }) => address) });
    for (const { address } of outside) {
      await expect(admin.resolve(address, 5244)).rejects.toThrowError(/not allowed/);
      expect(await admin.resolve(address, 80)).toEqual([address]);
    }
    for (const [host, port] of [
      ['127.0.0.1', 5244],
      ['::1', 5245],
      ['127.0.0.1', 9090],
    ] as const)
      await expect(admin.resolve(host, port)).rejects.toThrowError(/not allowed/);
  });

  it('never opens the ports of the other processes of a Wharf, nor those of this one', async () => {
    const forbidden = ownEndpoints({
      ownAddresses: ['gateway.internal:5244', '127.0.0.1:9090', '[fd00::7]:9091'],
      ...{ bind: '0.0.0.0', grpcPort: 50_053, httpPort: 50_063, opsPort: 0 },
    });
    const admin = policy({ audience: 'admin', forbidden, resolve: async () => ['10.0.0.7'] });
    for (const [host, port] of [
      ['10.0.0.7', 5244],
      ['alias.example', 5244],
      ['127.0.0.1', 9090],
      ['fd00::7', 9091],
      ['127.0.0.1', 50_053],
      ['127.0.0.1', 50_063],
    ] as const)
      await expect(admin.resolve(host, port)).rejects.toThrowError(/not allowed/);
    expect(await admin.resolve('10.0.0.7', 9090)).toEqual(['10.0.0.7']);
    expect(await admin.resolve('127.0.0.1', 80)).toEqual(['127.0.0.1']);
  });

  it('is not beside us for users, though it may be a public one: neither this machine nor its networks (C6)', async () => {
    const networks = () => ['2a00:1450:1:2::5/64', '11.22.33.44/24', '11.9.9.9/32', 'fe80::1/64'];
    const resolve = async () => ['2a00:1450:1:2::9', '11.22.33.7', '::ffff:11.9.9.9', '2a00:1450:1:3::9'];
    const user = policy({ networks, resolve });
    for (const host of ['11.22.33.44', '11.22.33.1', '11.9.9.9', '[2a00:1450:1:2::5]', '[2a00:1450:1:2:ffff::1]', '[::ffff:11.22.33.44]'])
      expect(() => user.parseUrl(`http://${host}/`), host).toThrowError(/not allowed/);
    expect(user.parseUrl('http://11.9.9.8/').hostname).toBe('11.9.9.8');
    expect(await user.resolve('alias.example', 80), 'by a name').toEqual(['2a00:1450:1:3::9']);
    const [allowed, admin] = [policy({ networks, allow: ['11.22.33.44'] }), policy({ networks, audience: 'admin' })];
    for (const who of [allowed, admin]) expect(who.parseUrl('http://11.22.33.44/').hostname).toBe('11.22.33.44');
  });

  it('may be private where the admin entered it, but never link-local or metadata', async () => {
    const admin = policy({ audience: 'admin' });
    for (const host of ['127.0.0.1', '10.0.0.1', '[fd00::1]', '[::1]']) expect(admin.parseUrl(`http://${host}/`).protocol).toBe('http:');
    for (const host of [
      '169.254.169.254',
      '[fe80::1]',
      '[fd00:ec2::254]',
      '[fd00:c1::a9fe:a9fe]',
      '[fd20:ce::254]',
      '[fd00:42::42]',
      '168.63.129.16',
      '100.100.100.200',
      '0.0.0.0',
      '224.0.0.1',
      '[::ffff:169.254.169.254]',
      '[::ffff:100.100.100.200]',
      '[64:ff9b::100.100.100.200]',
      '[2002:6464:64c8::1]',
    ])
      expect(() => admin.parseUrl(`http://${host}/`)).toThrowError(/not allowed/);
  });
});

it('the collector of traces is an address of Wharf itself', () => {
  expect(ownEndpoints({ otlpEndpoint: 'http://collector:4318' })).toEqual([{ host: 'collector', port: 4318 }]);
  expect(ownEndpoints({ otlpEndpoint: 'https://collector/otlp' })).toEqual([{ host: 'collector', port: 443 }]);
});

it('connection strings name their hosts', () => {
  expect(endpointsOf('mongodb://u:p%40@a:1,b,[::1]:3/db?x=1', 27017)).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 27017 },
    { host: '::1', port: 3 },
  ]);
  expect(endpointsOf('127.0.0.1:50051', 1)).toEqual([{ host: '127.0.0.1', port: 50051 }]);
  expect(endpointsOf('mongodb://%2Ftmp%2Fstore.sock/wharf', 27017)).toEqual([]);
  expect(endpointsOf(undefined, 1)).toEqual([]);
});

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return AppError.from(error).code;
  }
  return 'none';
}
