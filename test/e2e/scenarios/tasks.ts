import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, at, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { type EventStream, openEventStream } from '../support/event-stream.ts';
import { ALL_WRITES, dataOf, makePerson, withGuest } from '../support/people.ts';
import type { World } from '../support/world.ts';

const EVENTS = '/api/task/events';
const SUCCEEDED = 2;
const ENDED = [2, 4, 7];

/** Background work as its owner, another user and the administrator see and control it. */
export function tasks(world: World): void {
  const { admin, base } = world;

  /** A folder of the files folder with a file in it, and an empty storage of its own to copy it to. */
  const twoPlaces = async () => {
    const source = await world.folder('tasks');
    const name = `${world.unique('file')}.bin`;
    await writeFile(join(source.disk, name), 'x'.repeat(100_000));
    const root = join(world.outside, world.unique('target'));
    await mkdir(root);
    const mount = `/${world.unique('target')}`;
    await admin.call('/api/admin/storage/create', {
      mount_path: mount,
      driver: 'Local',
      addition: JSON.stringify({ root_folder_path: root }),
    });
    return { source, name, mount };
  };

  /** Copies as somebody, and answers the id of the task that came of it. */
  const copyAs = async (caller: Api, { source, name, mount }: Awaited<ReturnType<typeof twoPlaces>>): Promise<string> => {
    const answer = await caller.call('/api/fs/copy', { src_dir: source.path, dst_dir: mount, names: [name], overwrite: true });
    const task = at(answer, 'tasks', 0);
    expect(task).toMatchObject({ id: expect.stringMatching(/^[\w-]{21}$/), state: expect.any(Number), list: 'copy' });
    return String(at(task, 'id'));
  };

  const info = (caller: Api, id: string) => caller.post(`/api/task/copy/info?tid=${id}`);
  const untilEnded = (caller: Api, id: string) =>
    waitFor(
      `the end of task ${id}`,
      async () => {
        const { data } = await info(caller, id);
        return ENDED.includes(Number(at(data, 'state'))) ? data : undefined;
      },
      { withinMs: 60_000 },
    );
  const listed = async (caller: Api, path: string): Promise<unknown[]> => {
    const data = await dataOf(caller, path);
    return Array.isArray(data) ? data.map((task) => at(task, 'id')) : [];
  };
  const told = (stream: EventStream, id: string) => stream.events.some(({ name, data }) => name === 'task' && at(data, 'id') === id);

  describe('tasks', () => {
    test('a task is seen by its owner and the admin, and is unknown to everybody else, whatever they try (C25)', async () => {
      const place = await twoPlaces();
      const [owner, other] = [await makePerson(world, { permission: ALL_WRITES }), await makePerson(world, { permission: ALL_WRITES })];
      const id = await copyAs(owner, place);
      const ended = await untilEnded(owner, id);
      expect(ended).toMatchObject({
        id,
        name: `copy [/local](${place.source.path.replace('/local', '')}/${place.name}) to [${place.mount}](/)`,
        state: SUCCEEDED,
        progress: 100,
        error: '',
        creator: owner.username,
        creator_role: 0,
        total_bytes: 100_000,
        start_time: expect.stringMatching(/^\d{4}-/),
        end_time: expect.stringMatching(/^\d{4}-/),
        paused: false,
      });

      expect(await listed(owner, '/api/task/copy/done')).toContain(id);
      expect(await listed(owner, '/api/task/move/done')).not.toContain(id);
      expect(await listed(admin, '/api/task/copy/done')).toContain(id);
      expect(await listed(admin, '/api/admin/task/copy/done?page=1&per_page=500')).toContain(id);
      for (const list of ['done', 'undone']) expect(await listed(other, `/api/task/copy/${list}`)).not.toContain(id);

      const unknown = { code: 404, message: 'task not found', data: null };
      for (const verb of ['info', 'cancel', 'delete', 'retry', 'pause', 'resume']) {
        expect(await other.post(`/api/task/copy/${verb}?tid=${id}`), verb).toMatchObject(unknown);
        expect(await owner.post(`/api/task/move/${verb}?tid=${id}`), `another list, ${verb}`).toMatchObject(unknown);
        expect(await other.post(`/api/admin/task/copy/${verb}?tid=${id}`), verb).toMatchObject({
          code: 403,
          message: 'You are not an admin',
        });
      }
      for (const verb of ['cancel_some', 'delete_some', 'retry_some'])
        expect(await other.call(`/api/task/copy/${verb}`, [id, 'none'])).toEqual({ [id]: 'task not found', none: 'task not found' });
      for (const verb of ['clear_done', 'clear_succeeded', 'retry_failed']) await other.call(`/api/task/copy/${verb}`);
      expect((await info(owner, id)).data).toEqual(ended);
      await withGuest(world, async (guest) => {
        expect(await guest.post(`/api/task/copy/info?tid=${id}`)).toMatchObject({ code: 403, message: 'You are a guest' });
      });

      expect(await owner.post(`/api/task/copy/cancel?tid=${id}`)).toMatchObject({ code: 200, data: null });
      expect((await info(owner, id)).data).toEqual(ended);
      expect(await owner.call('/api/task/copy/delete_some', [id, 'none'])).toEqual({ none: 'task not found' });
      expect(await info(admin, id)).toMatchObject(unknown);
    });

    test('events tell each watcher of its own tasks alone, from the snapshot to the removal, and end with the login', async () => {
      const place = await twoPlaces();
      const [owner, other] = [await makePerson(world, { permission: ALL_WRITES }), await makePerson(world, { permission: ALL_WRITES })];
      const before = await copyAs(owner, place);
      await untilEnded(owner, before);
      const streams = await Promise.all([
        openEventStream(base, EVENTS, owner),
        openEventStream(base, EVENTS, other, { 'last-event-id': before }),
        openEventStream(base, EVENTS, admin),
      ]);
      const [owners, others, admins] = streams;
      try {
        await waitFor('the snapshots', () => streams.every(({ events }) => events.length > 0) || undefined);
        expect(owners.events[0]).toEqual({ name: 'snapshot', data: [expect.objectContaining({ id: before, state: SUCCEEDED })] });
        expect(others.events[0]).toEqual({ name: 'snapshot', data: [] });

        const later = await copyAs(owner, place);
        await waitFor('the new task', () => (told(owners, later) && told(admins, later)) || undefined, { withinMs: 20_000 });
        await untilEnded(owner, later);
        await owner.call(`/api/task/copy/delete?tid=${later}`);
        const isRemoved = ({ events }: EventStream) => events.some(({ name, data }) => name === 'removed' && at(data, 'id') === later);
        await waitFor('the removal', () => (isRemoved(owners) && isRemoved(admins)) || undefined, { withinMs: 20_000 });

        const own = await copyAs(other, place);
        await waitFor('the own task', () => told(others, own) || undefined, { withinMs: 20_000 });
        for (const foreign of [before, later, owner.username]) expect(JSON.stringify(others.events)).not.toContain(foreign);
        expect(JSON.stringify(owners.events)).not.toContain(own);

        await dataOf(owner, '/api/auth/logout');
        await waitFor('the end of the stream', () => owners.isOver() || undefined, { withinMs: 20_000 });
        expect(others.isOver()).toBe(false);
      } finally {
        for (const stream of streams) stream.close();
      }
    });
  });
}
