import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api, at, describeContent, generateContent, httpRequest } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { fetchFile, formBody, namesIn, put, putForm, rawPath } from '../support/files.ts';
import { dataOf } from '../support/people.ts';
import type { World } from '../support/world.ts';

/** The settings that the family shows to everybody (docs/api-family.md#settings). */
const PUBLIC_SETTINGS = [
  'allow_indexed allow_mounted announcement audio_autoplay audio_cover auto_update_index default_page_size external_previews favicon',
  'filename_char_mapping forward_direct_link_params hide_files home_container home_icon iframe_previews logo main_color ocr_api',
  'package_download pagination_type robots_txt search_index settings_layout site_title sso_login_enabled sso_login_platform version',
  'video_autoplay',
].flatMap((line) => line.split(' '));

const MIB = 1024 * 1024;

/** What a person does on the first evening. */
export function tour(world: World): void {
  const { admin, base } = world;

  describe('the tour', () => {
    test('anybody may ask for pong, the public settings, the pages and the description of the API', async () => {
      expect((await httpRequest(base, { path: '/ping' })).text()).toBe('pong');
      const settings = (await api(base).get('/api/public/settings')).data;
      for (const key of PUBLIC_SETTINGS) expect(at(settings, key), key).toBeTypeOf('string');
      expect((await httpRequest(base, { path: '/' })).headers['content-type']).toContain('text/html');
      expect((await httpRequest(base, { path: '/robots.txt' })).status).toBe(200);
      expect([200, 302]).toContain((await httpRequest(base, { path: '/favicon.ico' })).status);
      expect(at((await httpRequest(base, { path: '/api/openapi.json' })).json(), 'openapi')).toBe('3.1.0');
      expect((await api(base).get('/api/public/archive_extensions')).data).toEqual([]);
    });

    test('a login by password and one by its hash each open a session', async () => {
      const hash = createHash('sha256').update(`${world.wharf.adminPassword}-https://github.com/alist-org/alist`).digest('hex');
      const plain = await api(base).call('/api/auth/login', { username: 'admin', password: world.wharf.adminPassword });
      const hashed = await api(base).call('/api/auth/login/hash', { username: 'admin', password: hash });
      for (const data of [plain, hashed]) {
        const token = String(at(data, 'token'));
        expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
        const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
        for (const claim of ['pwd_ts', 'exp', 'iat', 'nbf']) expect(at(claims, claim), claim).toBeTypeOf('number');
        expect(at(claims, 'username')).toBe('admin');
        expect(await dataOf(api(base, token), '/api/me')).toMatchObject({
          username: 'admin',
          role: 2,
          base_path: '/',
          password: '',
          otp: false,
        });
      }
      expect(at(plain, 'token')).not.toBe(at(hashed, 'token'));
    });

    test('the root shows the first storage as a folder', async () => {
      expect(await namesIn(admin, '/')).toContain('local');
      expect(await dataOf(admin, '/api/fs/get?path=/')).toMatchObject({ name: 'root', is_dir: true, size: 0 });
    });

    test('a folder is listed whole, in pages, and empty beyond the last page', async () => {
      const { path, disk } = await world.folder('pages');
      const names = Array.from({ length: 25 }, (_, index) => `file ${String(index).padStart(2, '0')}.txt`);
      await Promise.all(names.map((name) => writeFile(join(disk, name), name)));
      await mkdir(join(disk, 'folder'));
      const all = await namesIn(admin, path);
      expect(all.toSorted()).toEqual([...names, 'folder']);
      const pages = await Promise.all([1, 2, 3, 4].map((page) => admin.call('/api/fs/list', { path, page, per_page: 10 })));
      expect(pages.map((page) => at(page, 'total'))).toEqual([26, 26, 26, 26]);
      const paged = pages.flatMap((page) => {
        const content = at(page, 'content');
        return Array.isArray(content) ? content.map((entry) => at(entry, 'name')) : [];
      });
      expect(paged).toEqual(all);
      const first = await admin.call('/api/fs/list', { path });
      expect(first).toMatchObject({ total: 26, write: true, provider: 'Local', readme: '', header: '' });
      for (const entry of [at(first, 'content', 0), at(first, 'content', 25)]) {
        expect(entry).toMatchObject({ thumb: expect.any(String), type: expect.any(Number), hashinfo: expect.any(String) });
        for (const time of [at(entry, 'modified'), at(entry, 'created')]) expect(Date.parse(String(time))).not.toBeNaN();
      }
      expect(await dataOf(admin, `/api/fs/dirs?path=${path}`)).toMatchObject([{ name: 'folder' }]);
    });

    test('what put and form store comes back byte for byte, whole and in ranges', async () => {
      const { path } = await world.folder('bytes');
      const size = 3 * MIB + 17;
      const content = Buffer.concat([...generateContent('tour', size)]);
      const { sha256 } = describeContent('tour', size);
      expect(await put(admin, base, `${path}/by put.bin`, content)).toMatchObject({
        code: 200,
        data: { task: { state: 2, progress: 100, error: '' } },
      });
      expect(await putForm(admin, base, `${path}/by form.bin`, formBody('file', content))).toMatchObject({
        code: 200,
        data: { task: { state: 2 } },
      });
      for (const name of ['by put.bin', 'by form.bin']) {
        const file = `${path}/${name}`;
        expect(await dataOf(admin, `/api/fs/get?path=${encodeURIComponent(file)}`)).toMatchObject({
          name,
          size,
          is_dir: false,
          provider: 'Local',
        });
        const whole = await fetchFile(admin, base, file);
        expect(whole.status).toBe(200);
        expect(createHash('sha256').update(whole.body).digest('hex')).toBe(sha256);
        const ranges = [`bytes=0-${MIB - 1}`, `bytes=${MIB}-${2 * MIB + 4}`, `bytes=${2 * MIB + 5}-`];
        const parts = await Promise.all(ranges.map((range) => fetchFile(admin, base, file, { range })));
        expect(parts.map((part) => part.status)).toEqual([206, 206, 206]);
        expect(
          createHash('sha256')
            .update(Buffer.concat(parts.map((part) => part.body)))
            .digest('hex'),
        ).toBe(sha256);
      }
    });

    test('every change is seen by the very next call', async () => {
      const { path } = await world.folder('changes');
      await admin.call('/api/fs/mkdir', { path: `${path}/a/b/c` });
      await put(admin, base, `${path}/a/one.txt`, 'one');
      await admin.call('/api/fs/rename', { path: `${path}/a/one.txt`, name: 'two.txt' });
      expect(await namesIn(admin, `${path}/a`)).toEqual(['b', 'two.txt']);
      await admin.call('/api/fs/copy', { src_dir: `${path}/a`, dst_dir: `${path}/a/b`, names: ['two.txt'] });
      await admin.call('/api/fs/move', { src_dir: `${path}/a`, dst_dir: `${path}/a/b/c`, names: ['two.txt'] });
      expect(await namesIn(admin, `${path}/a`)).toEqual(['b']);
      expect(await namesIn(admin, `${path}/a/b`)).toEqual(['c', 'two.txt']);
      expect((await fetchFile(admin, base, `${path}/a/b/c/two.txt`)).text()).toBe('one');
      await admin.call('/api/fs/remove', { dir: `${path}/a`, names: ['b', 'never was'] });
      expect(await namesIn(admin, `${path}/a`)).toEqual([]);
      await admin.call('/api/fs/remove', { dir: path, names: ['a'] });
      expect(await namesIn(admin, path)).toEqual([]);
    });

    test('a folder with all it holds is renamed, copied, moved and removed', async () => {
      const { path } = await world.folder('folders');
      await put(admin, base, `${path}/src/deep/er/file.txt`, 'deep');
      await admin.call('/api/fs/rename', { path: `${path}/src`, name: 'renamed' });
      await admin.call('/api/fs/mkdir', { path: `${path}/dst` });
      await admin.call('/api/fs/copy', { src_dir: path, dst_dir: `${path}/dst`, names: ['renamed'] });
      expect((await fetchFile(admin, base, `${path}/dst/renamed/deep/er/file.txt`)).text()).toBe('deep');
      await admin.call('/api/fs/rename', { path: `${path}/dst/renamed`, name: 'other' });
      await admin.call('/api/fs/move', { src_dir: `${path}/dst`, dst_dir: path, names: ['other'] });
      expect(await namesIn(admin, path)).toEqual(['dst', 'other', 'renamed']);
      await admin.call('/api/fs/remove', { dir: path, names: ['dst', 'other', 'renamed'] });
      expect(await namesIn(admin, path)).toEqual([]);
    });

    test('a taken name is refused unless it may be overwritten or skipped', async () => {
      const { path } = await world.folder('taken');
      for (const [file, text] of [
        ['a/x.txt', 'from a'],
        ['b/x.txt', 'from b'],
        ['b/y.txt', 'y'],
      ])
        await put(admin, base, `${path}/${file}`, text);
      const places = { src_dir: `${path}/a`, dst_dir: `${path}/b`, names: ['x.txt'] };
      expect(await admin.post('/api/fs/copy', places)).toMatchObject({ code: 403, message: 'file [x.txt] exists' });
      expect(await admin.post('/api/fs/move', places)).toMatchObject({ code: 403, message: 'file [x.txt] exists' });
      expect(await admin.post('/api/fs/rename', { path: `${path}/b/y.txt`, name: 'x.txt' })).toMatchObject({
        code: 403,
        message: 'file [x.txt] exists',
      });
      expect(await admin.post('/api/fs/copy', { ...places, skip_existing: true })).toMatchObject({ code: 200 });
      expect((await fetchFile(admin, base, `${path}/b/x.txt`)).text()).toBe('from b');
      expect(await admin.post('/api/fs/copy', { ...places, overwrite: true })).toMatchObject({ code: 200 });
      expect((await fetchFile(admin, base, `${path}/b/x.txt`)).text()).toBe('from a');
      expect(await admin.post('/api/fs/rename', { path: `${path}/b/y.txt`, name: 'x.txt', overwrite: true })).toMatchObject({ code: 200 });
      expect((await fetchFile(admin, base, `${path}/b/x.txt`)).text()).toBe('y');
    });

    test('names of every kind survive the whole way', async () => {
      const { path } = await world.folder('names');
      const names = [
        'spaces  in it',
        '100% + 5 = #?&.txt',
        'quo"te\'s.txt',
        'ünïcode é.txt',
        '日本語.txt',
        '👍🏽.txt',
        'a;b,c:d|e<f>.txt',
        '-rf',
        '.hidden',
        'a..b',
        '...',
        '%2e%2e',
        'ends.',
      ];
      for (const name of names) expect(await put(admin, base, `${path}/${name}`, name), name).toMatchObject({ code: 200 });
      expect((await namesIn(admin, path)).toSorted()).toEqual(names.toSorted());
      for (const name of names) expect((await fetchFile(admin, base, `${path}/${name}`)).text(), name).toBe(name);
      expect(await admin.post('/api/fs/remove', { dir: path, names })).toMatchObject({ code: 200 });
      expect(await namesIn(admin, path)).toEqual([]);
    });

    test('what somebody else changes on the disk is seen', async () => {
      const { path, disk } = await world.folder('disk');
      expect(await namesIn(admin, path)).toEqual([]);
      await writeFile(join(disk, 'from outside.txt'), 'hello');
      expect(await namesIn(admin, path)).toEqual(['from outside.txt']);
    });

    test('addresses that are handed out begin with what the proxy in front says', async () => {
      const { path } = await world.folder('site');
      await put(admin, base, `${path}/f.txt`, 'f');
      const answer = await admin.post(
        '/api/fs/get',
        { path: `${path}/f.txt` },
        { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'files.example:8443' },
      );
      expect(String(at(answer.data, 'raw_url'))).toMatch(/^https:\/\/files\.example:8443\/p\//);
      expect(await rawPath(admin, `${path}/f.txt`)).toMatch(/^\/p\//);
    });
  });
}
