import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { httpRequest, waitFor } from '@wharf/harness';
import type { ListEntriesResponse } from '@wharf/proto/fs';
import type { Identity } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { pngOf } from '../src/thumbnails/testing/pictures.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let folder: string;
let one: Replica;
let two: Replica;
/** Keeps listings for half an hour. */
const cached = createTestDriver('Cached', ['listNames', 'statMany']);
let last = 0;

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  one = await installation.open([localDriver, cached.definition]);
  two = await installation.open([localDriver, cached.definition]);
});
afterAll(() => installation?.close());

async function names(from: Replica, path: string, identity: Identity = USER, admin = 0, password = ''): Promise<string[]> {
  const messages: ListEntriesResponse[] = [];
  for await (const message of from.fs.listEntries({ path, password }, installation.as(identity, { admin }))) messages.push(message);
  return messages.flatMap(({ entries }) => entries.map(({ name }) => name)).sort();
}
const refused = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: { code: string }) => error.code,
  );
/** Opens a storage that both replicas keep listings of, with one file in a folder. */
async function mountCached(): Promise<{ path: string; id: number; revision: number }> {
  const id = 100 + ++last;
  await cached.storeOf(`s${id}`).write(mpath('/d/first'), bytesOf('first'), { overwrite: true });
  const revision = await installation.writeStorage({ _id: id, mount_path: `/c${id}`, driver: 'Cached', addition: `{"store":"s${id}"}` });
  const path = `/c${id}/d`;
  for (const each of [one, two]) expect(await names(each, path, USER, revision)).toEqual(['first']);
  return { path, id, revision };
}

const CHANGES: ReadonlyArray<[string, (path: string, revision: number) => Promise<unknown>, string[]]> = [
  ['a new folder', (path) => one.fs.makeDirectory({ path: `${path}/made` }, installation.as(USER)), ['first', 'made']],
  ['another name', (path) => one.fs.renameEntry({ path: `${path}/first`, name: 'renamed' }, installation.as(USER)), ['renamed']],
  ['a removal', (path) => one.fs.removeEntries({ dir: path, names: ['first'] }, installation.as({ ...USER, permission: 0xffff })), []],
];

it('of puts with If-Match that come through both replicas at the same moment one is taken', async () => {
  const login = await installation.login({ id: 5, permission: 0b1000 });
  const put = ({ url }: Replica, body: string, headers: Record<string, string> = {}) =>
    httpRequest(url, { method: 'PUT', path: '/api/fs/put', headers: { Authorization: login, 'File-Path': '/l/shared', ...headers }, body });
  for (let round = 0; round < 10; round += 1) {
    const etag = String((await put(one, 'first')).headers['etag']);
    const saves = Array.from({ length: 6 }, (_, index) => `save ${index}`);
    const answers = await Promise.all(saves.map((text, index) => put(index % 2 === 0 ? one : two, text, { 'If-Match': etag })));
    const codes = answers.map((answer) => (answer.json() as { code: number }).code);
    const [saved, ...lost] = saves.filter((_, index) => codes[index] === 200);
    expect(lost, `round ${round}`).toEqual([]);
    expect(await readFile(`${folder}/shared`, 'utf8')).toBe(saved);
  }
});

describe('what changed through one replica', () => {
  it.each(CHANGES)('is seen through the other as soon as the bus says so: %s', async (_what, change, expected) => {
    const { path, revision } = await mountCached();
    await change(path, revision);
    expect(await names(one, path)).toEqual(expected);
    await waitFor('the event', async () => (await names(two, path)).join() === expected.join());
  });

  it.each(CHANGES)(
    'is seen within seconds without a bus, though listings are kept for half an hour: %s',
    async (_what, change, expected) => {
      const { path, revision } = await mountCached();
      installation.cutBus();
      try {
        await change(path, revision);
        expect(await names(one, path)).toEqual(expected);
        await waitFor('the change in the store', async () => (await names(two, path)).join() === expected.join(), { withinMs: 20_000 });
      } finally {
        installation.mendBus();
      }
    },
  );

  it('on a Local storage is seen at once, bus or not: nothing of it is kept unchecked', async () => {
    const folder = `${installation.dir}/local-${++last}`;
    await mkdir(folder);
    const addition = JSON.stringify({ root_folder_path: folder });
    const revision = await installation.writeStorage({ _id: 90, mount_path: '/local', addition });
    for (const each of [one, two]) expect(await names(each, '/local', USER, revision)).toEqual([]);
    installation.cutBus();
    try {
      for (const name of ['a', 'b', 'c']) {
        await one.fs.makeDirectory({ path: `/local/${name}` }, installation.as(USER));
        expect(await names(two, '/local')).toContain(name);
      }
    } finally {
      installation.mendBus();
    }
  });
});

