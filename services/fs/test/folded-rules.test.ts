import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '@wharf/errors';
import { httpRequest } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { type Installation, openInstallation, USER } from './installation.ts';
import { foldingDisks, foldingServers } from './local/folding-disks.ts';

const storages = [...(await foldingDisks()), ...(await foldingServers())];

it.each(storages)('a rule on a folder guards it in every spelling, on $title', async ({ driver, items, makeFolder }) => {
  const installation = await openInstallation();
  onTestFinished(() => installation.close());
  const folder = await makeFolder();
  await mkdir(path.join(folder, 'secret'));
  await writeFile(path.join(folder, 'secret/file'), 'text');
  const addition = JSON.stringify({ ...items, root_folder_path: folder });
  await installation.writeStorage({ _id: 1, mount_path: '/local', driver: driver.name, addition });
  await installation.writeSetting('sign_all', 'false');
  const admin = await ruled(installation);
  const login = await installation.login({ id: USER.id, permission: USER.permission });
  const replica = await installation.open([driver]);
  const known = installation.as(USER, { admin });
  const list = async (dir: string) => {
    for await (const { entries } of replica.fs.listEntries({ path: dir }, known)) return entries.map(({ name }) => name);
    return [];
  };
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done',
      (error) => AppError.from(error).code,
    );
  const put = async (file: string) => {
    const headers = { Authorization: login, 'File-Path': encodeURIComponent(file), Overwrite: 'true' };
    return (await httpRequest(replica.url, { method: 'PUT', path: '/api/fs/put', headers, body: 'changed' })).json() as { code: number };
  };
  const download = async (file: string) => (await httpRequest(replica.url, { path: `/d${file}?${installation.sign(file)}` })).status;

  for (const guarded of ['/local/secret', '/local/secret/file'])
    expect(await codeOf(replica.fs.getEntry({ path: guarded }, known))).toBe('PERMISSION_DENIED');
  expect(await download('/local/secret/file')).toBe(200);
  for (const alias of ['/local/SECRET', '/local/Secret/file', '/local/SECRET/FILE']) {
    expect(await codeOf(replica.fs.getEntry({ path: alias }, known))).toBe('ENTRY_NOT_FOUND');
    expect(await codeOf(list(alias))).toBe('ENTRY_NOT_FOUND');
    expect(await codeOf(replica.fs.renameEntry({ path: alias, name: 'mine', overwrite: true }, known))).toBe('ENTRY_NOT_FOUND');
    await codeOf(replica.fs.removeEntries({ dir: path.dirname(alias), names: [path.basename(alias)] }, known));
    await codeOf(replica.fs.copyEntries({ src_dir: path.dirname(alias), dst_dir: '/local', names: [path.basename(alias)] }, known));
    await codeOf(replica.fs.makeDirectory({ path: alias }, known));
    expect((await put(alias)).code).not.toBe(200);
    expect(await download(alias)).toBe(404);
  }
  await expect(replica.fs.makeDirectory({ path: '/local/SECRET/new' }, known)).rejects.toMatchObject({ message: 'file exists' });
  expect((await put('/local/plain')).code).toBe(200);
  expect(await list('/local')).toEqual(['plain']);
  expect(await readFile(path.join(folder, 'secret/file'), 'utf8')).toBe('text');
});

/** `/local/secret` is for somebody else. */
async function ruled(installation: Installation): Promise<number> {
  const others = [USER.id + 1];
  return installation.writeRule({
    path: '/local/secret',
    read_users: others,
    read_users_sub: true,
    write_users: others,
    write_users_sub: true,
  });
}
