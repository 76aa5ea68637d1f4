import { readConfig } from '@wharf/service-kit';
import { describe, expect, it } from 'vitest';
import { authConfig } from './config.ts';

const WHARF_SECRET = 's'.repeat(32);

describe('the configuration of auth', () => {
  it('asks for nothing but the secret', () => {
    const config = readConfig(authConfig, { WHARF_SECRET });
    expect(config).toMatchObject({ grpcPort: 50_051, opsPort: 9_091, tokenHours: 48, adminPassword: undefined });
  });

  it('does not show the password of the admin', () => {
    const config = readConfig(authConfig, { WHARF_SECRET, WHARF_ADMIN_PASSWORD: 'canary-password' });
    expect(config.adminPassword?.reveal()).toBe('canary-password');
    expect(JSON.stringify(config)).not.toContain('canary-password');
  });

  it.each([
    { WHARF_TOKEN_HOURS: '0' },
    { WHARF_TOKEN_HOURS: 'two' },
    { WHARF_TOKEN_HOURS: '1.5' },
    { WHARF_TOKEN_HOURS: '1000000' },
    { WHARF_ADMIN_PASSWORD: 'x'.repeat(1_025) },
  ])('refuses %j', (environment) => {
    expect(() => readConfig(authConfig, { WHARF_SECRET, ...environment })).toThrow(Object.keys(environment)[0]);
  });
});
