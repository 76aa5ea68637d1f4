import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ConfigError, configKey, readConfig, schemas } from './config.ts';
import { Secret } from './secret.ts';

const definition = {
  port: configKey('PORT', schemas.port(5244), 'The port.'),
  secret: configKey('SECRET', schemas.secret, 'The secret.'),
  origins: configKey('ORIGINS', schemas.list, 'Origins.'),
} as const;
const SECRET = 'x'.repeat(32);

describe('configuration', () => {
  it('absent and empty variables take their default', () => {
    expect(readConfig(definition, { SECRET, PORT: '' })).toMatchObject({ port: 5244, origins: [] });
  });

  it('texts are read by their schema', () => {
    const config = readConfig(definition, { SECRET, PORT: '0', ORIGINS: ' a , ,b' });
    expect([config.port, config.origins, config.secret.reveal()]).toEqual([0, ['a', 'b'], SECRET]);
  });

  it('all problems are told at once, without the values', () => {
    const read = () => readConfig(definition, { SECRET: 'short-secret', PORT: '99999' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/PORT: .*\n.*SECRET: must be at least 32 bytes/s);
    expect(read).not.toThrow(/short-secret/);
  });

  it('a variable without a default is documented as required', () => {
    expect([definition.secret.shownDefault, definition.port.shownDefault, definition.origins.shownDefault]).toEqual([
      'required',
      '`5244`',
      'empty',
    ]);
  });

  it('a secret shows itself to nobody but who asks', () => {
    const secret = new Secret('canary');
    expect([String(secret), JSON.stringify({ secret }), inspect(secret)].join()).not.toContain('canary');
    expect(secret.reveal()).toBe('canary');
  });
});
