import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { httpRequest, waitFor } from '@wharf/harness';
import { writeSessionModelOf } from '@wharf/models';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { type NotedCall, noteCalls } from '../src/domain/testing/noted-calls.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import type { DriverDefinition } from '../src/driver-contract/define-driver.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { MEMORY_PROFILES, memoryDriver } from '../src/drivers/memory/index.ts';
import { headersAs, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';
import { partCalls, uploadByTus, uploadInParts } from './parts.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;
/** One part of 1 MiB and one of 5 bytes. */
const TEXT = randomBytes(MIB)
  .toString('hex')
  .slice(0, MIB + 5);
const FILE = Buffer.from(TEXT);
const part = (index: number) => FILE.subarray(index * MIB, (index + 1) * MIB);
/** Room for three such files and a bit. */
const SPOOL_BYTES = 3 * FILE.byteLength + 100;
/** What one user has of it. */
const SHARE_BYTES = Math.floor(SPOOL_BYTES * 0.75);

let installation: Installation;
let one: Replica;
/** Sees the same folder. */
let beside: Replica;
/** Has a folder of its own. */
let apart: Replica;
let folder: string;
let login: string;
let other: string;
let limited: string;
/** Takes whole files only. */
const plain = createTestDriver('Plain', []);
const noted: NotedCall[] = [];
const noting: DriverDefinition = { ...plain.definition, open: async (...given) => noteCalls(await plain.definition.open(...given), noted) };
const stored = async (path: string): Promise<Buffer> => Buffer.concat(await Array.fromAsync(await plain.storeOf().read(mpath(path))));

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 2, mount_path: '/p', driver: 'Plain' });
  login = await installation.login({ id: 5, permission: WRITE });
  other = await installation.login({ id: 6, permission: WRITE });
  limited = await installation.login({ id: 9, permission: WRITE, base_path: '/p/limited', quota_bytes: FILE.byteLength });
  const open = (name: string) => installation.open([noting], { dataDir: `${installation.dir}/${name}`, waitingUploadBytes: SPOOL_BYTES });
  one = await open('data');
  beside = await open('data');
  apart = await open('apart');
  folder = `${installation.dir}/data/spool`;
});
afterAll(() => installation?.close());

const { call, init, begin, chunk, end } = partCalls(() => ({ as: login, at: one, size: FILE.byteLength }));
const spooled = async () => (await readdir(folder)).filter((name) => name !== 'id');
const sessions = () => writeSessionModelOf(one.kit.store);

