import { PERMISSION, type PermissionName } from '@wharf/rights';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Access, Route } from '../src/api/route.ts';
import { BYTE_ROUTES, ROUTES } from '../src/api/route-table.ts';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';
import { sampleInput } from './sample-input.ts';

const ALL_BITS = 0xffff;
/** The bits that routes ask for, and all that there are. */
const ASKED_BITS = Object.values(PERMISSION);
const EVERY_BIT = Array.from({ length: 16 }, (_, bit) => 1 << bit);

/** Somebody who calls: who it is, and which rights it has. */
interface Somebody {
  readonly name: string;
  readonly kind: 'nobody' | 'bad token' | 'guest' | 'user' | 'admin';
  readonly permission: number;
  readonly authorization: string;
}

let gateway: Gateway;
let users: Somebody[];

beforeAll(async () => {
  gateway = await openGateway();
  // What answers with a text that is JSON already has one.
  gateway.stubs.answers.set('admin.exportConfiguration', { document: Buffer.from('{}') });
  const permissions = [0, ...EVERY_BIT, ...ASKED_BITS.map((bit) => ALL_BITS & ~bit), ALL_BITS];
  users = await Promise.all(
    permissions.map(async (permission) => ({
      name: `a user with the bits ${permission.toString(2)}`,
      kind: 'user' as const,
      permission,
      authorization: await gateway.login(permission),
    })),
  );
  users.push({ name: 'the admin', kind: 'admin', permission: 0, authorization: PERMANENT_TOKEN });
  users.push({ name: 'a bad token', kind: 'bad token', permission: 0, authorization: 'no-such-token' });
}, 60_000);
afterAll(() => gateway?.close());

/** The refusal that somebody must meet, said again without the gateway's own rules; undefined: it is let through. */
function refusalOf(access: Access, bit: PermissionName | undefined, who: Somebody): [number, string] | undefined {
  if (access === 'public') return undefined;
  if (who.kind === 'nobody') return [401, 'Guest user is disabled, login please'];
  if (who.kind === 'bad token') return [401, 'token is invalidated'];
  if (who.kind === 'admin') return undefined;
  if (access === 'admin') return [403, 'You are not an admin'];
  if (access === 'user' && who.kind === 'guest') return [403, 'You are a guest'];
  // Whether `write` is needed depends on the rule of the path, which only the service knows.
  if (bit !== undefined && bit !== 'write' && (who.permission & PERMISSION[bit]) === 0) return [403, 'permission denied'];
  return undefined;
}

const REFUSALS = [
  'Guest user is disabled, login please',
  'token is invalidated',
  'You are not an admin',
  'You are a guest',
  'permission denied',
];

const me = async (authorization: string) => (await gateway.request({ path: '/api/me', headers: { Authorization: authorization } })).json();

/** @param more fields that the input may have. */
async function ask(route: Route, authorization: string, more: object = {}): Promise<{ code: number; message: string; data: unknown }> {
  const isGet = route.methods !== 'any' && !route.methods.includes('POST');
  const sample = sampleInput(route);
  const input = Array.isArray(sample) ? sample : { ...Object(sample), ...more };
  const pairs = Object.fromEntries(Object.entries(Object(input)).map(([key, value]) => [key, String(value)]));
  const answer = await gateway.request({
    method: isGet ? 'GET' : 'POST',
    path: isGet ? `${route.path}?${new URLSearchParams(pairs)}` : route.path,
    headers: { Authorization: authorization, ...(isGet ? {} : { 'Content-Type': 'application/json' }) },
    ...(isGet ? {} : { body: JSON.stringify(input) }),
  });
  expect(answer.status, route.path).toBe(200);
  return JSON.parse(answer.text());
}

async function holds(route: Route, who: Somebody): Promise<void> {
  const expected = refusalOf(route.access, route.permission, who);
  const { code, message, data } = await ask(route, who.authorization);
  const context = `${route.path} as ${who.name}: ${code} ${message}`;
  if (expected) {
    expect([code, message, data], context).toEqual([...expected, null]);
  } else {
    expect(REFUSALS, context).not.toContain(message);
    expect(code, context).not.toBe(401);
    if (code === 200) expect(route.answer.safeParse(data), context).toMatchObject({ success: true });
  }
}

