import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, at, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { formBody, put, putForm } from '../support/files.ts';
import { ALL_WRITES, dataOf, makePerson, withGuest } from '../support/people.ts';
import { allDone, endOf } from '../support/tasks.ts';
import type { World } from '../support/world.ts';

/** What the web client takes the name of a copy or a move apart with: two pairs of a mount and a path. */
const PLACEMENT_NAME = /^(?:copy|merge|move) \[(.*\/([^/]*)|\/)\]\((.*\/([^/]*)|\/)\) to \[(.*)\]\((.*)\)$/;
const UPLOAD_NAME = /^upload (.+) to \[(.*)\]\((.*)\)$/;

/** Copies, moves and uploads that go on after they were answered. */
export function transfers(world: World): void {
  const { admin, base } = world;

  /** Two storages below one folder: its path in the tree, and their folders on the disk. */
  const twoStorages = async () => {
    const top = `/${world.unique('transfers')}`;
    const disks: string[] = [];
    for (const name of ['one', 'two']) {
      const disk = join(world.outside, `${top.slice(1)}-${name}`);
      await mkdir(disk);
      disks.push(disk);
      const addition = JSON.stringify({ root_folder_path: disk });
      await admin.call('/api/admin/storage/create', { mount_path: `${top}/${name}`, driver: 'Local', addition });
    }
    const [one = '', two = ''] = disks;
    await mkdir(join(one, 'd', 'empty'), { recursive: true });
    for (const name of ['a.txt', 'b.txt']) await writeFile(join(one, 'd', name), `one ${name}`);
    return { top, one, two };
  };
  const place = (caller: Api, verb: 'copy' | 'move', body: Record<string, unknown>) => caller.post(`/api/fs/${verb}`, body);

  describe('transfers', () => {
    test('within a storage nothing is queued and null is answered', async () => {
      const { top, one } = await twoStorages();
      const request = { src_dir: `${top}/one`, dst_dir: `${top}/one/new`, names: ['d'] };
      expect(await place(admin, 'copy', request)).toMatchObject({ code: 200, message: 'success', data: null });
      expect(await readFile(join(one, 'new', 'd', 'a.txt'), 'utf8')).toBe('one a.txt');
      expect(await place(admin, 'move', { ...request, dst_dir: `${top}/one/other` })).toMatchObject({ code: 200, data: null });
      expect((await readdir(one)).sort()).toEqual(['new', 'other']);
    });

    test('to another storage there is one task for each name, in the words of the family, for the admin and for a user below a base path', async () => {
      for (const isAdmin of [true, false]) {
        const { top, one, two } = await twoStorages();
        const caller = isAdmin ? admin : await makePerson(world, { permission: ALL_WRITES, base_path: top });
        const [from, to] = isAdmin ? [`${top}/one`, `${top}/two`] : ['/one', '/two'];
        await writeFile(join(one, 'single'), 'single');
        const answer = await place(caller, 'copy', { src_dir: from, dst_dir: `${to}/into`, names: ['d', 'single'] });
        expect(answer).toMatchObject({
          code: 200,
          data: {
            message: 'Successfully created 2 copy task(s)',
            tasks: [
              { name: `copy [${top}/one](/d) to [${top}/two](/into)`, state: 0 },
              { name: `copy [${top}/one](/single) to [${top}/two](/into)`, state: 0 },
            ],
          },
        });
        await allDone(caller, 'copy', answer.data);
        expect((await readdir(join(two, 'into', 'd'))).sort()).toEqual(['a.txt', 'b.txt', 'empty']);
        const [before, after] = await Promise.all([stat(join(one, 'd', 'a.txt')), stat(join(two, 'into', 'd', 'a.txt'))]);
        expect(Math.abs(after.mtimeMs - before.mtimeMs)).toBeLessThan(1);

        const moved = await place(caller, 'move', { src_dir: from, dst_dir: `${to}/moved`, names: ['d'] });
        expect(moved.data).toMatchObject({ message: 'Successfully created 1 move task(s)' });
        await allDone(caller, 'move', moved.data);
        expect(await readdir(one)).toEqual(['single']);
        expect((await readdir(join(two, 'moved', 'd'))).sort()).toEqual(['a.txt', 'b.txt', 'empty']);

        const done = await dataOf(caller, '/api/task/copy/done');
        const mine = (Array.isArray(done) ? done : []).filter((task) => String(at(task, 'name')).includes(top));
        expect(mine).toHaveLength(2);
        for (const task of mine) expect(at(task, 'name')).toMatch(PLACEMENT_NAME);
        expect(mine).toMatchObject([{ status: 'uploading', progress: 100, error: '' }, {}]);
      }
    });

    test('existing names: refused before anything is queued, skipped, merged or replaced', async () => {
      const { top, two } = await twoStorages();
      await mkdir(join(two, 'd'));
      await writeFile(join(two, 'd', 'a.txt'), 'two a.txt');
      const request = { src_dir: `${top}/one`, dst_dir: `${top}/two`, names: ['d'] };
      for (const verb of ['copy', 'move'] as const) {
        expect(await place(admin, verb, request)).toMatchObject({ code: 403, message: 'file [d] exists', data: null });
        expect(await place(admin, verb, { ...request, skip_existing: true })).toMatchObject({ code: 200, data: null });
      }
      const merged = await place(admin, 'copy', { ...request, merge: true });
      expect(at(merged.data, 'tasks', 0, 'name')).toBe(`merge [${top}/one](/d) to [${top}/two](/)`);
      await allDone(admin, 'copy', merged.data);
      expect(await readFile(join(two, 'd', 'a.txt'), 'utf8')).toBe('two a.txt');
      expect(await readFile(join(two, 'd', 'b.txt'), 'utf8')).toBe('one b.txt');
      await allDone(admin, 'copy', (await place(admin, 'copy', { ...request, overwrite: true })).data);
      expect(await readFile(join(two, 'd', 'a.txt'), 'utf8')).toBe('one a.txt');
    });

    test('a recursive move to another storage goes on as tasks of the list of moves', async () => {
      const { top, one, two } = await twoStorages();
      const answer = await admin.post('/api/fs/recursive_move', {
        src_dir: `${top}/one`,
        dst_dir: `${top}/two/flat`,
        conflict_policy: 'cancel',
      });
      expect(answer).toMatchObject({ code: 200, data: null });
      await waitFor('the files', async () => (await readdir(join(one, 'd'))).join() === 'empty');
      expect((await readdir(join(two, 'flat'))).sort()).toEqual(['a.txt', 'b.txt']);
      await waitFor('the task', async () => {
        const done = await dataOf(admin, '/api/task/move/done');
        return Array.isArray(done) && done.some((task) => at(task, 'name') === `move [${top}/one](/) to [${top}/two](/flat)`);
      });
    });

    test('a guest and a user without the permission queue nothing', async () => {
      const { top, two } = await twoStorages();
      const person = await makePerson(world);
      for (const verb of ['copy', 'move'] as const) {
        const request = { src_dir: `${top}/one`, dst_dir: `${top}/two`, names: ['d'] };
        const denied = { code: 403, message: 'permission denied', data: null };
        expect(await place(person, verb, request)).toMatchObject(denied);
        await withGuest(world, async (guest) => expect(await place(guest, verb, request)).toMatchObject(denied));
      }
      expect(await readdir(two)).toEqual([]);
    });

    test('uploads as tasks are answered when their bodies are safe, and stored then', async () => {
      const { top, two } = await twoStorages();
      for (const [name, send] of [
        ['put.txt', put(admin, base, `${top}/two/new/put.txt`, 'by put', { 'as-task': 'true' })],
        ['form.txt', putForm(admin, base, `${top}/two/new/form.txt`, formBody('file', 'by form'), { 'as-task': 'true' })],
      ] as const) {
        const answer = await send;
        expect(answer).toMatchObject({ code: 200, data: { task: { state: 0, status: 'uploading', progress: 0, error: '' } } });
        expect(at(answer.data, 'task', 'name')).toBe(`upload ${name} to [${top}/two](/new)`);
        expect(at(answer.data, 'task', 'name')).toMatch(UPLOAD_NAME);
        const task = await endOf(admin, 'upload', at(answer.data, 'task', 'id'));
        expect(task).toMatchObject({ state: 2, progress: 100, error: '', status: 'uploading' });
      }
      expect(await readFile(join(two, 'new', 'put.txt'), 'utf8')).toBe('by put');
      expect(await readFile(join(two, 'new', 'form.txt'), 'utf8')).toBe('by form');
    });
  });
}
