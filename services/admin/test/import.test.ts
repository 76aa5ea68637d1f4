import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import type { Replica } from './replica.ts';

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
