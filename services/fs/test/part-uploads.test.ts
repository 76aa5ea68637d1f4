import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { httpRequest, waitFor } from '@wharf/harness';
import { writeSessionModelOf } from '@wharf/models';
import { holdBackup } from '@wharf/task-engine';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { createPartSum } from '../src/domain/uploads/part-sum.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { memoryDriver } from '../src/drivers/memory/index.ts';
import { changedDrafts } from './changed-drafts.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';
import { partCalls, uploadInParts } from './parts.ts';

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
/** The folder too, with drafts that get their names as `publishing` says. */
const publishing: { fails: 'before' | 'after' | 'taken' | undefined; callers: (string | undefined)[] } = { fails: undefined, callers: [] };
const failing = changedDrafts(
  'Failing',
  () => folder,
  (draft) => {
    const publish = draft.publish.bind(draft);
    draft.publish = async (how) => {
      publishing.callers.push(how.caller);
      if (publishing.fails === 'before') throw storageError('STORAGE_UNAVAILABLE');
      if (publishing.fails === 'taken') throw storageError('ENTRY_EXISTS');
      const entry = await publish(how);
      if (publishing.fails === 'after') throw storageError('STORAGE_UNAVAILABLE');
      return entry;
    };
  },
);

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  await installation.writeStorage({ _id: 2, mount_path: '/p', driver: 'Plain' });
  login = await installation.login({ id: 5, permission: WRITE });
  limited = await installation.login({ id: 9, permission: WRITE, base_path: '/l/limited', quota_bytes: MIB + 1 });
  await installation.writeStorage({ _id: 7, mount_path: '/f', driver: 'Failing', addition: '{}' });
  one = await installation.open([localDriver, plain.definition, failing]);
  other = await installation.open([localDriver, plain.definition]);
});
afterAll(() => installation?.close());
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(`${folder}/${name}`, { recursive: true, force: true });
});

const { call, init, begin, chunk, end } = partCalls(() => ({ as: login, at: one, size: FILE.byteLength }));
const countUnfinished = () => writeSessionModelOf(one.kit.store).countDocuments({ upload_state: 'receiving' });
/** Everything below the folder but what drivers keep for themselves. */
const files = async () => (await readdir(folder, { recursive: true })).filter((name) => !/^\.wharf-tmp$/.test(name));
const hash = (name: string, content = FILE) => createHash(name).update(content).digest('hex');