describe('who may call a route (C15)', () => {
  it.each(ROUTES.map((route) => [route.path, route] as const))('%s, with every token', async (_path, route) => {
    for (const who of users) await holds(route, who);
  });

  it('every route without a token, while the guest is disabled', async () => {
    for (const route of ROUTES) await holds(route, { name: 'nobody', kind: 'nobody', permission: 0, authorization: '' });
  });

  it('every route without a token, while the guest is enabled', async () => {
    for (const permission of [0, ALL_BITS]) {
      await gateway.setGuest({ disabled: false, permission });
      for (const route of ROUTES)
        await holds(route, { name: `the guest with the bits ${permission}`, kind: 'guest', permission, authorization: '' });
    }
    await gateway.setGuest({ disabled: true, permission: 0 });
  });

  it('every call that a route makes is for its caller, whoever else its input names', async () => {
    const [one, other] = await Promise.all([gateway.login(ALL_BITS), gateway.login(ALL_BITS)]);
    const idOf = async (authorization: string) => Object(Object(await me(authorization)).data).id;
    const [own, foreign] = [await idOf(one), await idOf(other)];
    expect(own).not.toBe(foreign);
    for (const route of ROUTES.filter(({ access }) => access === 'guest' || access === 'user')) {
      const before = gateway.stubs.asked.length;
      await ask(route, one, { id: foreign, user_id: foreign, uid: foreign, username: 'somebody else' });
      for (const { rpc, call } of gateway.stubs.asked.slice(before))
        expect(call.identity, `${route.path} -> ${rpc}`).toMatchObject({ kind: 'user', id: own, permission: ALL_BITS });
    }
  });

  it('is asked before anything is read of what is asked', async () => {
    const nothing = await gateway.login(0);
    const wrong = [
      ['not JSON', '{"names": '],
      ['too deep', '['.repeat(100)],
      ['too many values', `{"names":[${'0,'.repeat(200_000)}0]}`],
      ['wrong', '{"names": 5}'],
    ] as const;
    let tried = 0;
    for (const route of ROUTES.filter(({ methods, takes }) => takes === 'body' && (methods === 'any' || methods.includes('POST'))))
      for (const [what, body] of wrong) {
        const expected = refusalOf(route.access, route.permission, { name: '', kind: 'user', permission: 0, authorization: nothing });
        if (!expected) continue;
        const headers = { Authorization: nothing, 'Content-Type': 'application/json' };
        const answer = await gateway.request({ method: 'POST', path: route.path, headers, body });
        expect(JSON.parse(answer.text()), `${route.path}: ${what}`).toMatchObject({ code: expected[0], message: expected[1] });
        tried += 1;
      }
    expect(tried).toBeGreaterThan(100);
  });

  it('the byte routes', async () => {
    for (const route of BYTE_ROUTES) {
      const put = async (authorization: string) => {
        const answer = await gateway.request({
          method: route.method,
          path: route.path,
          headers: { Authorization: authorization },
          ...(route.body !== undefined && { body: 'x' }),
        });
        return answer.text();
      };
      for (const who of users.filter(({ kind }) => kind === 'user')) expect(await put(who.authorization), who.name).toBe('bytes');
      expect(JSON.parse(await put(''))).toEqual({ code: 401, message: 'Guest user is disabled, login please', data: null });
      expect(JSON.parse(await put('no-such-token'))).toEqual({ code: 401, message: 'token is invalidated', data: null });
    }
  });

  it('a token may come with Bearer before it', async () => {
    const me = await gateway.request({ path: '/api/me', headers: { Authorization: `Bearer ${PERMANENT_TOKEN}` } });
    expect(me.json()).toMatchObject({ code: 200, data: { username: 'admin', role: 2, permission: ALL_BITS, password: '', otp: false } });
  });
});
