import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, httpRequest, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { fetchFile, namesIn, put } from '../support/files.ts';
import { dataOf } from '../support/people.ts';
import { allDone } from '../support/tasks.ts';
import type { World } from '../support/world.ts';

/** A picture of one pixel, and the same saying that it is one of 60,000 x 60,000. */
const DOT = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const BOMB = Buffer.concat([DOT.subarray(0, 16), Buffer.from('0000ea600000ea60', 'hex'), DOT.subarray(24)]);

/** Storages that are made while Wharf runs. */
export function storages(world: World): void {
  const { admin, base } = world;

  const localStorage = (mountPath: string, root: string, more: Record<string, unknown> = {}) => ({
    mount_path: mountPath,
    driver: 'Local',
    order: 1,
    cache_expiration: 30,
    addition: JSON.stringify({ root_folder_path: root, show_hidden: true, mkdir_perm: '777' }),
    ...more,
  });

  describe('storages', () => {
    test('a storage whose folder comes later works by itself, and its status says so', async () => {
      const root = join(world.outside, world.unique('later'));
      const mount = `/${world.unique('mount')}`;
      const created = await admin.post('/api/admin/storage/create', localStorage(mount, root));
      expect(created).toMatchObject({
        code: 500,
        message: expect.stringContaining('failed init storage but storage is already created: failed init storage: root folder'),
      });
      const id = at(created, 'data', 'id');
      const status = async () => at(await dataOf(admin, `/api/admin/storage/get?id=${id}`), 'status');
      expect(await status()).toMatch(/^root folder .* not exists$/);
      expect(await admin.post('/api/fs/list', { path: mount })).toMatchObject({
        code: 500,
        message: expect.stringContaining('storage status: failed: storage not init'),
      });
      expect(await namesIn(admin, '/')).toContain(mount.slice(1));
      await mkdir(root);
      await writeFile(join(root, 'there.txt'), '');
      await waitFor('the storage to work', async () => (await status()) === 'work', { withinMs: 60_000 });
      // Each replica tries by itself.
      const listing = () => admin.post('/api/fs/list', { path: mount });
      await waitFor('every replica to have it', async () => (await listing()).code === 200 && (await listing()).code === 200, {
        withinMs: 60_000,
      });
      expect(await namesIn(admin, mount)).toEqual(['there.txt']);
      await admin.post(`/api/admin/storage/delete?id=${id}`);
    });

    test('pictures have small ones where the storage makes them', async () => {
      const root = join(world.outside, world.unique('pictures'));
      await mkdir(root);
      await writeFile(join(root, 'dot.png'), DOT);
      await writeFile(join(root, 'bomb.png'), BOMB);
      const mount = `/${world.unique('mount')}`;
      const addition = JSON.stringify({ root_folder_path: root, thumbnail: true, show_hidden: true });
      const id = at(await admin.call('/api/admin/storage/create', { ...localStorage(mount, root), addition }), 'id');
      const thumbOf = async (name: string) => String(at(await admin.call('/api/fs/get', { path: `${mount}/${name}` }), 'thumb'));
      expect(await thumbOf('dot.png')).toMatch(new RegExp(`^${base}/d${mount}/dot\\.png\\?type=thumb&sign=`));
      const ask = async (name: string) => httpRequest(base, { path: (await thumbOf(name)).slice(base.length) });
      const picture = await ask('dot.png');
      expect([picture.status, picture.headers['content-type'], picture.body.readUInt32BE(16)]).toEqual([200, 'image/png', 144]);
      const refused = await ask('bomb.png');
      expect([refused.status, refused.text()]).toEqual([400, 'a picture of 60000 x 60000 pixels is too large\n']);
      await admin.post(`/api/admin/storage/delete?id=${id}`);
    });

    test('a storage can be tried before it is saved, as it is saved, and as it would be changed', async () => {
      const root = join(world.outside, world.unique('tried'));
      await mkdir(root);
      const mount = `/${world.unique('mount')}`;
      const form = localStorage(mount, root);
      const attempt = (body: Record<string, unknown>) => admin.call('/api/admin/storage/test', body);
      const works = { works: true, error: '', traits: { max_name_bytes: 255 }, clock_skew_ms: null, left_behind: [] };
      expect(await attempt(form)).toMatchObject({ ...works, steps: [{ name: 'open', ok: true }, { name: 'list' }] });
      expect(await attempt({ ...form, write: true })).toMatchObject(works);
      expect(await readdir(root)).toEqual([]);
      expect(await namesIn(admin, '/')).not.toContain(mount.slice(1));

      const missing = localStorage(mount, join(root, 'missing'));
      const failure = { works: false, error: `root folder ${join(root, 'missing')} not exists`, traits: {}, operations: [] };
      expect(await attempt(missing)).toMatchObject(failure);
      const id = at(await admin.call('/api/admin/storage/create', form), 'id');
      expect(await attempt({ id })).toMatchObject(works);
      expect(await attempt({ ...missing, id })).toMatchObject(failure);
      expect(await dataOf(admin, `/api/admin/storage/get?id=${id}`)).toMatchObject({
        status: 'work',
        addition: expect.stringContaining(root),
      });
      await admin.post(`/api/admin/storage/delete?id=${id}`);
    });

    test('a storage serves from the moment its creation is answered, changes at once and is gone when deleted', async () => {
      const root = join(world.outside, world.unique('second'));
      await mkdir(root);
      await writeFile(join(root, 'there.txt'), 'already');
      const mount = `/${world.unique('mount')}`;
      const id = at(await admin.call('/api/admin/storage/create', localStorage(mount, root)), 'id');
      expect(await namesIn(admin, mount)).toEqual(['there.txt']);
      expect(await namesIn(admin, '/')).toContain(mount.slice(1));
      expect(await put(admin, base, `${mount}/new/file.txt`, 'new')).toMatchObject({ code: 200 });
      expect(await readFile(join(root, 'new', 'file.txt'), 'utf8')).toBe('new');
      expect(await dataOf(admin, `/api/admin/storage/get?id=${id}`)).toMatchObject({
        id,
        mount_path: mount,
        driver: 'Local',
        status: 'work',
      });

      expect(await admin.post(`/api/admin/storage/disable?id=${id}`)).toMatchObject({ code: 200 });
      expect(await admin.post(`/api/admin/storage/disable?id=${id}`)).toMatchObject({ code: 500, message: 'this storage have disabled' });
      expect(await admin.post('/api/fs/list', { path: mount })).toMatchObject({
        code: 500,
        message: `failed get storage: storage not found; rawPath: ${mount}`,
      });
      expect(await namesIn(admin, '/')).not.toContain(mount.slice(1));
      expect(await admin.post(`/api/admin/storage/enable?id=${id}`)).toMatchObject({ code: 200 });
      expect(await namesIn(admin, mount)).toEqual(['new', 'there.txt']);

      const moved = `/${world.unique('moved')}/deeper`;
      expect(await admin.post('/api/admin/storage/update', { id, ...localStorage(moved, root) })).toMatchObject({ code: 200, data: null });
      expect(await namesIn(admin, moved)).toEqual(['new', 'there.txt']);
      expect(await namesIn(admin, moved.slice(0, moved.lastIndexOf('/')))).toEqual(['deeper']);
      expect(await admin.post('/api/admin/storage/load_all')).toMatchObject({ code: 200 });
      expect(await namesIn(admin, moved)).toEqual(['new', 'there.txt']);

      expect(await admin.post(`/api/admin/storage/delete?id=${id}`)).toMatchObject({ code: 200 });
      expect(await admin.post('/api/fs/list', { path: moved })).toMatchObject({ code: 500 });
      expect(await readFile(join(root, 'new', 'file.txt'), 'utf8')).toBe('new');
    });

    test('a storage that cannot start is kept with the reason as its status, and hurts no other', async () => {
      const mount = `/${world.unique('broken')}`;
      const missing = join(world.outside, 'not there');
      const answer = await admin.post('/api/admin/storage/create', localStorage(mount, missing));
      expect(answer).toMatchObject({ code: 500, data: { id: expect.any(Number) } });
      expect(answer.message).toMatch(/^failed init storage but storage is already created: failed init storage: /);
      const id = at(answer.data, 'id');
      expect(at(await dataOf(admin, `/api/admin/storage/get?id=${id}`), 'status')).not.toBe('work');
      expect(await admin.post('/api/fs/list', { path: mount })).toMatchObject({
        code: 500,
        message: expect.stringContaining('storage not init'),
      });
      expect(await admin.post('/api/fs/list', { path: '/local' })).toMatchObject({ code: 200 });
      await mkdir(missing);
      expect(await admin.post('/api/admin/storage/update', { id, ...localStorage(mount, missing) })).toMatchObject({ code: 200 });
      expect(await namesIn(admin, mount)).toEqual([]);
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('copies and moves go from one storage to another', async () => {
      const root = join(world.outside, world.unique('other'));
      await mkdir(root);
      const mount = `/${world.unique('other-mount')}`;
      const id = at(await admin.call('/api/admin/storage/create', localStorage(mount, root)), 'id');
      const { path, disk } = await world.folder('across');
      await put(admin, base, `${path}/tree/in/side.txt`, 'inside');
      await allDone(admin, 'copy', await admin.call('/api/fs/copy', { src_dir: path, dst_dir: mount, names: ['tree'] }));
      expect((await fetchFile(admin, base, `${mount}/tree/in/side.txt`)).text()).toBe('inside');
      await allDone(admin, 'move', await admin.call('/api/fs/move', { src_dir: mount, dst_dir: `${path}/back`, names: ['tree'] }));
      expect(await readFile(join(disk, 'back', 'tree', 'in', 'side.txt'), 'utf8')).toBe('inside');
      expect(await namesIn(admin, mount)).toEqual([]);
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('a storage mounted inside another is a folder of it that cannot be renamed, moved or removed', async () => {
      const { path } = await world.folder('outer');
      const root = join(world.outside, world.unique('inner'));
      await mkdir(root);
      await writeFile(join(root, 'inner.txt'), 'inner');
      const id = at(await admin.call('/api/admin/storage/create', localStorage(`${path}/inner`, root)), 'id');
      expect(await namesIn(admin, path)).toEqual(['inner']);
      expect(await namesIn(admin, `${path}/inner`)).toEqual(['inner.txt']);
      const literal = (verb: string) => ({ code: 500, message: `${verb} root folder is not allowed` });
      expect(await admin.post('/api/fs/rename', { path: `${path}/inner`, name: 'x' })).toMatchObject(literal('rename'));
      expect(await admin.post('/api/fs/move', { src_dir: path, dst_dir: '/local', names: ['inner'] })).toMatchObject(literal('move'));
      expect(await admin.post('/api/fs/remove', { dir: path, names: ['inner'] })).toMatchObject(literal('delete'));
      expect(await admin.post('/api/fs/remove', { dir: '/', names: ['local'] })).toMatchObject(literal('delete'));
      expect(await readFile(join(root, 'inner.txt'), 'utf8')).toBe('inner');
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('the storages and the templates of the drivers are listed', async () => {
      const list = at(await dataOf(admin, '/api/admin/storage/list?page=1&per_page=1'), 'content');
      expect(list).toMatchObject([{ mount_path: '/local', driver: 'Local' }]);
      expect(await dataOf(admin, '/api/admin/driver/names')).toContain('Local');
      const info = await dataOf(admin, '/api/admin/driver/info?driver=Local');
      expect(at(info, 'common', 0)).toMatchObject({ name: 'mount_path', type: 'string', required: true });
      expect(at(await dataOf(admin, '/api/admin/driver/list'), 'Local')).toEqual(info);
    });
  });
}
