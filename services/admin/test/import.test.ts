import { seal } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { asLogin, type Replica } from './replica.ts';

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
  replica = await installation.open();
});
afterAll(() => installation?.close());

it('what guards is written and told before what opens', async () => {
  const { auth } = installation;
  const somebody = {
    id: 3,
    username: 'somebody',
    base_path: '/own',
    role: 0,
    disabled: false,
    permission: 8,
    sso_id: '',
    allow_ldap: false,
  };
  auth.users = [somebody];
  const exported = await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const file = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  file.users = [{ ...somebody, base_path: '/' }];
  file.storages = [{ mount_path: '/late', driver: 'Local', addition: {} }];
  file.metas = [{ path: '/late', password: 'a secret' }];
  const seen: unknown[] = [];
  auth.beforeUpdate = async () => {
    const [rules, storages] = await Promise.all([replica.models.rules.countDocuments(), replica.models.storages.countDocuments()]);
    seen.push({ rules, storages, told: replica.events.length > 0 });
  };

  const { records } = await replica.admin.importConfiguration(
    { document: JSON.stringify(file), passphrase: '', dry_run: false },
    replica.as(),
  );

  expect(seen).toEqual([{ rules: 1, storages: 0, told: true }]);
  expect(records.filter(({ outcome }) => outcome !== 'unchanged').map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['user', 'updated'],
    ['storage', 'created'],
    ['rule', 'created'],
  ]);
  expect(await replica.models.storages.countDocuments()).toBe(1);
});

it('a rule that opens is not written where one below it cannot be', async () => {
  const exported = await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const file = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  file.metas = [{ path: '/shared', password: 'a secret', p_sub: true }];
  const given = { passphrase: '', dry_run: false };
  await replica.admin.importConfiguration({ document: JSON.stringify(file), ...given }, replica.as());

  file.users = [{ id: 9, username: 'nobody here' }];
  file.metas = [{ path: '/shared' }, { path: '/shared/inner', read_users: [9], read_users_sub: true }];
  const { records } = await replica.admin.importConfiguration({ document: JSON.stringify(file), ...given }, replica.as());

  expect(records.filter(({ kind }) => kind === 'rule').map(({ name, outcome }) => [name, outcome])).toEqual([
    ['/shared', 'failed'],
    ['/shared/inner', 'failed'],
  ]);
  expect((await replica.models.rules.findOne({ path: '/shared' }))?.password).toBeTruthy();
});

it('what a rule may guard that could not be written stays as it was', async () => {
  const exported = await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const file = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  // Auth takes no new ones here.
  file.users = [{ id: 9, username: 'nobody here' }];
  file.storages = [{ mount_path: '/guarded', driver: 'Local', addition: {} }];
  file.metas = [
    { path: '/guarded', read_users: [9], read_users_sub: true },
    { path: '/other', password: 'a secret' },
  ];

  const { records } = await replica.admin.importConfiguration(
    { document: JSON.stringify(file), passphrase: '', dry_run: false },
    replica.as(),
  );

  expect(records.filter(({ outcome }) => outcome !== 'unchanged').map(({ kind, name, outcome }) => [kind, name, outcome])).toEqual([
    ['user', 'nobody here', 'failed'],
    ['storage', '/guarded', 'failed'],
    ['rule', '/guarded', 'failed'],
    ['rule', '/other', 'failed'],
  ]);
  expect(await replica.models.storages.countDocuments({ mount_path: '/guarded' })).toBe(0);
});

