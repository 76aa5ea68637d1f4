import { ConfigError, readConfig } from '@wharf/service-kit';
import { describe, expect, it } from 'vitest';
import { gatewayConfig } from './config.ts';

const SECRET = { WHARF_SECRET: 'a secret of the tests, 32 bytes or more' };
const read = (environment: Record<string, string>) => readConfig(gatewayConfig, { ...SECRET, ...environment });

describe('the configuration of the gateway', () => {
  it('has defaults for everything but the secret', () => {
    expect(read({})).toMatchObject({
      httpHost: '127.0.0.1',
      httpPort: 5244,
      opsPort: 9090,
      siteUrl: undefined,
      trustedProxies: [],
      corsOrigins: [],
      fsDataUrl: 'http://127.0.0.1:50063',
    });
  });

  it('reads lists, and the site without a slash at its end', () => {
    expect(
      read({
        WHARF_SITE_URL: 'https://files.example/base/',
        WHARF_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
        WHARF_CORS_ORIGINS: 'https://a.example,*',
        WHARF_HTTP_PORT: '0',
      }),
    ).toMatchObject({
      siteUrl: 'https://files.example/base',
      trustedProxies: ['10.0.0.0/8', '::1'],
      corsOrigins: ['https://a.example', '*'],
      httpPort: 0,
    });
  });

  it.each([
    ['WHARF_SITE_URL', 'files.example'],
    ['WHARF_SITE_URL', 'ftp://files.example'],
    ['WHARF_TRUSTED_PROXIES', '10.0.0.0/40'],
    ['WHARF_TRUSTED_PROXIES', 'proxy.example'],
    ['WHARF_CORS_ORIGINS', 'https://a.example/path'],
    ['WHARF_FS_DATA_URL', 'not a url'],
    ['WHARF_HTTP_PORT', '70000'],
  ])('%s=%s is refused by name', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(ConfigError);
    expect(() => read({ [name]: value })).toThrow(name);
  });
});
