import { mkdir, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { at, httpRequest } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { rawPath } from '../support/files.ts';
import { dataOf } from '../support/people.ts';
import type { World } from '../support/world.ts';

/** The calls that configure storages, row by row, and what they do to transfers under way. */
export function storageCalls(world: World): void {
  const { admin, base } = world;

  describe('a storage that is changed while files pass through it', () => {
    const SIZE = 48 * 1024 * 1024;
    /** A download whose reader has taken its first bytes and waits; `rest` reads on, and answers how many bytes came in all. */
    const begin = (path: string) =>
      new Promise<{ rest: () => Promise<number> }>((resolve, reject) => {
        get(new URL(path, base), (response) => {
          let received = 0;
          response.once('data', (chunk: Buffer) => {
            received = chunk.length;
            response.pause();
            resolve({
              rest: () =>
                new Promise((done) => {
                  response.on('data', (more: Buffer) => {
                    received += more.length;
                  });
                  response.on('error', () => {});
                  response.once('close', () => done(received));
                  response.resume();
                }),
            });
          });
        }).once('error', reject);
      });

    test.each(['update', 'disable', 'delete'])('%s: its transfers end or finish, and those of others go on', async (verb) => {
      const root = join(world.outside, world.unique('changed'));
      await mkdir(root);
      await writeFile(join(root, 'big.bin'), Buffer.alloc(SIZE, 7));
      const { path: other, disk } = await world.folder('undisturbed');
      await writeFile(join(disk, 'big.bin'), Buffer.alloc(SIZE, 8));
      const mount = `/${world.unique('changed')}`;
      const addition = { root_folder_path: root, mkdir_perm: '777' };
      const storage = { mount_path: mount, driver: 'Local', addition: JSON.stringify(addition) };
      const id = at(await admin.call('/api/admin/storage/create', storage), 'id');

      const [own, others] = [await begin(await rawPath(admin, `${mount}/big.bin`)), await begin(await rawPath(admin, `${other}/big.bin`))];
      if (verb === 'update')
        await admin.call('/api/admin/storage/update', { ...storage, id, addition: JSON.stringify({ ...addition, mkdir_perm: '700' }) });
      else await admin.call(`/api/admin/storage/${verb}?id=${id}`);
      expect(await others.rest()).toBe(SIZE);
      expect(await own.rest()).toBeLessThanOrEqual(SIZE);
      if (verb === 'update') expect((await admin.post('/api/fs/list', { path: mount })).code).toBe(200);
      if (verb !== 'delete') await admin.call(`/api/admin/storage/delete?id=${id}`);
    });
  });

  describe('the storage calls', () => {
    const made = async (rest: Record<string, unknown> = {}) => {
      const root = join(world.outside, world.unique('rows'));
      await mkdir(root);
      const mount_path = `/${world.unique('rows')}`;
      const storage = { mount_path, driver: 'Local', addition: JSON.stringify({ root_folder_path: root, mkdir_perm: '777' }), ...rest };
      return { storage, root, id: Number(at(await admin.call('/api/admin/storage/create', storage), 'id')) };
    };

    test('show every field, with the additions of the driver in full and secrets for administrators', async () => {
      const { id, storage } = await made({ remark: 'note', order_by: 'none', extract_folder: 'front', webdav_policy: 'native_proxy' });
      const shown = await dataOf(admin, `/api/admin/storage/get?id=${id}`);
      expect(shown).toEqual({
        ...{ id, mount_path: storage.mount_path, driver: 'Local', order: 0, cache_expiration: 0, custom_cache_policies: '' },
        ...{
          status: 'work',
          addition: expect.any(String),
          remark: 'note',
          modified: expect.any(String),
          disabled: false,
          disable_index: false,
        },
        ...{
          enable_sign: false,
          order_by: '',
          order_direction: '',
          extract_folder: 'front',
          web_proxy: false,
          webdav_policy: 'native_proxy',
        },
        ...{ proxy_range: false, down_proxy_url: '', disable_proxy_sign: false },
      });
      // Keys that were not given have the value of their type, not the default of the form.
      expect(JSON.parse(String(at(shown, 'addition')))).toMatchObject({ mkdir_perm: '777', show_hidden: false, thumb_concurrency: '' });
      expect(Number.isNaN(Date.parse(String(at(shown, 'modified'))))).toBe(false);
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('list by order, then id', async () => {
      const ids = [(await made({ order: 9 })).id, (await made({ order: 7 })).id, (await made({ order: 9 })).id];
      const content = at(await dataOf(admin, '/api/admin/storage/list'), 'content');
      const shown = Array.isArray(content) ? content.map((storage) => Number(at(storage, 'id'))).filter((id) => ids.includes(id)) : [];
      expect(shown).toEqual([ids[1], ids[0], ids[2]]);
      for (const id of ids) await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('unmount what an update disables, and mount what it enables', async () => {
      const { id, storage } = await made();
      await admin.call('/api/admin/storage/update', { ...storage, id, disabled: true });
      expect((await admin.post('/api/fs/list', { path: storage.mount_path })).code).toBe(500);
      expect(at(await dataOf(admin, `/api/admin/storage/get?id=${id}`), 'status')).toBe('disabled');
      expect(await admin.post('/api/admin/storage/update', { ...storage, id, disabled: false })).toMatchObject({ code: 200, data: null });
      expect((await admin.post('/api/fs/list', { path: storage.mount_path })).code).toBe(200);
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('keep a storage that fails to start again, with the reason', async () => {
      const { id, storage, root } = await made();
      const broken = { ...storage, id, addition: JSON.stringify({ root_folder_path: `${root}-gone`, mkdir_perm: '777' }) };
      const answer = await admin.post('/api/admin/storage/update', broken);
      expect(answer).toMatchObject({ code: 500, message: `failed init storage: root folder ${root}-gone not exists` });
      expect(at(await dataOf(admin, `/api/admin/storage/get?id=${id}`), 'status')).toBe(`root folder ${root}-gone not exists`);
      await admin.call(`/api/admin/storage/disable?id=${id}`);
      expect(await admin.post(`/api/admin/storage/enable?id=${id}`)).toMatchObject({
        code: 500,
        message: `failed load storage: root folder ${root}-gone not exists`,
      });
      await mkdir(`${root}-gone`);
      expect(await admin.post('/api/admin/storage/update', broken)).toMatchObject({ code: 200 });
      await admin.call(`/api/admin/storage/delete?id=${id}`);
    });

    test('take an id from the query, the body or a form, in digits or as a number', async () => {
      const { id } = await made();
      expect(await admin.post('/api/admin/storage/disable', { id })).toMatchObject({ code: 200 });
      expect(await admin.post('/api/admin/storage/enable', { id: String(id) })).toMatchObject({ code: 200 });
      const form = { method: 'POST', path: '/api/admin/storage/delete', body: `id=${id}` };
      const headers = { authorization: admin.token ?? '', 'content-type': 'application/x-www-form-urlencoded' };
      expect((await httpRequest(base, { ...form, headers })).json()).toMatchObject({ code: 200 });
    });

    test('mount nothing that would show the secrets of Wharf itself', async () => {
      for (const root_folder_path of [world.wharf.dataDir, join(world.wharf.dataDir, 'store'), '/']) {
        const storage = {
          mount_path: `/${world.unique('self')}`,
          driver: 'Local',
          addition: JSON.stringify({ root_folder_path, mkdir_perm: '777' }),
        };
        const answer = await admin.post('/api/admin/storage/create', storage);
        expect(answer.message).toMatch(/would show Wharf's own data folder/);
        expect((await admin.post('/api/fs/list', { path: storage.mount_path })).code).toBe(500);
        await admin.call(`/api/admin/storage/delete?id=${at(answer.data, 'id')}`);
      }
    });
  });
}
