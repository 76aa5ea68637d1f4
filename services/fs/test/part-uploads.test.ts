import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type HttpRequest, httpRequest, waitFor } from '@wharf/harness';
import { accountsChanged, writeSessionModelOf } from '@wharf/models';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;
/** Two parts of 1 MiB and one of 5 bytes. */
const FILE = randomBytes(2 * MIB + 5);
const part = (index: number) => FILE.subarray(index * MIB, (index + 1) * MIB);

let installation: Installation;
let one: Replica;
let other: Replica;
let folder: string;
let login: string;
let limited: string;
/** Takes whole files only. */
const plain = createTestDriver('Plain', []);

beforeAll(async () => {
  installation = await openInstallation();
  folder = `${installation.dir}/files`;
  await mkdir(folder);
  await installation.writeStorage({ _id: 1, mount_path: '/l', addition: JSON.stringify({ root_folder_path: folder }) });
  await installation.writeStorage({ _id: 2, mount_path: '/p', driver: 'Plain' });
  login = await installation.login({ id: 5, permission: WRITE });
  limited = await installation.login({ id: 9, permission: WRITE, base_path: '/l/limited', quota_bytes: MIB + 1 });
  one = await installation.open([localDriver, plain.definition]);
  other = await installation.open([localDriver, plain.definition]);
});
afterAll(() => installation?.close());
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(`${folder}/${name}`, { recursive: true });
});

interface Asked {
  readonly as?: string;
  readonly at?: Replica;
  readonly headers?: Record<string, string>;
  readonly body?: HttpRequest['body'];
}
/** What is looked at of an answer. */
interface Answer {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly upload_id: string };
}
const call = async (method: string, name: string, { as = login, at = one, headers = {}, body = '' }: Asked = {}): Promise<Answer> => {
  const path = `/api/fs/multipart/${name}`;
  return (await httpRequest(at.url, { method, path, headers: { Authorization: as, ...headers }, body })).json() as Answer;
};
const init = (path: string, asked: Asked = {}, size = FILE.byteLength) =>
  call('POST', 'init', {
    ...asked,
    headers: { 'File-Path': encodeURIComponent(path), 'X-File-Size': `${size}`, 'X-Chunk-Size': '1', ...asked.headers },
  });
const begin = async (path: string, asked: Asked = {}, size?: number): Promise<string> => (await init(path, asked, size)).data.upload_id;
const chunk = (id: string, index: number | string, body: HttpRequest['body'], asked: Asked = {}) =>
  call('PUT', 'chunk', { ...asked, headers: { 'X-Upload-Id': id, 'X-Chunk-Index': `${index}`, ...asked.headers }, body });
const end = (name: 'complete' | 'abort', id: string, asked: Asked = {}) => call('POST', name, { ...asked, headers: { 'X-Upload-Id': id } });
/** Everything below the folder but what drivers keep for themselves. */
const files = async () => (await readdir(folder, { recursive: true })).filter((name) => !/^\.wharf-tmp$/.test(name));
const hash = (name: string, content = FILE) => createHash(name).update(content).digest('hex');