it.each([
  ['logged out while it writes', 'session'],
  ['given another permanent token while it writes', 'token'],
  ['logged out while it waits for another one', 'session'],
])('of an admin who is %s opens nothing more', async (when, what) => {
  const { auth } = installation;
  const { models, kit } = replica;
  const isWaiting = when.includes('waits');
  const own = what === 'token' ? replica.as() : await asLogin(replica, when);
  const somebody = { username: 'somebody', base_path: '/own', role: 0, disabled: false, permission: 8, sso_id: '', allow_ldap: false };
  auth.users = [{ ...somebody, id: 3 }];
  const exported = await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const file = { ...JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString()), metas: [], settings: [] };
  const bring = (path: string, options: typeof own) => {
    const brought = { users: [{ ...somebody, base_path: path }], storages: [{ mount_path: path, driver: 'Local', addition: {} }] };
    return replica.admin.importConfiguration(
      { document: JSON.stringify({ ...file, ...brought }), passphrase: '', dry_run: false },
      options,
    );
  };
  let later: Promise<unknown> | undefined;
  auth.beforeUpdate = async () => {
    if (isWaiting) later = Promise.allSettled([bring('/later', own)]);
    const sealed = seal(kit.keys.atRest, 'another one');
    if (what === 'session') await models.sessions.deleteOne({ _id: when });
    else await models.permanentTokens.updateOne({ _id: 'permanent' }, { $set: { sealed } }, { upsert: true });
  };

  const { records } = await bring('/first', isWaiting ? replica.as() : own);
  const outcomes = await later;
  auth.beforeUpdate = async () => {};

  expect(records.find(({ kind, name }) => kind === 'storage' && name === '/first')?.outcome).toBe(isWaiting ? 'created' : 'failed');
  if (isWaiting) expect(outcomes).toMatchObject([{ status: 'rejected', reason: { code: 'UNAUTHENTICATED' } }]);
  expect(await models.storages.countDocuments({ mount_path: '/later' })).toBe(0);
});