describe('what is kept of a folder shows nobody more than they may see (C8)', () => {
  it('neither another user, nor anybody after a rule closed or hid it, on either replica', async () => {
    const { path, id } = await mountCached();
    await cached.storeOf(`s${id}`).write(mpath('/d/secret'), bytesOf('x'), { overwrite: true });
    const admin = ADMIN;
    const outsider = { ...USER, id: 77, username: 'outsider', permission: 0 } as const;
    // Both replicas keep the listing as somebody saw it who may see everything.
    for (const each of [one, two]) {
      for await (const _ of each.fs.listEntries({ path, refresh: true }, installation.as(admin)));
      expect(await names(each, path, admin)).toEqual(['first', 'secret']);
      expect(await names(each, path, outsider)).toEqual(['first', 'secret']);
    }
    const hidden = await installation.writeRule({ _id: 200 + id, path, hide: '^secret$' });
    for (const each of [one, two]) {
      expect(await names(each, path, outsider, hidden)).toEqual(['first']);
      expect(await refused(each.fs.getEntry({ path: `${path}/secret` }, installation.as(outsider)))).toBe('PERMISSION_DENIED');
      expect(await names(each, path, admin)).toEqual(['first', 'secret']);
    }
    const closed = await installation.writeRule({ _id: 200 + id, path, password: 'pw', p_sub: true });
    for (const each of [one, two]) {
      expect(await refused(names(each, path, outsider, closed))).toBe('PERMISSION_DENIED');
      expect(await names(each, path, outsider, closed, 'pw')).toEqual(['first', 'secret']);
    }
    const readers = await installation.writeRule({ _id: 200 + id, path, read_users: [USER.id], read_users_sub: true });
    for (const each of [one, two]) {
      expect(await refused(names(each, path, outsider, readers, 'pw'))).toBe('PERMISSION_DENIED');
      expect(await names(each, path, USER, readers)).toEqual(['first', 'secret']);
    }
  });

  it('and is gone with the storage, on either replica', async () => {
    const { path, id } = await mountCached();
    const revision = await installation.writeStorage({ _id: id, mount_path: `/c${id}`, driver: 'Cached', disabled: true });
    for (const each of [one, two]) expect(await refused(names(each, path, ADMIN, revision))).toMatch(/NOT_FOUND/);
  });
});

describe('a link', () => {
  it('dies on every replica with the token that it was signed with, thumbnails with it', async () => {
    const folder = `${installation.dir}/pictures`;
    await mkdir(folder);
    await writeFile(`${folder}/p.png`, pngOf(20, 10));
    const addition = JSON.stringify({ root_folder_path: folder, thumbnail: true });
    const admin = await installation.writeStorage({ _id: 95, mount_path: '/pictures', addition });
    const links = ['/d/pictures/p.png?', '/d/pictures/p.png?type=thumb&', '/p/pictures/p.png?'].map(
      (start) => `${start}${installation.sign('/pictures/p.png')}`,
    );
    const statuses = async (paths = links) =>
      Promise.all([one, two].flatMap((each) => paths.map(async (path) => (await httpRequest(each.url, { path })).status)));
    for (const each of [one, two]) await names(each, '/pictures', ADMIN, admin);
    expect(await statuses()).toEqual(Array(6).fill(200));

    await installation.writeToken('another-permanent-token-of-tests');
    await waitFor('the new token', async () => (await statuses()).every((status) => status === 401));
    const renewed = links.map((link) => link.replace(/sign=.*/, installation.sign('/pictures/p.png')));
    expect(await statuses(renewed)).toEqual(Array(6).fill(200));

    // Without a bus the old token is forgotten within the age of what replicas keep.
    installation.cutBus();
    try {
      await installation.writeToken('a-third-permanent-token-of-tests');
      await waitFor('the third token', async () => (await statuses(renewed)).every((status) => status === 401), { withinMs: 20_000 });
    } finally {
      installation.mendBus();
    }
  });
});