describe('an upload in parts', () => {
  it('takes parts in any order and at once, through any replica, and gives the file its name when it is whole', async () => {
    const begun = await init('/l/new/file.bin', { headers: { 'Last-Modified': '1700000000000' } });
    expect(begun).toMatchObject({ code: 200, message: 'success' });
    expect(begun.data).toEqual({
      ...{ upload_id: expect.stringMatching(/^[0-9a-f]{32}$/), state: 'receiving', attempt: 1, path: '/new/file.bin', resumed: false },
      ...{ size: FILE.byteLength, chunk_size: MIB, total_chunks: 3, received: [], received_bytes: 0, frontier: 0, storage_progress: 0 },
      path: '/l/new/file.bin',
    });
    const id = begun.data.upload_id;
    expect((await chunk(id, 2, part(2), { at: other })).data).toMatchObject({ received: [[2, 2]], received_bytes: 5, frontier: 0 });
    expect(await end('complete', id)).toMatchObject({ code: 400, data: { state: 'receiving' } });
    await Promise.all([chunk(id, 0, part(0)), chunk(id, 1, part(1), { at: other })]);
    expect((await call('GET', `status?upload_id=${id}`, { at: other })).data).toMatchObject({ received: [[0, 2]], frontier: 3 });
    expect((await call('GET', `status?path=/l/new/file.bin&size=${FILE.byteLength}`)).data).toMatchObject({ upload_id: id });
    expect(await files()).not.toContain('new/file.bin');
    expect((await end('complete', id, { at: other })).data).toMatchObject({
      state: 'completed',
      received_bytes: FILE.byteLength,
      storage_progress: 100,
    });
    expect(FILE.equals(await readFile(`${folder}/new/file.bin`))).toBe(true);
    expect((await files()).toSorted()).toEqual(['new', 'new/file.bin']);
    // Whoever did not hear the answer asks again.
    expect((await end('complete', id)).data).toMatchObject({ state: 'completed' });
    expect(await call('GET', `status?path=/l/new/file.bin&size=${FILE.byteLength}`)).toMatchObject({ code: 404, data: null });
  });

  it('takes a part again without harm, and refuses other bytes for it', async () => {
    const id = await begin('/l/again');
    await chunk(id, 0, part(0));
    expect(await chunk(id, 0, part(0), { at: other })).toMatchObject({ code: 200, data: { received: [[0, 0]] } });
    expect(await chunk(id, 0, part(1))).toMatchObject({
      code: 400,
      message: 'part 0 was sent before with other bytes',
      data: { state: 'receiving' },
    });
    await chunk(id, 1, part(1));
    await chunk(id, 2, part(2));
    expect(await end('complete', id)).toMatchObject({ code: 200 });
    expect(FILE.equals(await readFile(`${folder}/again`))).toBe(true);
  });

  it.each(['-1', '3', '99999999999999999999', '1.5', 'x', ''])('refuses part %o before it reads a byte', async (index) => {
    const id = await begin('/l/indexes');
    expect(await chunk(id, index, part(0))).toMatchObject({ code: 400, data: { received: [] } });
    await end('abort', id);
  });

  it('refuses a part that is too long or too short, and takes it afterwards', async () => {
    const id = await begin('/l/lengths');
    async function* cut(bytes: Buffer) {
      yield bytes;
    }
    for (const body of [FILE.subarray(0, MIB - 1), FILE.subarray(0, MIB + 1)])
      for (const sent of [body, cut(body)]) expect(await chunk(id, 0, sent)).toMatchObject({ code: 400, data: { received: [] } });
    expect(await chunk(id, 0, cut(part(0)))).toMatchObject({ code: 200 });
    await end('abort', id);
    expect(await files()).toEqual([]);
  });

  it('is one of its user only, and nothing for others', async () => {
    const id = await begin('/l/mine');
    const as = await installation.login({ id: 6, permission: WRITE });
    for (const asked of [
      chunk(id, 0, part(0), { as }),
      end('complete', id, { as }),
      end('abort', id, { as }),
      call('GET', `status?upload_id=${id}`, { as }),
    ])
      expect(await asked).toMatchObject({ code: 403, data: null });
    for (const unknown of ['0'.repeat(32), 'x', '../x']) expect(await end('complete', unknown)).toMatchObject({ code: 404, data: null });
    expect(await end('abort', id)).toMatchObject({ code: 200, data: null });
    expect(await end('abort', id)).toMatchObject({ code: 404 });
    expect(await files()).toEqual([]);
  });

  it('is found again by path, size and hash, and by nothing less', async () => {
    const headers = { 'X-File-Sha256': hash('sha256') };
    const id = await begin('/l/found', { headers });
    await chunk(id, 1, part(1));
    expect((await init('/l/found', { headers, at: other })).data).toMatchObject({ upload_id: id, resumed: true, received: [[1, 1]] });
    for (const asked of [{}, { headers: { 'X-File-Sha256': hash('sha256', part(0)) } }, { headers: { ...headers, Overwrite: 'false' } }]) {
      const { data } = await init('/l/found', asked);
      expect(data).toMatchObject({ resumed: false, received: [] });
      await end('abort', data.upload_id);
    }
    await end('abort', id);
  });

  it.each(['md5', 'sha1', 'sha256'])('is held against its %s, in order or not; what is not as announced leaves nothing', async (name) => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
    ])
      for (const announced of [FILE, part(1)]) {
        const id = await begin('/l/hashed', { headers: { [`X-File-${name}`]: hash(name, announced) } });
        for (const index of order) await chunk(id, index, part(index));
        const isRight = announced === FILE;
        expect(await end('complete', id)).toMatchObject(isRight ? { code: 200 } : { code: 500, data: { state: 'failed_permanent' } });
        expect(await files()).toEqual(isRight ? ['hashed'] : []);
        await rm(`${folder}/hashed`, { force: true });
      }
  });

  it('replaces only where it may', async () => {
    await writeFile(`${folder}/there`, 'old');
    expect(await init('/l/there', { headers: { Overwrite: 'false' } })).toMatchObject({ code: 403, message: 'file exists' });
    const late = await begin('/l/late', { headers: { Overwrite: 'false' } }, 3);
    await chunk(late, 0, 'new');
    await writeFile(`${folder}/late`, 'old');
    expect(await end('complete', late)).toMatchObject({ code: 403 });
    expect(await readFile(`${folder}/late`, 'utf8')).toBe('old');
    const id = await begin('/l/there', {}, 3);
    await chunk(id, 0, 'new');
    expect(await end('complete', id)).toMatchObject({ code: 200 });
    expect(await readFile(`${folder}/there`, 'utf8')).toBe('new');
    expect((await files()).toSorted()).toEqual(['late', 'there']);
  });

  it.each([
    ['a chunk', 101, 2 * MIB, async (id: string, as: string) => chunk(id, 1, part(1), { as })],
    ['the end', 102, MIB, async (id: string, as: string) => end('complete', id, { as })],
  ])('whose user may no more is refused at %s and leaves nothing', async (_what, id, size, go) => {
    const as = await installation.login({ id, permission: WRITE });
    const upload = await begin('/l/denied', { as }, size);
    await chunk(upload, 0, part(0), { as });
    await installation.writeUser({ id, permission: 0 });
    one.kit.bus.publish(accountsChanged, { revision: 0 });
    await waitFor('the right to be gone', async () => (await go(upload, as)).code === 403);
    expect(await files()).toEqual([]);
    expect((await call('GET', `status?upload_id=${upload}`, { as })).code).toBe(404);
  });

  it('needs a right to upload there, a storage that takes parts, and the setting', async () => {
    const as = await installation.login({ id: 8, permission: 0 });
    expect(await init('/l/x', { as })).toMatchObject({ code: 403 });
    expect(await init('/p/x')).toMatchObject({ code: 405 });
    expect(await init('/l/x', {}, 0)).toMatchObject({ code: 400 });
    for (const size of ['-1', '1e3', '99999999999999999999', ''])
      expect(await init('/l/x', { headers: { 'X-File-Size': size } })).toMatchObject({ code: 400 });
    installation.announce(await installation.writeSetting('multipart_enabled', 'false'));
    await waitFor('the setting', async () => (await init('/l/x')).message === 'multipart upload is disabled');
    expect(await init('/l/x')).toMatchObject({ code: 403, data: null });
    installation.announce(await installation.writeSetting('multipart_enabled', 'true'));
    const { data } = await waitFor('the setting', async () => {
      const begun = await init('/l/x');
      return begun.code === 200 && begun;
    });
    await end('abort', data.upload_id);
    expect(await files()).toEqual([]);
  });

  it('C17: holds its room to the byte from its beginning on', async () => {
    const as = limited;
    expect(await init('/a', { as }, MIB + 2)).toMatchObject({ code: 500, message: expect.stringContaining('quota exceeded') });
    const first = await begin('/a', { as }, MIB);
    expect(await init('/b', { as }, 2)).toMatchObject({ code: 500 });
    const second = await begin('/b', { as }, 1);
    expect(await chunk(first, 0, part(0), { as })).toMatchObject({ code: 200 });
    expect(await end('complete', first, { as })).toMatchObject({ code: 200 });
    expect(await init('/c', { as }, 1)).toMatchObject({ code: 500 });
    await end('abort', second, { as });
    expect(await init('/c', { as }, 1)).toMatchObject({ code: 200 });
    expect(await init('/d', { as }, 1)).toMatchObject({ code: 500 });
  });

  it('that nobody goes on with goes with what it has written, also when fs was away', async () => {
    const id = await begin('/l/left');
    await chunk(id, 0, part(0));
    const model = writeSessionModelOf(one.kit.store);
    await model.updateOne({ _id: id }, { $set: { expires_at: new Date(0) } });
    await installation.open([localDriver, plain.definition]);
    await waitFor('the sweep', async () => (await model.findById(id)) === null);
    expect(await readdir(folder, { recursive: true })).not.toContainEqual(expect.stringContaining(id));
  });
});