describe('an upload in parts to a storage that takes whole files only', () => {
  it('waits in a folder of fs, says so, and is stored whole; replicas that see the folder take turns', async () => {
    const begun = await init('/p/new/file.bin');
    expect(begun).toMatchObject({ code: 200, data: { spooled: true, received: [] } });
    const id = begun.data.upload_id;
    expect(await chunk(id, 1, part(1), { at: beside })).toMatchObject({ code: 200 });
    expect(await chunk(id, 0, part(0))).toMatchObject({ code: 200 });
    await expect(stored('/new/file.bin')).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
    expect(await end('complete', id, { at: beside })).toMatchObject({ code: 200, data: { state: 'completed', spooled: true } });
    expect(FILE.equals(await stored('/new/file.bin'))).toBe(true);
    expect(await spooled()).toEqual([]);
    // One user has no more than a share of what the storage bears.
    expect(noted.filter(({ operation }) => operation === 'write').map(({ caller }) => caller)).toEqual(['user 5']);
  });

  it.each(MEMORY_PROFILES)('takes any kind of them: %s', async (profile) => {
    const at = `/m${MEMORY_PROFILES.indexOf(profile)}`;
    await installation.writeStorage({
      _id: 10 + MEMORY_PROFILES.indexOf(profile),
      mount_path: at,
      driver: 'Memory',
      addition: JSON.stringify({ profile }),
    });
    const known = await installation.open([memoryDriver], { dataDir: `${installation.dir}/data`, waitingUploadBytes: SPOOL_BYTES });
    await uploadInParts({ url: known.url, login, path: `${at}/file`, content: FILE });
    const { body } = await httpRequest(known.url, { path: `/d${at}/file?${installation.sign(`${at}/file`)}`, headers: headersAs(USER) });
    expect(FILE.equals(body)).toBe(true);
  });

  it('goes by the family’s calls and by tus, which says it in a header', async () => {
    await uploadInParts({ url: one.url, login, path: '/p/parts', content: FILE });
    await uploadByTus({ url: beside.url, login, path: '/p/tus', content: FILE }, 77);
    for (const name of ['/parts', '/tus']) expect(FILE.equals(await stored(name)), name).toBe(true);
    const headers = { Authorization: login, 'Tus-Resumable': '1.0.0', 'File-Path': '/p/begun', 'Upload-Length': '1' };
    const created = await httpRequest(one.url, { method: 'POST', path: '/api/fs/tus', headers });
    expect(created).toMatchObject({ status: 201, headers: { 'upload-spooled': '1' } });
    const path = `/api/fs/${String(created.headers['location'])}`;
    expect(await httpRequest(one.url, { method: 'DELETE', path, headers })).toMatchObject({ status: 204 });
    expect(await spooled()).toEqual([]);
  });

  it('is answered clearly by a replica that does not see the folder, and goes on afterwards', async () => {
    const id = await begin('/p/apart');
    const message = expect.stringContaining('kept by another replica');
    // Sent again, it may come to one that has it.
    expect(await chunk(id, 0, part(0), { at: apart })).toMatchObject({ code: 429, message });
    for (const index of [0, 1]) await chunk(id, index, part(index));
    expect(await end('complete', id, { at: apart })).toMatchObject({ code: 500, message, data: { state: 'receiving' } });
    expect(await end('complete', id)).toMatchObject({ code: 200 });
  });

  it('takes room of the folder from its beginning on, and is refused where there is none', async () => {
    const ids = [await begin('/p/a'), await begin('/p/b', { at: beside })];
    const as = other;
    const left = SPOOL_BYTES - 2 * FILE.byteLength;
    expect(await init('/p/c', { as }, left + 1)).toMatchObject({ code: 500, message: expect.stringContaining('no room to keep parts') });
    const last = await begin('/p/c', { as }, left);
    for (const id of ids) expect(await end('abort', id, { at: beside })).toMatchObject({ code: 200 });
    expect(await end('abort', last, { as })).toMatchObject({ code: 200 });
    expect(await spooled()).toEqual([]);
    expect(await sessions().countDocuments({ upload_state: 'receiving' })).toBe(0);
  });

  it('takes no more of the room, where a guest begins it, than a third of what guests may have', async () => {
    await installation.letGuestsIn(0b1000);
    const third = Math.floor(SHARE_BYTES / 3);
    const guest = { as: '' };
    const refused = { code: 500, message: expect.stringContaining(`of your address to such storages may have ${third} bytes in all`) };
    expect(await init('/p/guest', guest, third + 1)).toMatchObject(refused);
    const id = await begin('/p/guest', guest, third);
    expect(await init('/p/guest-2', guest, 1)).toMatchObject(refused);
    expect(await end('abort', id, guest)).toMatchObject({ code: 200 });
  });

  it('C17: takes no more of the room than its user’s share, which leaves others some', async () => {
    const ids = [await begin('/p/a'), await begin('/p/b', { at: beside })];
    const left = SHARE_BYTES - 2 * FILE.byteLength;
    const message = expect.stringContaining(`your unfinished uploads to such storages may have ${SHARE_BYTES} bytes in all: end some`);
    expect(await init('/p/c', {}, left + 1)).toMatchObject({ code: 500, message });
    ids.push(await begin('/p/c', { at: beside }, left));
    expect(await init('/p/d', {}, 1)).toMatchObject({ code: 500, message });
    expect(await spooled()).toHaveLength(3);
    const as = other;
    const others = await begin('/p/d', { as }, SPOOL_BYTES - SHARE_BYTES);
    expect(await end('abort', others, { as })).toMatchObject({ code: 200 });
    // What is kept elsewhere does not count.
    const elsewhere = await begin('/p/e', { at: apart });
    expect(await end('abort', elsewhere, { at: apart })).toMatchObject({ code: 200 });
    // What was ended makes room.
    expect(await end('abort', String(ids.pop()))).toMatchObject({ code: 200 });
    ids.push(await begin('/p/f', {}, left));
    for (const id of ids) expect(await end('abort', id)).toMatchObject({ code: 200 });
  });

  it('C17: of several begun at once none takes more than that share, not for a moment', async () => {
    const asked = Array.from({ length: 6 }, (_, index) =>
      init(`/p/many-${index}`, { at: index % 2 ? beside : one }, Math.ceil(0.4 * SPOOL_BYTES)),
    );
    const as = other;
    const others = await init('/p/others', { as }, SPOOL_BYTES - SHARE_BYTES);
    expect(others).toMatchObject({ code: 200 });
    const begun = (await Promise.all(asked)).filter(({ code }) => code === 200);
    expect(begun.length).toBeLessThan(2);
    expect(await spooled()).toHaveLength(begun.length + 1);
    expect(await end('abort', others.data.upload_id, { as })).toMatchObject({ code: 200 });
    for (const { data } of begun) expect(await end('abort', data.upload_id)).toMatchObject({ code: 200 });
  });

  it('waits where its storage is full when it is to be stored, and is stored when there is room', async () => {
    let isFull = true;
    plain.failWrites(() => isFull);
    const id = await begin('/p/later');
    for (const index of [0, 1]) await chunk(id, index, part(index));
    expect(await end('complete', id)).toMatchObject({ code: 500, message: 'the storage is full', data: { state: 'receiving' } });
    isFull = false;
    expect(await end('complete', id)).toMatchObject({ code: 200, data: { state: 'completed' } });
    expect(FILE.equals(await stored('/later'))).toBe(true);
  });

  it('takes room of its user’s quota, once', async () => {
    const as = limited;
    expect(await init('/a', { as }, FILE.byteLength + 1)).toMatchObject({ code: 500, message: expect.stringContaining('quota exceeded') });
    const id = await begin('/a', { as });
    expect(await init('/b', { as }, 1)).toMatchObject({ code: 500 });
    for (const index of [0, 1]) await chunk(id, index, part(index), { as });
    expect(await end('complete', id, { as })).toMatchObject({ code: 200 });
    expect(await spooled()).toEqual([]);
  });

  it('that nobody goes on with is swept, also where another replica ended it', async () => {
    const [old, elsewhere] = [await begin('/p/old'), await begin('/p/elsewhere')];
    expect(await end('abort', elsewhere, { at: apart })).toMatchObject({ code: 200 });
    expect(await spooled()).toHaveLength(2);
    await sessions().updateOne({ _id: old }, { $set: { expires_at: new Date(0) } });
    await installation.open([plain.definition], { dataDir: `${installation.dir}/data`, waitingUploadBytes: SPOOL_BYTES });
    await waitFor('the sweep', async () => (await spooled()).length === 0);
    expect(await call('GET', `status?upload_id=${old}`)).toMatchObject({ code: 404 });
  });

  it('goes on after kill -9 of fs with what was acknowledged', async () => {
    await installation.writeStorage({ _id: 3, mount_path: '/m', driver: 'Memory' });
    const headers = headersAs({ ...USER, id: 5 });
    const first = await startFsProcess(installation, `${installation.dir}/killed`);
    const id = await begin('/m/killed', { at: first, headers });
    expect(await chunk(id, 1, part(1), { at: first, headers })).toMatchObject({ code: 200 });
    await first.kill();
    const second = await startFsProcess(installation, `${installation.dir}/killed`);
    expect(await chunk(id, 0, part(0), { at: second, headers })).toMatchObject({ code: 200, data: { received: [[0, 1]] } });
    expect(await end('complete', id, { at: second, headers })).toMatchObject({ code: 200 });
    const stored = await httpRequest(second.url, { path: `/d/m/killed?${installation.sign('/m/killed')}`, headers });
    expect(FILE.equals(stored.body)).toBe(true);
    await second.stop();
  });

  it.each([
    ['is done where a process died that had stored it', TEXT, 200],
    ['does not take another file for its own', 'of somebody else', 403],
  ])('%s', async (_what, there, code) => {
    const path = `/p/died-${code}`;
    const id = await begin(path, { headers: { Overwrite: 'false' } });
    for (const index of [0, 1]) await chunk(id, index, part(index));
    await plain.storeOf().write(mpath(path.slice(2)), bytesOf(there), { overwrite: false });
    await sessions().updateOne({ _id: id }, { $set: { publishing_path: path } });
    expect(await end('complete', id)).toMatchObject({ code });
    expect((await stored(path.slice(2))).equals(Buffer.from(there))).toBe(true);
    expect(await spooled()).toEqual([]);
  });

  it('put together of parts by tus replaces nothing that was saved since, where the answer of the storage was lost', async () => {
    const tus = { Authorization: login, 'Tus-Resumable': '1.0.0', 'File-Path': '/p/joined' };
    const send = (method: string, path: string, headers: Record<string, string>, body = '') =>
      httpRequest(one.url, { method, path, headers: { ...tus, ...headers }, body });
    const { headers } = await send('POST', '/api/fs/tus', { 'Upload-Length': '4', 'Upload-Concat': 'partial' });
    const partial = `/api/fs/${String(headers['location'])}`;
    await send('PATCH', partial, { 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' }, 'text');
    const join = () => send('POST', '/api/fs/tus', { 'Upload-Concat': `final;${partial}` });
    plain.delayAnswers(async () => {
      if (
        await plain
          .storeOf()
          .stat(mpath('/joined'))
          .catch(() => undefined)
      )
        throw storageError('STORAGE_UNAVAILABLE');
    });
    expect((await join()).status).not.toBe(201);
    plain.delayAnswers(async () => {});
    await plain.storeOf().write(mpath('/joined'), bytesOf('edited'), { overwrite: true });
    expect((await join()).status).not.toBe(201);
    expect((await stored('/joined')).toString()).toBe('edited');
    await send('DELETE', partial, {});
    expect(await spooled()).toEqual([]);
  });

  it('leaves what somebody saved after a process died that had stored it', async () => {
    const path = '/p/died-and-edited';
    const id = await begin(path, { headers: { Overwrite: 'true' } });
    for (const index of [0, 1]) await chunk(id, index, part(index));
    await sessions().updateOne({ _id: id }, { $set: { publishing_path: path } });
    await plain.storeOf().write(mpath(path.slice(2)), bytesOf('edited'), { overwrite: false });
    expect(await end('complete', id)).toMatchObject({ code: 403, message: expect.stringContaining('was saved by somebody') });
    expect((await stored(path.slice(2))).toString()).toBe('edited');
    // Who begins anew, as they are told to, does not find the one that never ends.
    expect(await spooled()).toEqual([]);
    const again = await begin(path, { headers: { Overwrite: 'true' } });
    expect(again).not.toBe(id);
    for (const index of [0, 1]) await chunk(again, index, part(index));
    expect(await end('complete', again)).toMatchObject({ code: 200 });
    expect(FILE.equals(await stored(path.slice(2)))).toBe(true);
  });
});
