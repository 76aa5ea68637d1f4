import { type Api, at, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { put } from '../support/files.ts';
import { ALL_WRITES, dataOf, makePerson, withGuest } from '../support/people.ts';
import { saveSettings, withSettings } from '../support/settings.ts';
import type { World } from '../support/world.ts';

const NOT_AVAILABLE = { code: 404, message: 'search not available', data: null };

/** Paths of the hits, in the order of the answer, and how many there are on all pages. */
export async function searchAs(caller: Api, fields: Record<string, unknown>): Promise<{ paths: string[]; total: unknown }> {
  const { code, message, data } = await caller.post('/api/fs/search', {
    parent: '/',
    keywords: '',
    scope: 0,
    page: 1,
    per_page: 100,
    password: '',
    ...fields,
  });
  if (code !== 200) throw new Error(`search answered ${code}: ${message}`);
  const content = at(data, 'content');
  if (!Array.isArray(content)) throw new Error('the hits are no list');
  return { paths: content.map((hit) => `${String(at(hit, 'parent'))}/${String(at(hit, 'name'))}`), total: at(data, 'total') };
}

/** Builds the index and waits until it is done. */
async function buildIndex(admin: Api): Promise<void> {
  await admin.call('/api/admin/index/build', {});
  await indexDone(admin);
}

export async function indexDone(admin: Api): Promise<unknown> {
  return waitFor(
    'the search index',
    async () => {
      const progress = await dataOf(admin, '/api/admin/index/progress');
      return at(progress, 'is_done') === true ? progress : undefined;
    },
    { withinMs: 60_000 },
  );
}

/** Searching the whole tree with an index, and one folder without. */
export function search(world: World): void {
  const { admin, base } = world;

  describe('search', () => {
    test('is not available without an index, but for one folder', async () => {
      const { path } = await world.folder('unindexed');
      await put(admin, base, `${path}/Found It.txt`, 'text');
      await put(admin, base, `${path}/below/found too.txt`, 'text');
      expect(await admin.post('/api/fs/search', { parent: path, keywords: 'found', page: 1, per_page: 10 })).toMatchObject(NOT_AVAILABLE);
      for (const verb of ['build', 'update', 'stop', 'clear'])
        expect(await admin.post(`/api/admin/index/${verb}`, {})).toMatchObject(NOT_AVAILABLE);
      expect(await searchAs(admin, { parent: path, keywords: 'IT found', in_folder: true })).toEqual({
        paths: [`${path}/Found It.txt`],
        total: 1,
      });
      expect(await searchAs(admin, { parent: path, scope: 1, in_folder: true })).toEqual({ paths: [`${path}/below`], total: 1 });
    });

    test('finds by every word, and counts for each caller what that one may see', async () => {
      const { path } = await world.folder('searched');
      for (const name of ['alpha one.txt', 'team/alpha two.txt', 'team-private/alpha three.txt', 'dark/deep/alpha four.txt'])
        await put(admin, base, `${path}/${name}`, name);
      const rule = {
        id: 0,
        path: `${path}/team-private`,
        password: 'open sesame',
        p_sub: true,
        write: false,
        w_sub: false,
        h_sub: false,
        readme: '',
        r_sub: false,
        header: '',
        header_sub: false,
      };
      await admin.call('/api/admin/meta/create', { ...rule, hide: '' });
      await admin.call('/api/admin/meta/create', { ...rule, path, password: '', p_sub: false, hide: '^dark$' });
      const person = await makePerson(world);
      const member = await makePerson(world, { base_path: `${path}/team` });
      await withSettings(world, { search_index: 'database' }, async () => {
        await buildIndex(admin);
        const all = ['four', 'one', 'three', 'two'];
        const there = {
          one: `${path}/alpha one.txt`,
          two: `${path}/team/alpha two.txt`,
          three: `${path}/team-private/alpha three.txt`,
          four: `${path}/dark/deep/alpha four.txt`,
        };
        expect(await searchAs(admin, { parent: path, keywords: 'ALPHA txt' })).toEqual({
          paths: all.map((each) => at(there, each)),
          total: 4,
        });
        expect(await searchAs(admin, { parent: path, keywords: 'alpha', page: 2, per_page: 3 })).toEqual({ paths: [there.two], total: 4 });
        expect(await searchAs(admin, { parent: `${path}/team`, keywords: 'alpha' })).toEqual({ paths: [there.two], total: 1 });
        expect(await searchAs(person, { parent: path, keywords: 'alpha' })).toEqual({ paths: [there.one, there.two], total: 2 });
        expect(await searchAs(person, { parent: path, keywords: 'alpha', password: 'open sesame' })).toEqual({
          paths: [there.one, there.three, there.two],
          total: 3,
        });
        expect(await searchAs(person, { parent: `${path}/dark`, keywords: 'alpha' })).toEqual({ paths: [], total: 0 });
        expect(await searchAs(member, { keywords: 'alpha' })).toEqual({ paths: [there.two], total: 1 });
        expect(await searchAs(member, { keywords: 'team' })).toEqual({ paths: [], total: 0 });
        await withGuest(world, async (guest) => {
          expect(await searchAs(guest, { parent: path, keywords: 'alpha' })).toEqual({ paths: [there.one, there.two], total: 2 });
        });
        expect(await member.post('/api/fs/search', { parent: '/../..', keywords: 'a', page: 1, per_page: 1 })).toMatchObject({ code: 403 });
        expect(await admin.post('/api/fs/search', { parent: '/', keywords: 'a', per_page: 1 })).toMatchObject({
          code: 400,
          message: "page can't < 1",
        });
        expect(await admin.post('/api/fs/search', { parent: '/', keywords: 'a', page: 1 })).toMatchObject({
          code: 400,
          message: "per_page can't < 1",
        });
        const progress = await dataOf(admin, '/api/admin/index/progress');
        expect(progress).toMatchObject({ is_done: true, error: '' });
        const shown = async () => at(await dataOf(admin, '/api/admin/setting/get?key=index_progress'), 'value');
        expect(await waitFor('the setting', async () => String(await shown()).includes('"is_done":true'))).toBe(true);
        expect(JSON.parse(String(await shown()))).toMatchObject({ obj_count: expect.any(Number), is_done: true, error: '' });
        for (const verb of ['build', 'update', 'stop', 'clear'])
          expect(await person.post(`/api/admin/index/${verb}`, {})).toMatchObject({ code: 403 });
        expect(await admin.post('/api/admin/index/stop', {})).toMatchObject({ code: 400, message: 'index is not running' });
      });
    });

    test('follows what is written through us, and what an update finds', async () => {
      const { path } = await world.folder('followed');
      const person = await makePerson(world, { permission: ALL_WRITES });
      await withSettings(world, { search_index: 'meilisearch' }, async () => {
        await buildIndex(admin);
        const finds = (keywords: string, ...names: string[]) =>
          waitFor(`${keywords}: ${names}`, async () => {
            const { paths } = await searchAs(admin, { parent: path, keywords });
            return paths.join() === names.map((name) => `${path}/${name}`).join();
          });
        await put(person, base, `${path}/new/deep/zulu.txt`, 'text');
        await finds('zulu', 'new/deep/zulu.txt');
        await person.call('/api/fs/rename', { path: `${path}/new`, name: 'renamed' });
        await finds('zulu', 'renamed/deep/zulu.txt');
        await person.call('/api/fs/mkdir', { path: `${path}/yankee` });
        await finds('yank', 'yankee');
        await person.call('/api/fs/remove', { dir: path, names: ['renamed'] });
        await finds('zulu');
        await person.call('/api/fs/mkdir', { path: `${path}/yankee/x-ray` });
        for (const depth of [{ max_depth: -1 }, {}]) {
          await admin.call('/api/admin/index/update', { paths: [path], ...depth });
          await indexDone(admin);
          await finds('yank', 'yankee');
          await finds('x-ray', 'yankee/x-ray');
        }
        await saveSettings(world, { search_index: 'bleve' });
        expect(await admin.post('/api/admin/index/update', { paths: [path], max_depth: -1 })).toMatchObject({ code: 400 });
        await admin.call('/api/admin/index/clear', {});
        expect(await searchAs(admin, { parent: path })).toEqual({ paths: [], total: 0 });
        expect(await dataOf(admin, '/api/admin/index/progress')).toEqual({ obj_count: 0, is_done: false, last_done_time: null, error: '' });
      });
    });
  });
}
