import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createTrustedProxies } from './client-address.ts';
import { siteUrlOf } from './site-url.ts';

/** As much of a request as is looked at. */
function requestFrom(remoteAddress: string, headers: Record<string, string>): IncomingMessage {
  const socket = { remoteAddress, localAddress: '127.0.0.1', localPort: 5244 };
  return { socket, headers } as unknown as IncomingMessage;
}

const PROXIES = createTrustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);

describe('the address of a client', () => {
  it.each([
    ['203.0.113.9', '', '203.0.113.9'],
    ['::ffff:203.0.113.9', '', '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['fd00::1', '2001:db8::5', '2001:db8::5'],
    ['10.0.0.1', 'forged, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.9.9.9, 192.0.2.7', '198.51.100.1'],
    ['10.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['10.0.0.1', '[2001:db8::5]:4711', '2001:db8::5'],
    ['10.0.0.1', '198.51.100.1, nonsense', '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1'],
  ])('from %s with the hops "%s" is %s', (peer, hops, expected) => {
    expect(PROXIES.clientAddress(requestFrom(peer, { 'x-forwarded-for': hops }))).toBe(expected);
  });

  it('without trusted proxies no header is believed', () => {
    expect(createTrustedProxies([]).clientAddress(requestFrom('10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }))).toBe('10.0.0.1');
  });

  it.each(['10.0.0.0/33', '10.0.0', 'host.example', '10.0.0.0/x', ''])('"%s" is no range', (range) => {
    expect(() => createTrustedProxies([range])).toThrow();
  });
});

describe('the address of the site', () => {
  const told = { host: 'files.example:8080', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'public.example' };

  it('the configured one always counts', () => {
    expect(siteUrlOf(requestFrom('10.0.0.1', told), 'https://site.example', PROXIES)).toBe('https://site.example');
  });

  it('is what the client asked for', () => {
    expect(siteUrlOf(requestFrom('203.0.113.9', told), undefined, PROXIES)).toBe('http://files.example:8080');
  });

  it('a trusted proxy tells scheme and host', () => {
    expect(siteUrlOf(requestFrom('10.0.0.1', told), undefined, PROXIES)).toBe('https://public.example');
    expect(siteUrlOf(requestFrom('10.0.0.1', { ...told, 'x-forwarded-proto': 'gopher' }), undefined, PROXIES)).toBe(
      'http://public.example',
    );
    const appended = { ...told, 'x-forwarded-host': 'forged.example, public.example' };
    expect(siteUrlOf(requestFrom('10.0.0.1', appended), undefined, PROXIES)).toBe('https://public.example');
  });

  it.each([
    ['evil.example/path', 'http://127.0.0.1:5244'],
    ['user@evil.example', 'http://127.0.0.1:5244'],
    ['evil.example#', 'http://127.0.0.1:5244'],
    ['evil example', 'http://127.0.0.1:5244'],
    ['"><script>', 'http://127.0.0.1:5244'],
    ['', 'http://127.0.0.1:5244'],
    ['localhost:123456', 'http://127.0.0.1:5244'],
    ['[::1]:5244', 'http://[::1]:5244'],
    ['my_host', 'http://my_host'],
  ])('the host "%s" gives %s', (host, expected) => {
    expect(siteUrlOf(requestFrom('203.0.113.9', { host }), undefined, PROXIES)).toBe(expected);
  });
});
