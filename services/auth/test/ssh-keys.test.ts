import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand, isAvailable, isMissing, runCommand } from '@wharf/harness';
import { ROLE } from '@wharf/rights';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, openPlace, type Place, type Replica } from './replica.ts';

const keygen = await ensureCommand('ssh-keygen', 'openssh-client');

let place: Place;
let replica: Replica;
let last = 0;

/** Keys of devices in the form that ssh-keygen writes, with the application `ssh:`. */
const DEVICE_KEYS = [
  'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDo= device',
  'sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBCjuAO+uP27urpo15nnEBAqAKjhDiFrVEaRNodEnnd7u8ti06gECUtP3KOdshvBVr2zrVBYEojY99b80OGQ3EiQAAAAEc3NoOg== device',
];
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f';

const makeUser = async () => {
  const username = `user${++last}`;
  const { id } = await replica.auth.createUser({ user: { username, password: 'x', base_path: '/' } }, replica.as());
  return { id, options: () => replica.as({ ...ADMIN, id, username, role: ROLE.general }) };
};

beforeAll(async () => {
  place = await openPlace();
  replica = await place.open();
});
afterAll(() => place?.close());

describe.runIf(isAvailable('ssh-keygen', keygen))('keys that ssh-keygen made', () => {
  const run = async (...parameters: string[]): Promise<string> => {
    if (isMissing(keygen)) throw new Error(keygen.missing);
    const { stdout } = await runCommand(keygen.path, parameters);
    return stdout;
  };

  it.each([
    ['rsa', '2048'],
    ['rsa', '4096'],
    ['ecdsa', '256'],
    ['ecdsa', '384'],
    ['ecdsa', '521'],
    ['ed25519', '256'],
  ])('%s of %s bits are added, with the fingerprint that ssh-keygen shows', async (type, bits) => {
    const user = await makeUser();
    const file = join(place.dir, `${type}-${bits}`);
    await run('-q', '-t', type, '-b', bits, '-N', '', '-C', 'some body', '-f', file);
    await replica.auth.addSshKey({ title: type, key: await readFile(`${file}.pub`, 'utf8') }, user.options());
    const { content } = await replica.auth.listSshKeys({}, user.options());
    expect(content).toHaveLength(1);
    expect(await run('-l', '-f', `${file}.pub`)).toContain(` ${content[0]?.fingerprint} `);
  });

  it('damaged, doubled and private ones are refused', async () => {
    const user = await makeUser();
    const file = join(place.dir, 'damaged');
    await run('-q', '-t', 'ed25519', '-N', '', '-f', file);
    const text = await readFile(`${file}.pub`, 'utf8');
    for (const key of [await readFile(file, 'utf8'), text.slice(0, 40), text.replace('ed25519', 'rsa'), text + text])
      await expect(replica.auth.addSshKey({ title: 'x', key }, user.options())).rejects.toMatchObject({ message: 'provided key invalid' });
  });
});

describe('the SSH keys of a user', () => {
  it('are listed by id with their times, in pages', async () => {
    const user = await makeUser();
    for (const [i, key] of [KEY, ...DEVICE_KEYS, KEY].entries()) await replica.auth.addSshKey({ title: ` key ${i} `, key }, user.options());
    const list = (page: number, per_page: number) => replica.auth.listSshKeys({ page, per_page }, user.options());
    const all = await list(0, 0);
    expect(all.total).toBe(4);
    expect(all.content.map(({ title }) => title)).toEqual(['key 0', 'key 1', 'key 2', 'key 3']);
    for (const key of all.content) {
      expect(key.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
      expect(new Date(key.added_time).toISOString()).toBe(key.added_time);
      expect(key.last_used_time).toBe(key.added_time);
    }
    expect((await list(2, 2)).content).toEqual(all.content.slice(2));
    expect((await list(3, 2)).content).toEqual([]);
    expect(await replica.auth.listUserSshKeys({ user_id: user.id }, replica.as())).toEqual(all);
  });

  it('have different titles; titles of others do not matter', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    await replica.auth.addSshKey({ title: 'laptop', key: KEY }, user.options());
    // The title is looked at before the key.
    const refusal = { code: 'RECORD_EXISTS', message: 'key with the same title already exists' };
    await expect(replica.auth.addSshKey({ title: 'laptop', key: 'no key' }, user.options())).rejects.toMatchObject(refusal);
    await replica.auth.addSshKey({ title: 'laptop', key: KEY }, other.options());
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => replica.auth.addSshKey({ title: 'raced', key: KEY }, user.options())),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it.each([
    ['', KEY, 'request invalid'],
    ['  ', KEY, 'request invalid'],
    ['x'.repeat(256), KEY, 'request invalid'],
    ['x', ' ', 'request invalid'],
    ['x', 'no key', 'provided key invalid'],
  ])('with the title %j and the key %j are refused: %s', async (title, key, message) => {
    const user = await makeUser();
    await expect(replica.auth.addSshKey({ title, key }, user.options())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });

  it('are deleted by their user and by the admin, not by others', async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const ids: number[] = [];
    for (const title of ['a', 'b']) await replica.auth.addSshKey({ title, key: KEY }, user.options());
    for (const { id } of (await replica.auth.listSshKeys({}, user.options())).content) ids.push(id);
    const [first = 0, second = 0] = ids;
    const missing = { code: 'RECORD_NOT_FOUND', message: 'failed to get public key' };
    await expect(replica.auth.deleteSshKey({ id: first }, other.options())).rejects.toMatchObject(missing);
    await expect(replica.auth.deleteUserSshKey({ id: first }, other.options())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(replica.auth.listUserSshKeys({ user_id: user.id }, other.options())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await replica.auth.deleteSshKey({ id: first }, user.options());
    await expect(replica.auth.deleteSshKey({ id: first }, user.options())).rejects.toMatchObject(missing);
    await replica.auth.deleteUserSshKey({ id: second }, replica.as());
    expect(await replica.auth.listSshKeys({}, user.options())).toEqual({ content: [], total: 0 });
  });

  it('are a hundred at most, also where more are added at the same time, and go with their user', async () => {
    const user = await makeUser();
    const add = (_: unknown, i: number) => replica.auth.addSshKey({ title: `key ${i}`, key: KEY }, user.options());
    const added = await Promise.allSettled(Array.from({ length: 120 }, add));
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    await expect(replica.auth.addSshKey({ title: 'more', key: KEY }, user.options())).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    await replica.auth.deleteUser({ id: user.id }, replica.as());
    expect(await replica.models.sshKeys.countDocuments({ user_id: user.id })).toBe(0);
    await expect(replica.auth.listUserSshKeys({ user_id: user.id }, replica.as())).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });

  it('are not for the guest', async () => {
    const guest = replica.as({ ...ADMIN, id: 2, role: ROLE.guest });
    const refusal = { code: 'UNAUTHENTICATED', message: 'user invalid' };
    await expect(replica.auth.listSshKeys({}, guest)).rejects.toMatchObject(refusal);
    await expect(replica.auth.addSshKey({ title: 'x', key: KEY }, guest)).rejects.toMatchObject(refusal);
    await expect(replica.auth.deleteSshKey({ id: 1 }, guest)).rejects.toMatchObject(refusal);
  });
});
