import { writeFile } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { modelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { expect, it, onTestFinished } from 'vitest';
import { openInstallation, USER } from './installation.ts';

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