describe('an upload in parts', () => {
  it('takes parts in any order and at once, through any replica, and gives the file its name when it is whole', async () => {
    const begun = await init('/l/new/file.bin', { headers: { 'Last-Modified': '1700000000000' } });
    expect(begun).toMatchObject({ code: 200, message: 'success' });
    expect(begun.data).toEqual({
      ...{ upload_id: expect.stringMatching(/^[0-9a-f]{32}$/), state: 'receiving', attempt: 1, resumed: false, spooled: false },
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

  it('tells the sums of its parts to who asks for them', async () => {
    const id = await begin('/l/summed');
    for (const index of [2, 0]) await chunk(id, index, part(index));
    const sums = [0, 2].map((index) => {
      const sum = createPartSum(id);
      sum.update(part(index));
      return sum.value();
    });
    expect((await call('GET', `status?upload_id=${id}&sums=true`, { at: other })).data).toMatchObject({
      received: [
        [0, 0],
        [2, 2],
      ],
      sums,
    });
    expect((await call('GET', `status?upload_id=${id}`)).data).not.toHaveProperty('sums');
    await end('abort', id);
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

  it('has parts of the size that the client wishes, and of none above the setting', async () => {
    const size = 9 * MIB;
    const chunkSize = async (wish: Record<string, string>) => {
      const { data } = await init('/l/sizes', { headers: wish }, size);
      await end('abort', data.upload_id);
      return data.chunk_size;
    };
    const wishOf = (bytes: number) => ({ 'X-Chunk-Size': `${bytes}` });
    expect(await chunkSize(wishOf(3 * MIB))).toBe(3 * MIB);
    installation.announce(await installation.writeSetting('multipart_chunk_size', '2'));
    for (const bytes of [3 * MIB, 2 * MIB, 0]) expect(await chunkSize(wishOf(bytes))).toBe(2 * MIB);
    expect(await chunkSize(wishOf(MIB))).toBe(MIB);
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

  it('is one where it is begun several times at once, through whatever replicas', async () => {
    const before = await countUnfinished();
    const headers = { 'X-File-Sha256': hash('sha256'), 'X-File-Md5': hash('md5') };
    const begun = await Promise.all([one, other, one, other, one].map((at) => init('/l/at-once', { headers, at })));
    const ids = begun.map(({ data }) => data.upload_id);
    expect(new Set(ids).size).toBe(1);
    expect(begun.filter(({ data }) => (data as { resumed?: boolean }).resumed !== true)).toHaveLength(1);
    expect(await countUnfinished()).toBe(before + 1);
    // The process that began it was killed before it could tell of it.
    const [id = ''] = ids;
    await writeSessionModelOf(one.kit.store).updateOne({ _id: id }, { $set: { upload_state: 'beginning', expires_at: new Date(0) } });
    const { data } = await init('/l/at-once', { headers });
    expect(data).toMatchObject({ resumed: false, upload_id: expect.not.stringMatching(id) });
    for (const index of [0, 1, 2]) await chunk(data.upload_id, index, part(index));
    expect(await end('complete', data.upload_id)).toMatchObject({ code: 200 });
    // What it was found by is free again, and the storage's own file is another matter.
    expect((await init('/l/at-once', { headers })).data).toMatchObject({ resumed: false, received: [] });
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
    await waitFor('the right to be gone', async () => (await go(upload, as)).code === 403);
    expect(await files()).toEqual([]);
    expect((await call('GET', `status?upload_id=${upload}`, { as })).code).toBe(404);
  });

  it('is refused where it is to heed If-Match: it would replace the file whatever that is by then', async () => {
    const headers = { 'If-Match': '"known"' };
    const refusal = { code: 400, message: expect.stringContaining('If-Match') };
    expect(await init('/l/matched', { headers })).toMatchObject(refusal);
    const since = { 'If-Unmodified-Since': new Date(0).toUTCString() };
    expect(await init('/l/matched', { headers: since })).toMatchObject({
      code: 400,
      message: expect.stringContaining('If-Unmodified-Since'),
    });
    const id = await begin('/l/matched');
    expect(await end('complete', id, { headers })).toMatchObject(refusal);
    expect((await end('abort', id)).code).toBe(200);
  });

  it('needs a right to upload there, a storage that takes parts, and the setting', async () => {
    const as = await installation.login({ id: 8, permission: 0 });
    expect(await init('/l/x', { as })).toMatchObject({ code: 403 });
    expect(await init('/p/x')).toMatchObject({ code: 405, message: expect.stringContaining('whole files only') });
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

  it('is found by its id also when its user has another folder since, and ends', async () => {
    const as = await installation.login({ id: 14, permission: WRITE, base_path: '/l' });
    const id = await begin('/before', { as });
    await installation.writeUser({ id: 14, base_path: '/l/elsewhere' });
    const status = () => call('GET', `status?upload_id=${id}`, { as });
    await waitFor(
      'the other folder',
      async () => (await init('/before', { as }, 1)).data !== null && (await status()).message === 'success',
    );
    expect(await status()).toMatchObject({ code: 200, data: { path: '/l/before' } });
    expect(await end('abort', id, { as })).toMatchObject({ code: 200 });
  });

  it('is refused where its user or all have as many unfinished ones as they may', async () => {
    const few = await installation.open([localDriver], { uploadsPerUser: 2, uploadsOfAll: (await countUnfinished()) + 3 });
    const [as, second] = [await installation.login({ id: 15, permission: WRITE }), await installation.login({ id: 16, permission: WRITE })];
    const at = few;
    const ids = [await begin('/l/few-0', { as, at }), await begin('/l/few-1', { as, at })];
    expect(await init('/l/few-2', { as, at })).toMatchObject({ code: 500, message: expect.stringContaining('you have 2 unfinished') });
    const third = await begin('/l/few-2', { as: second, at });
    expect(await init('/l/few-3', { as: second, at })).toMatchObject({
      code: 500,
      message: expect.stringContaining('too many unfinished'),
    });
    await end('abort', third, { as: second });
    for (const id of ids) await end('abort', id, { as });
    expect(await files()).toEqual([]);
  });

  it('is refused where guests of one address have a tenth of those that all guests may have', async () => {
    const at = await installation.open([localDriver], { uploadsPerUser: 20, trustedProxies: ['127.0.0.1'] });
    await installation.letGuestsIn(WRITE);
    const from = (address: string) => ({ as: '', at, headers: { 'X-Forwarded-For': address } });
    const ids = [await begin('/l/guests-0', from('2001:db8::1')), await begin('/l/guests-1', from('2001:db8::2'))];
    const refused = { code: 500, message: expect.stringContaining('guests of your address have 2 unfinished uploads') };
    expect(await init('/l/guests-2', from('2001:db8::3'))).toMatchObject(refused);
    const ofAnother = await begin('/l/guests-2', from('2001:db8:1::1'));
    await end('abort', ids.pop() ?? '', from('2001:db8:2::1'));
    for (const id of [...ids, ofAnother, await begin('/l/guests-3', from('2001:db8::1'))]) await end('abort', id, from('2001:db8::1'));
    expect(await files()).toEqual([]);
  });

  it('takes no place where its storage refuses the path for good, and gives it back where a file has the name of its folder since', async () => {
    await writeFile(`${folder}/taken`, 'a file');
    const before = await countUnfinished();
    for (const path of ['/l/.wharf-tmp', '/l/new/.wharf-tmp/x', '/l/taken/x']) expect((await init(path)).code).not.toBe(200);
    expect(await countUnfinished()).toBe(before);
    const id = await begin('/l/folder/file');
    await chunk(id, 0, part(0));
    await rm(`${folder}/folder`, { recursive: true });
    await writeFile(`${folder}/folder`, 'a file');
    expect(await end('abort', id)).toMatchObject({ code: 200 });
    expect(await countUnfinished()).toBe(before);
    expect(await files()).toEqual(['folder', 'taken']);
  });

  it('of which a hash is there already is done at once, where its user may read that file', async () => {
    await installation.writeStorage({ _id: 5, mount_path: '/h', driver: 'Memory', addition: '{"profile":"known hashes"}' });
    await installation.writeRule({ _id: 5, path: '/h/locked', password: 'secret', p_sub: true });
    const at = await installation.open([memoryDriver], { dataDir: `${installation.dir}/instant` });
    const headers = { 'X-File-Sha256': hash('sha256') };
    for (const path of ['/h/there', '/h/locked/there']) {
      await uploadInParts({ url: at.url, login, path, content: FILE });
      const isOpen = path === '/h/there';
      const again = await init(path, { at, headers });
      expect(again, path).toMatchObject(isOpen ? { code: 200, data: { state: 'completed' } } : { code: 403 });
    }
    expect(await init('/h/locked/there', { at, headers: { ...headers, Password: 'secret' } })).toMatchObject({
      data: { state: 'completed' },
    });
    const others = [
      init('/h/there', { at, headers: { 'X-File-Sha256': hash('sha256', part(0)) } }),
      init('/h/there', { at, headers }, FILE.byteLength + 1),
      init('/h/elsewhere', { at, headers }),
      init('/h/there', { at }),
    ];
    for (const other of others) {
      const { data } = await other;
      expect(data).toMatchObject({ state: 'receiving' });
      await end('abort', data.upload_id, { at });
    }
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

  it('that came with a backup leaves its draft, which its original may go on with, and is gone on with here', async () => {
    const [left, aborted, continued] = [await begin('/l/left'), await begin('/l/aborted'), await begin('/l/continued')];
    for (const id of [left, aborted, continued]) await chunk(id, 0, part(0));
    await holdBackup(one.kit.store);
    const drafts = async () => (await files()).filter((name) => name.includes('draft-'));
    const model = writeSessionModelOf(one.kit.store);
    await model.updateOne({ _id: left }, { $set: { expires_at: new Date(0) } });
    await installation.open([localDriver, plain.definition]);
    await waitFor('the sweep', async () => (await model.findById(left)) === null);
    expect(await end('abort', aborted)).toMatchObject({ code: 200 });
    expect((await drafts()).toSorted()).toEqual([left, aborted, continued].map((id) => `.wharf-tmp/draft-${id}`).toSorted());
    for (const index of [1, 2]) await chunk(continued, index, part(index));
    expect(await end('complete', continued)).toMatchObject({ code: 200 });
    expect(FILE.equals(await readFile(`${folder}/continued`))).toBe(true);
  });

  it('whose draft is taken away a moment before it gets its name is unknown, and nothing is left of it', async () => {
    const id = await begin('/l/gone');
    for (const index of [0, 1, 2]) await chunk(id, index, part(index));
    const names = await readdir(folder, { recursive: true });
    for (const name of names.filter((each) => each.includes(id))) await rm(`${folder}/${name}`);
    expect(await end('complete', id)).toMatchObject({ code: 404, message: 'there is no such upload' });
    expect(await files()).toEqual([]);
    expect(await writeSessionModelOf(one.kit.store).findById(id)).toBeNull();
  });

  it.each([
    ['the date of the one it replaces', { 'Last-Modified': '1700000000000' }],
    ['the present date', {}],
  ])('with %s is not done by the old file, where it got no name and its draft was taken away', async (_title, headers) => {
    const old = Buffer.alloc(FILE.byteLength, 'o');
    await writeFile(`${folder}/film`, old);
    await utimes(`${folder}/film`, 1_700_000_000, 1_700_000_000);
    const id = await begin('/f/film', { headers });
    for (const index of [0, 1, 2]) await chunk(id, index, part(index));
    publishing.fails = 'before';
    expect((await end('complete', id)).code).not.toBe(200);
    publishing.fails = undefined;
    const names = await readdir(folder, { recursive: true });
    for (const name of names.filter((each) => each.includes(id))) await rm(`${folder}/${name}`);
    expect(await end('complete', id)).toMatchObject({ code: 404, message: 'there is no such upload' });
    expect(old.equals(await readFile(`${folder}/film`))).toBe(true);
  });

  it.each([true, false])(
    'whose answer was lost is done when it is asked for again, also with the date and size of the old file: %s',
    async (isSame) => {
      if (isSame) {
        await writeFile(`${folder}/film`, Buffer.alloc(FILE.byteLength, 'o'));
        await utimes(`${folder}/film`, 1_700_000_000, 1_700_000_000);
      }
      const id = await begin('/f/film', { headers: { 'Last-Modified': '1700000000000' } });
      for (const index of [0, 1, 2]) await chunk(id, index, part(index));
      publishing.fails = 'after';
      expect((await end('complete', id)).code).not.toBe(200);
      publishing.fails = undefined;
      expect(await end('complete', id)).toMatchObject({ code: 200, data: { state: 'completed' } });
      expect(FILE.equals(await readFile(`${folder}/film`))).toBe(true);
    },
  );

  it('which its storage refuses, as somebody saved the file since it was first to be replaced, ends: whoever begins anew replaces that', async () => {
    const id = await begin('/f/film');
    for (const index of [0, 1, 2]) await chunk(id, index, part(index));
    for (const fails of ['taken', 'before'] as const) {
      publishing.fails = fails;
      expect(await end('complete', id)).toMatchObject({ code: expect.not.toBeOneOf([200]), data: { state: 'receiving' } });
    }
    await writeFile(`${folder}/film`, 'saved');
    publishing.fails = 'taken';
    expect(await end('complete', id)).toMatchObject({ code: 403, message: expect.stringContaining('was saved by somebody') });
    publishing.fails = undefined;
    const begun = await init('/f/film');
    expect(begun).toMatchObject({ data: { resumed: false } });
    const anew = begun.data.upload_id;
    for (const index of [0, 1, 2]) await chunk(anew, index, part(index));
    expect(await end('complete', anew)).toMatchObject({ code: 200 });
    expect(FILE.equals(await readFile(`${folder}/film`))).toBe(true);
  });

  it('that could not get its name at first replaces what had that then, and nothing that somebody saved since', async () => {
    await writeFile(`${folder}/film`, 'old');
    const upload = async () => {
      const id = await begin('/f/film');
      for (const index of [0, 1, 2]) await chunk(id, index, part(index));
      publishing.fails = 'before';
      expect(await end('complete', id)).toMatchObject({ code: 500 });
      return id;
    };
    const late = await upload();
    await writeFile(`${folder}/film`, 'saved');
    publishing.fails = undefined;
    expect(await end('complete', late)).toMatchObject({ code: 403, message: expect.stringContaining('was saved by somebody') });
    expect(await readFile(`${folder}/film`, 'utf8')).toBe('saved');
    const inTime = await upload();
    expect(await end('complete', inTime)).toMatchObject({ code: 500 });
    publishing.fails = undefined;
    expect(await end('complete', inTime)).toMatchObject({ code: 200 });
    expect(FILE.equals(await readFile(`${folder}/film`))).toBe(true);
  });

  it('is its user’s also when it gets its name: one has no more than a share of what a storage bears', async () => {
    const id = await begin('/f/film');
    for (const index of [0, 1, 2]) await chunk(id, index, part(index));
    publishing.callers = [];
    expect(await end('complete', id)).toMatchObject({ code: 200 });
    expect(publishing.callers).toEqual(['user 5']);
  });

  it('that may not replace is not done by a file which came in between', async () => {
    const id = await begin('/f/film', { headers: { Overwrite: 'false' } });
    for (const index of [0, 1, 2]) await chunk(id, index, part(index));
    await writeFile(`${folder}/film`, Buffer.alloc(FILE.byteLength, 'o'));
    expect(await end('complete', id)).toMatchObject({ code: 403, message: 'file exists' });
    const names = await readdir(folder, { recursive: true });
    for (const name of names.filter((each) => each.includes(id))) await rm(`${folder}/${name}`);
    expect((await end('complete', id)).code).not.toBe(200);
  });

  it('goes with the next sweep where its storage was away at the last', async () => {
    const place = `${installation.dir}/away`;
    const mount = (root_folder_path: string) =>
      installation.writeStorage({ _id: 6, mount_path: '/away', addition: JSON.stringify({ root_folder_path }) });
    await mkdir(place);
    await mount(place);
    const first = await installation.open([localDriver]);
    const id = await begin('/away/left', { at: first });
    await chunk(id, 0, part(0), { at: first });
    const model = writeSessionModelOf(one.kit.store);
    const expire = () => model.updateOne({ _id: id }, { $set: { expires_at: new Date(0) } });
    await mount(`${installation.dir}/nowhere`);
    await expire();
    await installation.open([localDriver]);
    const due = await waitFor('a sweep in vain', async () => {
      const expires = (await model.findById(id).lean())?.expires_at.getTime() ?? 0;
      return expires > 0 && expires;
    });
    expect(due).toBeLessThan(Date.now() + 3_600_000);
    await mount(place);
    await expire();
    await installation.open([localDriver]);
    await waitFor('the sweep', async () => (await model.findById(id)) === null);
    expect(await readdir(place, { recursive: true })).not.toContainEqual(expect.stringContaining(id));
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
      uploads: [{ id, username: 'user-12', path: '/l/seen', received_bytes: 5, chunk_size: MIB, modified_ms: 0 }],
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
    // It says when a writer that was killed would have lost it.
    const headers = { Authorization: login, 'X-Upload-Id': id, 'X-Chunk-Index': '0' };
    const refused = await httpRequest(other.url, { method: 'PUT', path: '/api/fs/multipart/chunk', headers, body: part(0) });
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|1[0-5])$/);
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
