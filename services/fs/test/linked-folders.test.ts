import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localDriver } from '../src/drivers/local/index.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
let folder: string;

beforeAll(async () => {
  installation = await openInstallation();
  folder = `${installation.dir}/files`;
  await mkdir(`${folder}/real`, { recursive: true });
  await mkdir(`${folder}/real/inner`);
  for (const name of ['secret', 'plain', 'inner/plain']) await writeFile(`${folder}/real/${name}`, name);
  await mkdir(`${folder}/to`);
  await mkdir(`${folder}/a`);
  await symlink('../real', `${folder}/a/link`);
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
  await installation.writeRule({ path: '/l/a', hide: '^secret$', h_sub: true });
  replica = await installation.open([localDriver]);
});
afterAll(() => installation?.close());

const request = { src_dir: '/l/a', dst_dir: '/l/to', names: ['link'], overwrite: false, skip_existing: false, merge: false };

describe('C16: a link to a folder with something in it that is hidden from the caller', () => {
  it('is not copied by such a caller, for a copy holds what the link leads to', async () => {
    await expect(replica.fs.copyEntries(request, installation.as(USER))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'permission denied',
    });
    expect(await readdir(`${folder}/to`)).toEqual([]);
  });

  it('gets no place and no name from such a caller by which that is shown', async () => {
    const admin = await installation.writeRule({ _id: 2, path: '/l/a/shown', readme: 'welcome' });
    const who = installation.as(USER, { admin });
    const changes: (() => Promise<unknown>)[] = [
      () => replica.fs.moveEntries(request, who),
      () => replica.fs.renameEntry({ path: '/l/a/link', name: 'shown', overwrite: false }, who),
      () => replica.fs.batchRename({ src_dir: '/l/a', rename_objects: [{ src_name: 'link', new_name: 'shown' }] }, who),
      () => replica.fs.regexRename({ src_dir: '/l/a', src_name_regex: '^link$', new_name_regex: 'shown' }, who),
    ];
    const refuses = async () => {
      for (const change of changes) await expect(change()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    };
    await refuses();
    // What it leads to may be away just now, or a file.
    await rename(`${folder}/real`, `${folder}/away`);
    changes.push(() => replica.fs.recursiveMove({ src_dir: '/l/a', dst_dir: '/l/to', conflict_policy: 'cancel' }, who));
    await refuses();
    await writeFile(`${folder}/real`, 'a file');
    await refuses();
    await rm(`${folder}/real`);
    await rename(`${folder}/away`, `${folder}/real`);
    // Another link may lead through it.
    await expect(replica.fs.renameEntry({ path: '/l/a/link', name: 'other', overwrite: false }, who)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    expect([await readdir(`${folder}/a`), await readdir(`${folder}/to`)]).toEqual([['link'], []]);
  });

  it('is copied by who sees it, and moved as the link that it is', async () => {
    await replica.fs.copyEntries(request, installation.as());
    expect(await readFile(`${folder}/to/link/secret`, 'utf8')).toBe('secret');
    await replica.fs.moveEntries({ ...request, dst_dir: '/l' }, installation.as());
    expect(await readdir(`${folder}/a`)).toEqual([]);
    expect(await readFile(`${folder}/link/secret`, 'utf8')).toBe('secret');
  });
});
