import { spawnSync } from 'node:child_process';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ROLE } from '@wharf/rights';
import type { Caller } from '@wharf/service-kit';
import { expect, it } from 'vitest';
import { createHeldBytes, createMadeBytes, heldBytes, madeBytes } from './held-bytes.ts';

const UNCOUNTED = 64 * 1024;
const MIB = 1024 * 1024;
const response = () => new ServerResponse(new IncomingMessage(new Socket()));
const callerOf = (id: number, role: number): Caller => ({
  identity: { kind: 'user', id, username: '', role, permission: 0, basePath: '/', sessionId: '' },
  user: { id, username: '', role, permission: 0, base_path: '/', disabled: false, sso_id: '', otp: false, allow_ldap: false, pwd_ts: 0 },
});
const user = (id: number) => callerOf(id, ROLE.general);
const GUEST = callerOf(9, ROLE.guest);
const HERE = '127.0.0.1';

it('counts what is more than a little, for each caller and for all, until the answer is over', () => {
  const held = createHeldBytes(1_000);
  const first = response();
  const hold = held.of(first, user(1), HERE);
  hold(UNCOUNTED + 300);
  hold(UNCOUNTED + 500);
  // It is told how much there is by now, not how much more.
  hold(UNCOUNTED + 500);
  expect(() => held.of(response(), user(1), HERE)(UNCOUNTED + 1)).toThrow('too much is being sent and taken at once');
  held.of(response(), user(1), HERE)(UNCOUNTED);
  held.of(response(), user(2), HERE)(UNCOUNTED + 500);
  expect(() => held.of(response(), user(3), HERE)(UNCOUNTED + 1)).toThrow('too much');
  first.emit('close');
  held.of(response(), user(3), HERE)(UNCOUNTED + 500);
});

it('guests and those who need nobody are strangers: together they have half, and one address of them half of that', () => {
  const held = createHeldBytes(1_000);
  held.of(response(), GUEST, HERE)(UNCOUNTED + 200);
  held.of(response(), undefined, HERE)(UNCOUNTED + 50);
  expect(() => held.of(response(), GUEST, HERE)(UNCOUNTED + 1)).toThrow('too much');
  expect(() => held.of(response(), undefined, HERE)(UNCOUNTED + 1)).toThrow('too much');
  held.of(response(), undefined, '2001:db8:1:2::1')(UNCOUNTED + 250);
  expect(() => held.of(response(), GUEST, '192.0.2.1')(UNCOUNTED + 1)).toThrow('too much');
  held.of(response(), user(1), HERE)(UNCOUNTED + 500);
});

it('counts nothing for a client that is gone', () => {
  const held = createHeldBytes(1_000);
  const gone = response();
  gone.destroy();
  expect(() => held.of(gone, user(1), HERE)(UNCOUNTED + 500)).toThrow('the client went away');
  held.of(response(), user(1), HERE)(UNCOUNTED + 500);
});

it('while memory is short nobody holds more, and what is small goes on', () => {
  let isShort = false;
  const held = createHeldBytes(1_000, () => isShort);
  const hold = held.of(response(), user(1), HERE);
  hold(UNCOUNTED + 100);
  isShort = true;
  hold(UNCOUNTED + 100);
  held.of(response(), undefined, HERE)(UNCOUNTED);
  expect(() => hold(UNCOUNTED + 101)).toThrow('too much is being sent and taken at once');
  expect(() => held.of(response(), user(2), HERE)(UNCOUNTED + 1)).toThrow('too much');
});

it('is half of the heap, and an eighth of the memory of the process', () => {
  expect([heldBytes(128 * MIB, 256 * MIB), heldBytes(256 * MIB, 512 * MIB)]).toEqual([32 * MIB, 64 * MIB]);
  expect([heldBytes(128 * MIB, 8_192 * MIB), heldBytes(4_096 * MIB, 8_192 * MIB)]).toEqual([64 * MIB, 256 * MIB]);
});

it('what is made of bodies is a third of the heap, and a user may always make one of the largest', () => {
  expect([madeBytes(128 * MIB), madeBytes(480 * MIB)]).toEqual([45 * MIB, 160 * MIB]);
  const made = createMadeBytes(madeBytes(128 * MIB));
  const first = response();
  made.of(first, user(1), HERE)(45 * MIB);
  expect(() => made.of(response(), user(2), HERE)(MIB)).toThrow('too much');
  first.emit('close');
  expect(() => made.of(response(), undefined, HERE)(12 * MIB)).toThrow('too much');
  made.of(response(), undefined, HERE)(11 * MIB);
});

it('holds no more than half of the heap that Node may use', () => {
  const program = `
    const { IncomingMessage, ServerResponse } = await import('node:http');
    const { createHeldBytes } = await import(${JSON.stringify(new URL('held-bytes.ts', import.meta.url).href)});
    createHeldBytes().of(new ServerResponse(new IncomingMessage(null)), undefined, '192.0.2.1')(40 * ${MIB});
  `;
  const held = (heapMib: number) => {
    const flags = [`--max-old-space-size=${heapMib}`, '--max-semi-space-size=2', '--input-type=module'];
    return spawnSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' }).stderr;
  };
  // An address has an eighth of the heap.
  expect(held(1_024)).toBe('');
  expect(held(128)).toContain('too much is being sent and taken at once');
});
