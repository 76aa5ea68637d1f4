import { mkdir, rename, writeFile } from 'node:fs/promises';
import { waitFor } from '@wharf/harness';
import type { SearchEntriesRequest } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, type Installation, openInstallation, type Replica, SERVICE, USER } from '../installation.ts';

let installation: Installation;
let first: Replica;
let second: Replica;
let folder: string;
type Options = ReturnType<Installation['as']>;

beforeAll(async () => {
  installation = await openInstallation();
  [first, second] = [await installation.open(), await installation.open()];
  folder = `${installation.dir}/searched`;
  await mkdir(`${folder}/deep/dark`, { recursive: true });
  for (const name of ['report one.txt', 'deep/report two.txt', 'deep/dark/report three.txt']) await writeFile(`${folder}/${name}`, name);
  const revision = await installation.writeStorage({ _id: 10, mount_path: '/s', addition: JSON.stringify({ root_folder_path: folder }) });
  for (const replica of [first, second])
    await search(replica, { parent: '/s', in_folder: true }, installation.as(ADMIN, { admin: revision }));
});
afterAll(() => installation?.close());

async function search(from: Replica, request: Partial<SearchEntriesRequest>, options: Options = installation.as()) {
  const parts = await Array.fromAsync(from.fs.searchEntries({ parent: '/', page: 1, per_page: 100, ...request }, options));
  const content = parts.flatMap((part) => part.content);
  return { total: parts[0]?.total, paths: content.map(({ parent, name }) => `${parent}/${name}`) };
}

describe('without an index', () => {
  it('searching and everything about the index is refused in the words of the family', async () => {
    const refusal = { code: 'UNSUPPORTED_OPERATION', message: 'search not available' };
    await expect(search(first, { keywords: 'report' })).rejects.toMatchObject(refusal);
    await expect(first.fs.buildIndex({}, installation.as())).rejects.toMatchObject(refusal);
    await expect(first.fs.getIndexProgress({}, installation.as())).rejects.toMatchObject(refusal);
  });

  it('one folder is searched by its listing, under the same rules', async () => {
    expect(await search(first, { parent: '/s', keywords: 'REPORT', in_folder: true })).toEqual({ total: 1, paths: ['/s/report one.txt'] });
    expect((await search(first, { parent: '/s', in_folder: true, scope: 1 })).paths).toEqual(['/s/deep']);
    const revision = await installation.writeRule({
      _id: 10,
      path: '/s/deep',
      hide: '^dark$',
      read_users: [USER.id],
      read_users_sub: true,
    });
    const as = (id: number) => installation.as({ ...USER, id, permission: 0 }, { admin: revision });
    expect((await search(first, { parent: '/s/deep', in_folder: true }, as(USER.id))).paths).toEqual(['/s/deep/report two.txt']);
    await expect(search(first, { parent: '/s/deep', in_folder: true }, as(99))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(search(first, { parent: '/s/deep/dark', in_folder: true }, as(USER.id))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    await installation.writeRule({ _id: 10, path: '/nowhere' });
  });
});

describe('two replicas over one index', () => {
  let known: Options;
  beforeAll(async () => {
    const revision = await installation.writeSetting('search_index', 'database');
    known = installation.as(ADMIN, { admin: revision });
    await first.fs.buildIndex({}, known);
    await waitFor('the index', async () => (await second.fs.getIndexProgress({}, known)).is_done);
  });

  it('find the same, whoever built it', async () => {
    const expected = { total: 3, paths: ['/s/report one.txt', '/s/deep/dark/report three.txt', '/s/deep/report two.txt'] };
    for (const replica of [first, second]) expect(await search(replica, { keywords: 'report' }, known)).toEqual(expected);
    expect((await search(second, { keywords: 'report', parent: '/s/deep', page: 2, per_page: 1 }, known)).paths).toEqual([
      '/s/deep/report two.txt',
    ]);
    expect((await search(second, { keywords: 'report two', scope: 1 }, known)).total).toBe(0);
  });

  it('find at once what the other one made', async () => {
    await second.fs.makeDirectory({ path: '/s/made by the second' }, known);
    expect(await waitFor('the folder', async () => (await search(first, { keywords: 'second' }, known)).total === 1)).toBe(true);
    await first.fs.renameEntry({ path: '/s/deep', name: 'deeper', overwrite: false }, known);
    await waitFor(
      'the new place',
      async () => (await search(second, { keywords: 'two' }, known)).paths.join() === '/s/deeper/report two.txt',
    );
  });

  it('share one job: the other one refuses a second, and an update through it is found by all', async () => {
    await mkdir(`${folder}/outside`);
    await rename(`${folder}/report one.txt`, `${folder}/outside/report one.txt`);
    await second.fs.updateIndex({ paths: ['/s'], max_depth: -1 }, known);
    await waitFor('the index', async () => (await first.fs.getIndexProgress({}, known)).is_done);
    expect((await search(first, { keywords: 'one' }, known)).paths).toEqual(['/s/outside/report one.txt']);
    await expect(first.fs.stopIndex({}, known)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', message: 'index is not running' });
  });

  it('find what is in a storage that opens when they are done', async () => {
    const root = `${installation.dir}/late`;
    const addition = JSON.stringify({ root_folder_path: root });
    known = installation.as(ADMIN, { admin: await installation.writeStorage({ _id: 11, mount_path: '/late', addition }) });
    // Whichever of them builds it knows the storage by then.
    await second.fs.getIndexProgress({}, known);
    await first.fs.buildIndex({}, known);
    await waitFor('the index', async () => (await first.fs.getIndexProgress({}, known)).error.includes('/late'));
    await mkdir(root);
    await writeFile(`${root}/belated.txt`, '');
    await first.fs.reloadStorage({ id: 11 }, installation.as(SERVICE));
    await waitFor('the late one', async () => (await search(second, { keywords: 'belated' }, known)).total === 1);
  });

  it('search for each caller what they may see, and only admins order the index about', async () => {
    const revision = await installation.writeRule({ _id: 10, path: '/s/deeper', hide: 'dark', h_sub: true });
    const user = installation.as({ ...USER, permission: 0, basePath: '/s/deeper' }, { admin: revision });
    expect(await search(second, { keywords: 'report' }, user)).toEqual({ total: 1, paths: ['/s/deeper/report two.txt'] });
    await expect(search(second, { keywords: 'x', parent: '/../..' }, user)).rejects.toMatchObject({ code: 'UNSAFE_PATH' });
    await expect(search(second, { page: 0 }, user)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: "page can't < 1" });
    await expect(search(second, { per_page: 0 }, user)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: "per_page can't < 1" });
    for (const call of [first.fs.buildIndex({}, user), first.fs.clearIndex({}, user), first.fs.getIndexProgress({}, user)])
      await expect(call).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});