it('rules are written all, or none, where the login of whoever imports ends between two', async () => {
  const { models, admin } = replica;
  const own = await asLogin(replica, 'half');
  const exported = await Array.fromAsync(admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const file = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  file.metas = [
    { path: '/open', write: true, w_sub: true },
    { path: '/open/closed', password: 'a secret', p_sub: true },
  ];
  const create = models.rules.create.bind(models.rules) as unknown as (rule: object) => Promise<never>;
  const written = vi.spyOn(models.rules, 'create').mockImplementationOnce(async (rule: object) => {
    await models.sessions.deleteOne({ _id: 'half' });
    return create(rule);
  });
  onTestFinished(() => written.mockRestore());
  await admin.importConfiguration({ document: JSON.stringify(file), passphrase: '', dry_run: false }, own);
  expect(await models.sessions.countDocuments({ _id: 'half' })).toBe(0);
  expect(await models.rules.countDocuments({ path: { $in: ['/open', '/open/closed'] } })).toBe(2);
});

it('a secret that a file leaves out stays as it is where it is another one since the import began', async () => {
  const { auth } = installation;
  const { admin, models, kit } = replica;
  const somebody = { username: 'somebody', base_path: '/', role: 0, disabled: false, permission: 8, sso_id: '', allow_ldap: false };
  const exported = await Array.fromAsync(admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const whole = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  const bring = async (part: object) => {
    const document = JSON.stringify({ ...whole, settings: [], users: [], storages: [], metas: [], ...part });
    const { records } = await admin.importConfiguration({ document, passphrase: '', dry_run: false }, replica.as());
    return records.find(({ name }) => name === '/kept')?.outcome;
  };
  const kept = { mount_path: '/kept', driver: 'Local', addition: { root_folder_path: '/x', token: 'old' } };
  const rule = { path: '/kept', password: 'old' };
  expect([await bring({ storages: [kept] }), await bring({ metas: [rule] })]).toEqual(['created', 'created']);
  const { beforeUpdate, create } = auth;
  onTestFinished(() => void Object.assign(auth, { beforeUpdate, create }));

  const addition = '{"root_folder_path":"/x","token":"new"}';
  auth.users = [{ ...somebody, id: 3 }];
  auth.beforeUpdate = async () =>
    void (await models.storages.updateOne({ mount_path: '/kept' }, { $set: { addition: seal(kit.keys.atRest, addition) } }));
  const changed = { ...kept, remark: 'of the file', addition: { root_folder_path: '/x' }, omitted: ['token'] };
  expect(await bring({ users: [{ ...somebody, base_path: '/other' }], storages: [changed] })).toBe('failed');
  const { content } = await admin.listStorages({}, replica.as());
  expect(content.find(({ mount_path }) => mount_path === '/kept')).toMatchObject({ addition });
  expect(await bring({ storages: [changed] })).toBe('updated');

  auth.create = async () => {
    await models.rules.updateOne({ path: '/kept' }, { $set: { password: seal(kit.keys.atRest, 'new') } });
    return 9;
  };
  const described = { path: '/kept', readme: 'of the file', omitted: ['password'] };
  expect(await bring({ users: [{ ...somebody, username: 'new' }], metas: [described] })).toBe('failed');
  expect((await admin.listRules({}, replica.as())).content.find(({ path }) => path === '/kept')).toMatchObject({ password: 'new' });
  expect(await bring({ metas: [described] })).toBe('updated');
});

it('a token that a driver renews while its storage is written stays', async () => {
  const { admin, models, kit } = replica;
  const exported = await Array.fromAsync(admin.exportConfiguration({ passphrase: '' }, replica.as()));
  const whole = JSON.parse(Buffer.concat(exported.map(({ document }) => document)).toString());
  const storage = { mount_path: '/renewed', driver: 'Local', addition: { root_folder_path: '/x', token: 'old' } };
  const bring = async (change: object) => {
    const document = JSON.stringify({ ...whole, settings: [], users: [], metas: [], storages: [{ ...storage, ...change }] });
    const { records } = await admin.importConfiguration({ document, passphrase: '', dry_run: false }, replica.as());
    return records.find(({ name }) => name === '/renewed')?.outcome;
  };
  expect(await bring({})).toBe('created');
  const addition = '{"root_folder_path":"/x","token":"new"}';
  const update = models.storages.findOneAndUpdate.bind(models.storages) as unknown as (...given: unknown[]) => { lean(): unknown };
  const renewing = vi.spyOn(models.storages, 'findOneAndUpdate').mockImplementationOnce(((...given: unknown[]) => ({
    lean: async () => {
      await models.storages.updateOne({ mount_path: '/renewed' }, { $set: { addition: seal(kit.keys.atRest, addition) } });
      return update(...given).lean();
    },
  })) as never);
  onTestFinished(() => renewing.mockRestore());
  const described = { remark: 'of the file', addition: { root_folder_path: '/x' }, omitted: ['token'] };
  expect(await bring(described)).toBe('failed');
  const stored = async () => (await admin.listStorages({}, replica.as())).content.find(({ mount_path }) => mount_path === '/renewed');
  expect(await stored()).toMatchObject({ addition, remark: '' });
  expect(await bring(described)).toBe('updated');
  expect(await stored()).toMatchObject({ addition: expect.stringContaining('"token":"new"'), remark: 'of the file' });
});

it('a rule is not given to who takes the name of a new user of the file meanwhile', async () => {
  const { auth } = installation;
  const { admin, models } = replica;
  const { users, create } = auth;
  onTestFinished(() => void Object.assign(auth, { users, create }));
  const bring = async () => {
    const file = {
      users: [{ id: 2000, username: 'zoe' }],
      storages: [],
      metas: [{ path: '/of-zoe', read_users: [2000], read_users_sub: true }],
    };
    const { records } = await admin.importConfiguration({ document: JSON.stringify(file), passphrase: '', dry_run: false }, replica.as());
    return records.map(({ kind, outcome }) => [kind, outcome]);
  };
  auth.create = async (user) => {
    auth.users = [...users, { ...user, id: 66, chose_name: true }];
    return create(user);
  };
  expect(await bring()).toEqual([
    ['user', 'failed'],
    ['rule', 'failed'],
  ]);
  auth.users = users;
  auth.create = async () => 67;
  expect(await bring()).toEqual([
    ['user', 'created'],
    ['rule', 'created'],
  ]);
  expect((await models.rules.findOne({ path: '/of-zoe' }))?.read_users).toEqual([67]);
});
