import { createHash } from 'node:crypto';
import { type Api, at, download, login, waitFor } from '@wharf/harness';
import type { Composed } from './composed.ts';
import type { Step } from './load.ts';
import { sourceDigest, sourceUrl } from './source.ts';

const SUCCEEDED = 2;
const ENDED: readonly unknown[] = [SUCCEEDED, 4, 7];
const TASK_WITHIN_MS = 60_000;
const FETCHED_BYTES = 100_000;
const UPLOADED_BYTES = 4_096;

/**
 * What clients do beside the steps of every load, so that each service is asked by each that asks it: files, people and rules, a storage with a copy to it
 * that is a task, a download from the source container.
 */
export async function workSteps(composed: Composed, caller: Api): Promise<Readonly<Record<string, Step>>> {
  const base = composed.balancer.url;
  const digest = await sourceDigest(composed, FETCHED_BYTES);
  const linkOf = async (path: string) => {
    const { pathname, search } = new URL(String(at(await caller.call('/api/fs/get', { path }), 'raw_url')));
    return pathname + search;
  };
  const read = async (path: string) => {
    const { code, message, data } = await caller.get(path);
    if (code !== 200) throw new Error(`${path}: ${code} ${message}`);
    return data;
  };
  /** The id of the one entry of a list that has this value. */
  const idOf = async (list: string, key: string, value: string) => {
    const content = at(await read(list), 'content');
    const id = Array.isArray(content)
      ? at(
          content.find((one) => at(one, key) === value),
          'id',
        )
      : undefined;
    if (typeof id !== 'number') throw new Error(`${list} has no ${value}`);
    return id;
  };
  const ended = async (kind: string, tasks: unknown) => {
    const id = at(tasks, 'tasks', 0, 'id');
    let task: unknown;
    const hasEnded = async () => {
      task = await caller.call(`/api/task/${kind}/info?tid=${id}`, {});
      return ENDED.includes(at(task, 'state'));
    };
    await waitFor(`task ${id} to end`, hasEnded, { withinMs: TASK_WITHIN_MS, everyMs: 200 });
    if (at(task, 'state') !== SUCCEEDED) throw new Error(`a task failed: ${at(task, 'error')}`);
    await caller.call(`/api/task/${kind}/delete?tid=${id}`);
  };
  return {
    range: async (path, content) => {
      const headers = { range: 'bytes=1000-1999' };
      const { sha256 } = await download(base, { path: await linkOf(path), headers });
      if (sha256 !== createHash('sha256').update(content.subarray(1_000, 2_000)).digest('hex')) throw new Error('other bytes');
    },
    folders: async (path) => {
      await caller.call('/api/fs/mkdir', { path: `${path}-d/one/two` });
      await caller.call('/api/fs/rename', { path: `${path}-d/one`, name: 'three' });
      await caller.call('/api/fs/copy', { src_dir: `${path}-d`, dst_dir: `${path}-d/four`, names: ['three'] });
      await caller.call('/api/fs/remove', { dir: `${path}-d`, names: ['three'] });
      await caller.call('/api/fs/dirs', { path: `${path}-d/four/three` });
    },
    people: async (path) => {
      const username = path.slice(path.lastIndexOf('/') + 1);
      const fields = { username, password: `of ${username}`, base_path: path.slice(0, path.lastIndexOf('/')), permission: 8, role: 0 };
      await caller.call('/api/admin/user/create', fields);
      const person = await login(base, username, fields.password);
      await person.call('/api/fs/mkdir', { path: `/${username}-own` });
      const id = await idOf('/api/admin/user/list?page=1&per_page=0', 'username', username);
      await caller.call(`/api/admin/user/delete?id=${id}`);
      if ((await person.get('/api/me')).code === 200) throw new Error('somebody who was removed is still known');
    },
    rules: async (path) => {
      await caller.call('/api/admin/meta/create', { path: `${path}-d`, readme: 'read me', r_sub: true });
      if (at(await caller.call('/api/fs/list', { path: `${path}-d` }), 'readme') !== 'read me') throw new Error('the rule is not known');
      await caller.call(`/api/admin/meta/delete?id=${await idOf('/api/admin/meta/list?page=1&per_page=0', 'path', `${path}-d`)}`);
    },
    storage: async (path) => {
      const mount = `/of-${path.slice(path.lastIndexOf('/') + 1)}`;
      const addition = JSON.stringify({ root_folder_path: `${path.replace('/local/', '/files/')}-d` });
      await caller.call('/api/admin/storage/create', { mount_path: mount, driver: 'Local', addition });
      const [, folder = '', name = ''] = /^(.*)\/([^/]*)$/.exec(path) ?? [];
      await ended('copy', await caller.call('/api/fs/copy', { src_dir: folder, dst_dir: `${mount}/copied`, names: [name] }));
      if ((await download(base, { path: await linkOf(`${mount}/copied/${name}`) })).sizeBytes !== UPLOADED_BYTES)
        throw new Error('the copy is not whole');
      await caller.call(`/api/admin/storage/delete?id=${await idOf('/api/admin/storage/list?page=1&per_page=0', 'mount_path', mount)}`);
    },
    fetch: async (path) => {
      const target = { path: `${path}-d/fetched`, tool: 'SimpleHttp', delete_policy: 'delete_always' };
      await ended(
        'offline_download',
        await caller.call('/api/fs/add_offline_download', { urls: [sourceUrl('file.bin', FETCHED_BYTES)], ...target }),
      );
      if ((await download(base, { path: await linkOf(`${path}-d/fetched/file.bin`) })).sha256 !== digest)
        throw new Error('other bytes were fetched');
    },
  };
}