describe('unfinished uploads', () => {
  it('are seen by their user and the admin, who may end them', async () => {
    const as = await installation.login({ id: 12, permission: WRITE });
    const id = await begin('/l/seen', { as });
    await chunk(id, 2, part(2), { as });
    const asUser = (userId: number, role: typeof USER.role | typeof ADMIN.role = USER.role) =>
      installation.as({ ...USER, id: userId, role });
    const listed = async (of_all: boolean, by: ReturnType<typeof asUser>) => other.writes.listUploads({ of_all, page: 1, per_page: 1 }, by);
    expect(await listed(false, asUser(12))).toMatchObject({
      uploads: [{ id, username: 'user-12', path: '/l/seen', received_bytes: 5, chunk_size: MIB }],
      total: 1,
    });
    expect(await listed(false, asUser(13))).toEqual({ uploads: [], total: 0 });
    await expect(listed(true, asUser(13))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(other.writes.endUpload({ id }, asUser(12))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect((await listed(true, asUser(1, ADMIN.role))).total).toBeGreaterThan(0);
    await other.writes.endUpload({ id }, asUser(1, ADMIN.role));
    expect((await listed(false, asUser(12))).total).toBe(0);
    await expect(other.writes.endUpload({ id }, asUser(1, ADMIN.role))).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });
});

describe('two writers of one part', () => {
  it('are one after the other, and the second is told', async () => {
    const id = await begin('/l/two');
    const gate = Promise.withResolvers<void>();
    async function* slow() {
      yield part(0).subarray(0, 1);
      await gate.promise;
      yield part(0).subarray(1);
    }
    const first = chunk(id, 0, slow());
    const model = writeSessionModelOf(one.kit.store);
    await waitFor('the claim', async () => (await model.findById(id).lean())?.upload?.claims?.['0'] !== undefined);
    for (const at of [one, other]) expect(await chunk(id, 0, part(1), { at })).toMatchObject({ code: 409, data: { received: [] } });
    gate.resolve();
    expect(await first).toMatchObject({ code: 200 });
    await end('abort', id);
  });

  it('of which the first stood still too long: the file is a copy, into which the first cannot write', async () => {
    const id = await begin('/l/paused', {}, MIB);
    const gate = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    async function* slow() {
      yield Buffer.alloc(1, 'x');
      await gate.promise;
      yield Buffer.alloc(MIB - 1, 'x');
    }
    const first = chunk(id, 0, slow()).finally(gone.resolve);
    const model = writeSessionModelOf(one.kit.store);
    await waitFor('the claim', async () => (await model.findById(id).lean())?.upload?.claims?.['0'] !== undefined);
    await model.updateOne({ _id: id }, { $set: { 'upload.claims.0.until': new Date(0) } });
    expect(await chunk(id, 0, part(0), { at: other })).toMatchObject({ code: 200 });
    expect((await model.findById(id).lean())?.upload?.is_taken_over).toBe(true);
    expect(await end('complete', id, { at: other })).toMatchObject({ code: 200 });
    gate.resolve();
    expect((await first).code).not.toBe(200);
    expect(part(0).equals(await readFile(`${folder}/paused`))).toBe(true);
    expect(await files()).toEqual(['paused']);
  });
});
