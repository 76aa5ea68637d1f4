import { waitFor } from '@wharf/harness';
import type { Rule } from '@wharf/proto/admin';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { errorOf, type Replica, rule } from './replica.ts';

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
});
beforeEach(async () => {
  replica = await installation.open();
  await addUsers(1, 3, 4, 5);
});
afterEach(() => installation.clear());
afterAll(() => installation?.close());

const addUsers = (...ids: number[]) =>
  replica.models.users.insertMany(
    ids.map((id) => ({ _id: id, username: `u${id}`, username_key: `u${id}`, base_path: '/', role: 0, permission: 0 })),
  );
const create = (rest: Partial<Rule> = {}) => replica.admin.createRule({ rule: rule(rest) }, replica.as());
const get = async (id: number): Promise<Rule | null> => (await replica.admin.getRule({ id }, replica.as())).rule;
const list = (page = 0, per_page = 0) => replica.admin.listRules({ page, per_page }, replica.as());

describe('path rules', () => {
  it('that are written and cannot be counted are counted as soon as they can be', async () => {
    const { adminCounters } = replica.models;
    const counter = adminCounters.collection;
    const { value: before } = (await adminCounters.findById('revision').lean()) ?? { value: 0 };
    // Nothing can be added to a text.
    await counter.updateOne({ _id: 'revision' } as object, { $set: { value: 'broken' } });
    await expect(create({ path: '/uncounted' })).rejects.toMatchObject({ code: 'INTERNAL' });
    expect((await list()).content.map(({ path }) => path)).toEqual(['/uncounted']);
    const heard = replica.events.length;
    await counter.updateOne({ _id: 'revision' } as object, { $set: { value: before } });
    await waitFor('the event', () => replica.events.length > heard);
    expect(replica.events.at(-1)?.revision).toBe(before + 1);
  });

  it('are written one after the other, so that those that come at once have 16 MiB together as well', async () => {
    const texts = { readme: 'x'.repeat(65_000), header: 'x'.repeat(65_000) };
    const { id } = await create({ path: '/0', ...texts });
    const { collection } = replica.models.rules;
    const [stored] = await collection.find().toArray();
    // There is room for 128 of them.
    await collection.insertMany(Array.from({ length: 126 }, (_, i) => ({ ...stored, _id: id + 100 + i, path: `/${i + 1}` })) as object[]);
    const outcomes = await Promise.allSettled([1, 2, 3].map((i) => create({ path: `/more${i}`, ...texts })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('are counted also by whoever finds them written or gone already', async () => {
    const { id } = await create({ path: '/a' });
    const calls: Array<[string, () => Promise<unknown>]> = [
      ['RECORD_EXISTS', () => create({ path: '/a' })],
      ['RECORD_NOT_FOUND', () => replica.admin.deleteRule({ id: id + 1_000 }, replica.as())],
      ['RECORD_NOT_FOUND', () => replica.admin.updateRule({ rule: rule({ id: id + 1_000, path: '/b' }) }, replica.as())],
    ];
    for (const [code, call] of calls) {
      const before = replica.events.length;
      await expect(call()).rejects.toMatchObject({ code });
      await waitFor(`the event after ${code}`, () => replica.events.length > before);
    }
    const before = replica.events.length;
    await expect(create({ path: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await replica.admin.listRules({}, replica.as());
    expect(replica.events.length).toBe(before);
  });

  it('are kept with every field, over a restart', async () => {
    const given = {
      ...{ path: '/a', password: 'secret', p_sub: true, write: true, w_sub: true, hide: '^x\n', h_sub: true, readme: '# r', r_sub: true },
      ...{ header: 'h', header_sub: true, read_users: [3, 4], read_users_sub: true, write_users: [5], write_users_sub: true },
    };
    const { id } = await create({ ...given, path: 'a/' });
    await installation.restartStore();
    replica = await installation.open();
    expect(await get(id)).toEqual({ ...given, id, shadows: [] });
  });

  it('are listed by id, in pages, with the rules that each replaces', async () => {
    for (const path of ['/a/b', '/', '/a', '/ab']) await create({ path });
    const { content, total } = await list();
    expect(total).toBe(4);
    expect(content.map(({ path, shadows }) => [path, shadows])).toEqual([
      ['/a/b', ['/', '/a']],
      ['/', []],
      ['/a', ['/']],
      ['/ab', ['/']],
    ]);
    const second = await list(2, 3);
    expect(second.content.map(({ path, shadows }) => [path, shadows])).toEqual([['/ab', ['/']]]);
    expect((await get(content[0]?.id ?? 0))?.shadows).toEqual(['/', '/a']);
  });

  it('are replaced whole', async () => {
    const { id } = await create({ password: 'secret', read_users: [1] });
    const { revision } = await replica.admin.updateRule({ rule: rule({ id, path: '/b', hide: 'x' }) }, replica.as());
    expect(await get(id)).toMatchObject({ path: '/b', hide: 'x', password: '', read_users: [] });
    expect(replica.events.at(-1)).toEqual({ revision });
  });

  it('have one path each, also when eight are made at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => create({ path: '/same' })));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { id } = await create({ path: '/other' });
    const taken = { code: 'RECORD_EXISTS', message: 'the path /same has a rule already' };
    expect(await errorOf(create({ path: 'same/' }))).toMatchObject(taken);
    expect(await errorOf(replica.admin.updateRule({ rule: rule({ id, path: '/same' }) }, replica.as()))).toMatchObject(taken);
  });

  it('are refused with a line that is no pattern, and nothing is stored', async () => {
    expect(await errorOf(create({ hide: 'ok\n*x' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: '*x is illegal: missing argument to repetition operator: `*`',
    });
    expect((await list()).total).toBe(0);
  });

  it('are refused for users who do not exist, but keep those who are gone', async () => {
    const stranger = { code: 'INVALID_ARGUMENT', message: 'write_users: there is no user with the id 99' };
    expect(await errorOf(create({ read_users: [3], write_users: [4, 99] }))).toMatchObject(stranger);
    const { id } = await create({ read_users: [3, 4] });
    await replica.models.users.deleteOne({ _id: 4 });
    await replica.admin.updateRule({ rule: rule({ id, read_users: [3, 4], hide: 'x' }) }, replica.as());
    expect(await get(id)).toMatchObject({ read_users: [3, 4], hide: 'x' });
    expect(await errorOf(replica.admin.updateRule({ rule: rule({ id, write_users: [99] }) }, replica.as()))).toMatchObject(stranger);
  });

  it('have their passwords sealed in the store, also those that lay there in clear', async () => {
    const { id } = await create({ password: 'canary one' });
    await replica.models.rules.create({ _id: 90, path: '/plain', password: 'canary two' });
    replica = await installation.open();
    expect(await get(id)).toMatchObject({ password: 'canary one' });
    expect(await get(90)).toMatchObject({ password: 'canary two' });
    expect(JSON.stringify(await replica.models.rules.find().lean())).not.toContain('canary');
  });

  it('can be listed, made, saved and deleted where the password of one cannot be opened', async () => {
    const [{ id }, { id: other }] = [await create({ path: '/broken', password: 'secret' }), await create({ path: '/other' })];
    await replica.models.rules.updateOne({ _id: id }, { $set: { password: 'v1.damaged' } });
    expect((await list()).content.map(({ path, password }) => [path, password])).toEqual([
      ['/broken', 'v1.damaged'],
      ['/other', ''],
    ]);
    await create({ path: '/new' });
    await replica.admin.updateRule({ rule: rule({ id: other, path: '/other', hide: 'x' }) }, replica.as());
    await replica.admin.updateRule({ rule: rule({ ...(await get(id)), readme: 'r' }) }, replica.as());
    // Nobody can say what it was: it is guarded as before.
    expect(await get(id)).toMatchObject({ password: 'v1.damaged', readme: 'r' });
    expect((await replica.models.rules.findById(id).lean())?.password).not.toBe('v1.damaged');
  });

  it.each([
    { path: null },
    { path: ['/broken'] },
    { path: 'x'.repeat(200_000) },
    { hide: null },
    { readme: 7 },
    { read_users: 'x' },
    { p_sub: {} },
  ])('can be listed, made, saved and deleted where one is stored oddly, which is shown as it counts: %j', async (damage) => {
    const { id } = await create({ path: '/broken', readme: 'r' });
    await replica.models.rules.collection.updateOne({ _id: id } as object, { $set: damage });
    const isHarmless = 'readme' in damage;
    const path = 'path' in damage ? '/' : '/broken';
    expect((await list()).content).toMatchObject([{ id, path, readme: '', read_users: isHarmless ? [] : [-2] }]);
    const other = await create({ path: '/other' });
    await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
    // Whoever saves it without a look at what cannot be read does not open it.
    await replica.admin.updateRule({ rule: rule({ ...(await get(id)), header: 'h' }) }, replica.as());
    expect(await get(id)).toMatchObject({ path, header: 'h', hide: isHarmless ? '' : '.' });
    await replica.admin.updateRule({ rule: rule({ id, path: '/broken' }) }, replica.as());
    expect((await replica.models.rules.findById(id).lean())?.read_users).toEqual([]);
    await replica.models.rules.collection.updateOne({ _id: id } as object, { $set: damage });
    await replica.admin.deleteRule({ id }, replica.as());
    expect((await list()).content.map((each) => each.id)).toEqual([other.id]);
  });

  it('are deleted', async () => {
    const { id } = await create();
    await replica.admin.deleteRule({ id }, replica.as());
    expect((await list()).total).toBe(0);
    expect((await create()).id).toBeGreaterThan(id);
  });

  it('must exist', async () => {
    expect((await errorOf(replica.admin.getRule({ id: 9 }, replica.as()))).code).toBe('RECORD_NOT_FOUND');
    expect((await errorOf(replica.admin.updateRule({ rule: rule({ id: 9 }) }, replica.as()))).code).toBe('RECORD_NOT_FOUND');
    expect((await errorOf(replica.admin.deleteRule({ id: 9 }, replica.as()))).code).toBe('RECORD_NOT_FOUND');
    expect((await errorOf(replica.admin.createRule({}, replica.as()))).code).toBe('INVALID_ARGUMENT');
  });
});
