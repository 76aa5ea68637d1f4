import { expect, it } from 'vitest';
import { readConfig } from './config.ts';

it('the token comes from the environment', () => {
  expect(readConfig(['--port', '4222'], { WHARF_EMBEDDED_NATS_TOKEN: 'abc' })).toEqual({ port: 4222, token: 'abc' });
});

it('there is no bus without a token, and no other way to give one', () => {
  expect(() => readConfig([], {})).toThrow('a token is needed');
  expect(() => readConfig([], { WHARF_EMBEDDED_NATS_TOKEN: '' })).toThrow('a token is needed');
  expect(() => readConfig(['--token', 'abc'], {})).toThrow();
});

it.each(['-1', '65536', 'x', '1.5'])('port %s is refused', (port) => {
  expect(() => readConfig([`--port=${port}`], { WHARF_EMBEDDED_NATS_TOKEN: 'abc' })).toThrow('--port must be a number from 0 to 65535');
});
