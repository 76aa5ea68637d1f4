import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { waitFor } from '@wharf/harness';
import type { ListEntriesRequest, ListEntriesResponse } from '@wharf/proto/fs';
import { createInternalTokens, outgoingCall } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { ADMIN, type Installation, openInstallation, type Replica, SERVICE, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
let other: Replica;
const cached = createTestDriver('Cached', ['listNames', 'statMany']);

beforeAll(async () => {
  installation = await openInstallation();
  replica = await installation.open([localDriver, cached.definition]);
  other = await installation.open([localDriver, cached.definition]);
});
afterAll(() => installation?.close());

type Options = ReturnType<Installation['as']>;

async function list(from: Replica, request: Partial<ListEntriesRequest>, options: Options = installation.as()) {
  const messages: ListEntriesResponse[] = [];
  for await (const message of from.fs.listEntries(request, options)) messages.push(message);
  return { messages, listing: messages[0]?.listing, names: messages.flatMap(({ entries }) => entries.map(({ name }) => name)) };
}

/** A folder of this machine, mounted. Answers its path and the revision that shows it. */
async function mountFolder(id: number, mount_path: string): Promise<{ folder: string; revision: number }> {
  const folder = `${installation.dir}/folder-${id}`;
  await mkdir(folder, { recursive: true });
  const revision = await installation.writeStorage({ _id: id, mount_path, addition: JSON.stringify({ root_folder_path: folder }) });
  return { folder, revision };
}

describe('a call', () => {
  it('that knows the newest revision sees it at once; another one within an event', async () => {
    await list(replica, {}).catch(() => undefined);
    const { folder, revision } = await mountFolder(10, '/fresh');
    await writeFile(`${folder}/f`, 'text');
    expect((await list(replica, { path: '/fresh' }, installation.as(ADMIN, { admin: revision }))).names).toEqual(['f']);

    const again = await mountFolder(11, '/later');
    await writeFile(`${again.folder}/g`, 'text');
    installation.announce(again.revision);
    const seen = await waitFor('the event', async () => (await list(other, { path: '/later' })).names);
    expect(seen).toEqual(['g']);
  });

  it('without an identity, or with one that is not ours, is refused', async () => {
    const forged = outgoingCall(createInternalTokens(randomBytes(32), Date.now), {
      identity: ADMIN,
      requestId: 'x',
      revisions: { auth: 0, admin: 0 },
    });
    for (const options of [{}, forged]) await expect(list(replica, {}, options)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(list(replica, {}, installation.as(SERVICE))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(replica.fs.reloadStorage({ id: 10 }, installation.as(ADMIN))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(replica.fs.getLink({ path: '/fresh/f' }, installation.as(USER))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

it('100,000 entries come in chunks, in order, and a page of them is a page', async () => {
  const { folder, revision } = await mountFolder(20, '/big');
  await promisify(execFile)('sh', ['-c', 'cd "$1" && seq -f "%06.0f" 1 100000 | xargs touch', 'sh', folder]);
  const known = installation.as(USER, { admin: revision });
  const { messages, listing, names } = await list(replica, { path: '/big', page: 1, per_page: 0 }, known);
  expect(listing).toMatchObject({ total: 100_000, provider: 'Local', write: true });
  expect(messages.length).toBeGreaterThan(10);
  expect(messages.slice(1).some(({ listing: again }) => again)).toBe(false);
  expect(names).toHaveLength(100_000);
  expect(names).toEqual(names.toSorted());
  const page = await list(replica, { path: '/big', page: 334, per_page: 300 }, known);
  expect(page.names).toEqual(names.slice(99_900));
  expect(page.listing?.total).toBe(100_000);
}, 180_000);

describe('a listing as JSON', () => {
  const written = async (request: Partial<ListEntriesRequest>, options: Options) => {
    const { messages } = await list(replica, { ...request, as_json: true }, options);
    return JSON.parse(`[${messages.map(({ entries_utf8 }) => Buffer.from(entries_utf8)).join(',')}]`);
  };

  it('has the entries of the other form, with their digests as an object', async () => {
    const { folder, revision } = await mountFolder(21, '/written');
    const known = installation.as(USER, { admin: revision });
    expect(await written({ path: '/written' }, known)).toEqual([]);
    await mkdir(`${folder}/directory`);
    await writeFile(`${folder}/"quoted", na\u2028me.txt`, 'text');
    const { messages } = await list(replica, { path: '/written' }, known);
    const entries = messages.flatMap((message) => message.entries).map((entry) => ({ ...entry, hash_info: null }));
    expect(entries).toHaveLength(2);
    expect(await written({ path: '/written' }, known)).toEqual(entries);
  });

  it('shows each change, and to each caller what is theirs to see', async () => {
    const { folder, revision } = await mountFolder(22, '/rewritten');
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six', 'seven']) await writeFile(`${folder}/${name}`, name);
    const known = installation.as(USER, { admin: revision });
    const first = await written({ path: '/rewritten' }, known);
    expect(await written({ path: '/rewritten' }, known)).toEqual(first);
    for (let size = 10; size < 20; size += 1) {
      await writeFile(`${folder}/three`, 'x'.repeat(size));
      expect(await written({ path: '/rewritten' }, known)).toContainEqual(expect.objectContaining({ name: 'three', size }));
    }
    const guarded = await installation.writeRule({ _id: 31, path: '/rewritten/three', password: 'pw' });
    const later = { admin: guarded };
    const signOf = async (options: Options, password = '') =>
      (await written({ path: '/rewritten', password }, options)).find(({ name }: { name: string }) => name === 'three')?.sign;
    expect(await signOf(installation.as(USER, later))).toBe('');
    expect(await signOf(installation.as(ADMIN, later))).not.toBe('');
    expect(await signOf(installation.as(USER, later))).toBe('');
    expect(await signOf(installation.as(USER, later), 'pw')).not.toBe('');
    await installation.writeRule({ _id: 31, path: '/nowhere' });
  });
});

it('rules hide, guard and explain', async () => {
  const { folder, revision } = await mountFolder(30, '/ruled');
  for (const name of ['plain', 'secret']) await writeFile(`${folder}/${name}`, name);
  await installation.writeRule({ _id: 30, path: '/ruled', hide: '^secret$', password: 'pw', readme: '# read me' });
  const latest = await installation.writeSetting('sign_all', 'false');
  expect(latest).toBeGreaterThan(revision);
  const known = installation.as(USER, { admin: latest });
  await expect(list(replica, { path: '/ruled' }, known)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'password is incorrect or you have no permission',
  });
  const { listing, names } = await list(replica, { path: '/ruled', password: 'pw' }, known);
  expect(names).toEqual(['plain']);
  expect(listing).toMatchObject({ readme: '# read me', total: 1 });
  await expect(replica.fs.getEntry({ path: '/ruled/secret', password: 'pw' }, known)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await installation.writeRule({ _id: 30, path: '/nowhere' });
});

describe('two replicas', () => {
  it('take over what they write themselves, and drop what they keep when the other writes', async () => {
    await cached.storeOf('shared').write(mpath('/d/old'), bytesOf(''), { overwrite: true });
    const revision = await installation.writeStorage({ _id: 40, mount_path: '/cached', driver: 'Cached', addition: '{"store":"shared"}' });
    const known = installation.as(USER, { admin: revision });
    const read = async (from: Replica) => (await list(from, { path: '/cached/d' }, known)).names;
    expect([await read(replica), await read(other)]).toEqual([['old'], ['old']]);
    await cached.storeOf('shared').write(mpath('/d/unseen'), bytesOf(''), { overwrite: true });
    expect(await read(other)).toEqual(['old']);
    await replica.fs.makeDirectory({ path: '/cached/d/made' }, known);
    expect(await read(replica)).toEqual(['old', 'made']);
    expect(await waitFor('the event', async () => (await read(other)).includes('made'))).toBe(true);
    expect(await read(other)).toEqual(['old', 'unseen', 'made']);
  });

  it('each open a storage anew when its settings change, and keep nothing of the old ones', async () => {
    await cached.storeOf('moved').write(mpath('/d/new place'), bytesOf(''), { overwrite: true });
    const revision = await installation.writeStorage({ _id: 40, mount_path: '/cached', driver: 'Cached', addition: '{"store":"moved"}' });
    for (const each of [replica, other])
      expect((await list(each, { path: '/cached/d' }, installation.as(USER, { admin: revision }))).names).toEqual(['new place']);
  });
});

describe('reloading a storage', () => {
  it('says how it went, and the storage works on without any other change', async () => {
    const { folder, revision } = await mountFolder(50, '/again');
    await writeFile(`${folder}/f`, '');
    const known = installation.as(SERVICE, { admin: revision });
    for (let time = 0; time < 2; time += 1)
      expect(await replica.fs.reloadStorage({ id: 50 }, known)).toMatchObject({
        status: 'work',
        addition: expect.stringContaining(`"root_folder_path":"${folder}"`),
      });
    expect((await list(replica, { path: '/again' })).names).toEqual(['f']);
  });

  it('of one that is disabled, gone, or cannot start says so', async () => {
    await installation.writeStorage({ _id: 51, mount_path: '/off', disabled: true });
    const missing = JSON.stringify({ root_folder_path: `${installation.dir}/none` });
    const revision = await installation.writeStorage({ _id: 52, mount_path: '/bad', addition: missing, status: '' });
    const known = installation.as(SERVICE, { admin: revision });
    expect((await replica.fs.reloadStorage({ id: 51 }, known)).status).toBe('disabled');
    expect((await replica.fs.reloadStorage({ id: 99 }, known)).status).toBe('');
    expect((await replica.fs.reloadStorage({ id: 52 }, known)).status).toMatch(/not exist/);
    await expect(list(replica, { path: '/bad' })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await waitFor('the report', () => replica.reports.some(({ id }) => id === 52));
    expect((await list(replica, { path: '/' })).names).toContain('bad');
  });
});
