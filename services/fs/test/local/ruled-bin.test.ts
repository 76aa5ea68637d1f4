import { mkdir, writeFile } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { expect, it, onTestFinished } from 'vitest';
import { openInstallation, USER } from '../installation.ts';

it('a recycle bin that is shown is for the admin alone by a rule on it, and entries go there all the same', async () => {
  const installation = await openInstallation();
  onTestFinished(() => installation.close());
  const folder = await installation.mountFolder();
  await mkdir(`${folder}/team`);
  await writeFile(`${folder}/team/f`, 'text');
  const addition = JSON.stringify({ root_folder_path: folder, recycle_bin_path: `${folder}/bin` });
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition });
  await installation.writeRule({ _id: 1, path: '/l/team', read_users: [USER.id], read_users_sub: true });
  const admin = await installation.writeRule({ _id: 2, path: '/l/bin', read_users: [1], read_users_sub: true });
  const replica = await installation.open();
  const member = installation.as(USER, { admin });
  const codeOf = (who: typeof member) =>
    replica.fs.getEntry({ path: '/l/bin/f' }, who).then(
      () => 'found',
      (error) => AppError.from(error).code,
    );
  await replica.fs.removeEntries({ dir: '/l/team', names: ['f'] }, member);
  expect([await codeOf(member), await codeOf(installation.as({ ...USER, id: 1, role: ROLE.admin }, { admin }))]).toEqual([
    'PERMISSION_DENIED',
    'found',
  ]);
});
