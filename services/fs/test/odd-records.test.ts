import { writeFile } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { modelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { expect, it, onTestFinished } from 'vitest';
import { ADMIN, openInstallation, USER } from './installation.ts';

it('one storage, rule or user that is stored oddly is in the way of nobody else', async () => {
  const installation = await openInstallation();
  onTestFinished(() => installation.close());
  const folder = await installation.mountFolder();
  for (const name of ['f', 'guarded']) await writeFile(`${folder}/${name}`, 'text');
  const replica = await installation.open();
  const models = modelsOf(replica.kit.store);
  await installation.login({ id: 3, permission: USER.permission });
  await installation.login({ id: 4, permission: USER.permission, base_path: '/../b', quota_bytes: 1 });
  await installation.writeRule({ _id: 1, path: '/l/guarded', password: 'a secret' });
  await models.rules.updateOne({ _id: 1 }, { $set: { password: 'v1.damaged' } });
  const admin = await installation.writeStorage({ _id: 2, mount_path: '/a/...balance', addition: '{"root_folder_path":"/"}' });

  const codeOf = (path: string, who: Parameters<typeof installation.as>[0]) =>
    replica.fs.getEntry({ path }, installation.as(who, { admin })).then(
      () => 'found',
      (error) => AppError.from(error).code,
    );
  expect([await codeOf('/l/f', USER), await codeOf('/l/guarded', USER)]).toEqual(['found', 'PERMISSION_DENIED']);
  expect(await codeOf('/l/guarded', { ...USER, role: ROLE.admin })).toBe('found');
  expect((await replica.fs.reloadStorage({ id: 2 }, installation.as({ kind: 'service', name: 'admin' }, { admin }))).status).toMatch(
    /cannot be mounted/,
  );
  expect(replica.reports).toContainEqual({ id: 2, status: 'it cannot be mounted: using relative path is not allowed' });
  for (const told of ['a rule cannot be read', 'the base path of a user who has a quota is none']) expect(replica.log()).toContain(told);
});

it('rules that are missing a field or have another type in it close what they guarded, and nothing else; one without its path closes all of the tree', async () => {
  const installation = await openInstallation();
  onTestFinished(() => installation.close());
  const folder = await installation.mountFolder();
  const damages: Record<string, unknown>[] = [
    { password: null },
    { hide: 7 },
    { read_users: 'x' },
    { write_users: [null] },
    { p_sub: null },
    { read_users_sub: 'x' },
  ];
  const guarded = damages.map((_, index) => `g${index}`);
  for (const name of ['f', 'shown', ...guarded]) await writeFile(`${folder}/${name}`, 'text');
  const replica = await installation.open();
  const { rules, storages, settings } = modelsOf(replica.kit.store);
  await installation.login({ id: 3, permission: USER.permission });
  for (const [index, name] of guarded.entries()) await installation.writeRule({ _id: index + 1, path: `/l/${name}`, password: 'pw' });
  for (const [index, damage] of damages.entries()) await rules.collection.updateOne({ _id: index + 1 } as object, { $set: damage });
  await installation.writeRule({ _id: 20, path: '/l/shown' });
  await rules.collection.updateOne({ _id: 20 } as object, { $set: { readme: null }, $unset: { header: '' } });
  await installation.writeStorage({ _id: 2, mount_path: '/two' });
  await storages.collection.updateOne({ _id: 2 } as object, { $set: { enable_sign: 'x', modified: null, order: {} } });
  await installation.writeSetting('site_title', 'x');
  await settings.collection.updateOne({}, { $set: { items: [null, { key: 'sign_all' }] } });
  let admin = await installation.writeRule({ _id: 21, path: '/' });

  const codeOf = (path: string, who: Parameters<typeof installation.as>[0] = USER, password = '') =>
    replica.fs.getEntry({ path, password }, installation.as(who, { admin })).then(
      () => 'found',
      (error) => AppError.from(error).code,
    );
  expect(await Promise.all(['f', 'shown'].map((name) => codeOf(`/l/${name}`)))).toEqual(['found', 'found']);
  for (const name of guarded)
    expect([name, await codeOf(`/l/${name}`), await codeOf(`/l/${name}`, USER, 'pw')]).toEqual([
      name,
      ...Array(2).fill('PERMISSION_DENIED'),
    ]);
  expect(await codeOf('/l/g0', ADMIN)).toBe('found');
  expect(await codeOf('/two', ADMIN)).not.toBe('found');

  await rules.collection.insertMany([
    { _id: 30, path: ['/l/f'], password: '' },
    { _id: 31, path: 'x'.repeat(200_000) },
  ] as object[]);
  admin = await installation.writeRule({ _id: 32, path: '/l/f' });
  expect([await codeOf('/'), await codeOf('/l/f'), await codeOf('/l/f', ADMIN)]).toEqual([
    'PERMISSION_DENIED',
    'PERMISSION_DENIED',
    'found',
  ]);
  await rules.collection.deleteMany({ _id: { $in: [30, 31] } } as object);
  admin = await installation.writeRule({ _id: 32, path: '/l/f' });
  expect(await codeOf('/l/f')).toBe('found');
});
