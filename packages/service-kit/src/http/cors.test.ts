import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { createCors } from './cors.ts';

const isForeign = (name: string) => {
  const headers = { origin: `http://${name}`, host: name };
  return createCors([]).isForeign({ headers } as IncomingMessage, 'http://site.example');
};

it('no page has a name that is longer than any: what it means is not looked at', () => {
  expect(isForeign('a.example')).toBe(false);
  expect(isForeign(`${'a.'.repeat(120)}example`)).toBe(false);
  expect(isForeign(`${'a.'.repeat(300)}example`)).toBe(true);
});

it('a page of a configured origin may say under which key it calls', () => {
  const said: Record<string, unknown> = {};
  const response = { setHeader: (name: string, value: unknown) => Object.assign(said, { [name]: value }), writeHead: () => ({ end() {} }) };
  createCors(['*']).preflight({ headers: { origin: 'http://a.example' } } as IncomingMessage, response as unknown as ServerResponse);
  expect(said['Access-Control-Allow-Headers']).toContain('Idempotency-Key');
});
