import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type HttpRequest, httpRequest, waitFor } from '@wharf/harness';
import { writeSessionModelOf } from '@wharf/models';
import * as tus from 'tus-js-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type StorageErrorCode, storageError } from '../src/driver-contract/storage-error.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { changedDrafts } from './changed-drafts.ts';
import { headersAs, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;
const FILE = randomBytes(20 * MIB + 7);

let installation: Installation;
let one: Replica;
let other: Replica;
let folder: string;
let login: string;
let limited: string;
let keepsDrafts = false;
/** What happens between two pieces of a draft that is read, and when one is taken away. */
let whileRead: (() => Promise<void>) | undefined;
let whileDiscarded: (() => Promise<void>) | undefined;
/** What the same folder says to bytes at times. */
let saysOfBytes: StorageErrorCode | undefined;
/** The same folder, which at times does not let drafts be taken away. */
const keeping = changedDrafts(
  'Keeping',
  () => folder,
  (draft) => {
    const discard = draft.discard.bind(draft);
    draft.discard = async () => {
      if (keepsDrafts) throw storageError('STORAGE_UNAVAILABLE');
      await whileDiscarded?.();
      return discard();
    };
    const read = draft.read.bind(draft);
    draft.read = async function* (...given) {
      for await (const piece of read(...given)) {
        yield piece;
        await whileRead?.();
      }
    };
    const write = draft.write.bind(draft);
    draft.write = async (...given) => {
      if (saysOfBytes) throw storageError(saysOfBytes);
      return write(...given);
    };
  },
);

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  login = await installation.login({ id: 5, permission: WRITE });
  limited = await installation.login({ id: 6, permission: WRITE, base_path: '/l/limited', quota_bytes: MIB });
  await installation.writeStorage({ _id: 7, mount_path: '/f', driver: 'Keeping', addition: '{}' });
  one = await installation.open([localDriver, keeping]);
  other = await installation.open([localDriver]);
});
afterAll(() => installation?.close());
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(`${folder}/${name}`, { recursive: true, force: true });
});

const endpointOf = ({ url }: Replica) => `${url}/api/fs/tus`;
/** Uploads with the client that others use. */
function upload(path: string, options: Partial<tus.UploadOptions> = {}, content: Buffer = FILE): Promise<tus.Upload> {
  return new Promise((resolve, reject) => {
    const run = new tus.Upload(content, {
      endpoint: endpointOf(one),
      retryDelays: [0, 50, 100],
      ...options,
      headers: { Authorization: login, 'File-Path': encodeURIComponent(path), ...options.headers },
      onSuccess: () => resolve(run),
      onError: reject,
    });
    run.start();
  });
}
const files = async () => (await readdir(folder, { recursive: true })).filter((name) => name !== '.wharf-tmp');
const send = (method: string, path: string, headers: Record<string, string> = {}, body: HttpRequest['body'] = '', at = one) =>
  httpRequest(at.url, { method, path, headers: { Authorization: login, 'Tus-Resumable': '1.0.0', ...headers }, body });
const BODY = { 'Content-Type': 'application/offset+octet-stream' };
/** Begins an upload by hand. @returns its address */
const begin = async (path: string, size: number, headers: Record<string, string> = {}): Promise<string> => {
  const answer = await send('POST', '/api/fs/tus', { 'File-Path': encodeURIComponent(path), 'Upload-Length': `${size}`, ...headers });
  expect(answer.status).toBe(201);
  return `/api/fs/${answer.headers.location}`;
};
const patch = (at: string, offset: number, body: HttpRequest['body'], headers: Record<string, string> = {}, replica = one) =>
  send('PATCH', at, { ...BODY, 'Upload-Offset': `${offset}`, ...headers }, body, replica);
const offsetAt = async (at: string, replica = other) => (await send('HEAD', at, {}, '', replica)).headers['upload-offset'];

describe('tus-js-client', () => {
  it.each([
    ['at once', {}],
    ['in chunks', { chunkSize: 3 * MIB }],
    ['in chunks, the first with the creation', { chunkSize: 3 * MIB, uploadDataDuringCreation: true }],
    ['several at once, put together', { parallelUploads: 3 }],
    ['with methods in a header', { overridePatchMethod: true }],
  ])('uploads %s', async (_how, options) => {
    await upload('/l/new/file.bin', options);
    expect(FILE.equals(await readFile(`${folder}/new/file.bin`))).toBe(true);
    expect((await files()).toSorted()).toEqual(['new', 'new/file.bin']);
  });

  it('names the file by its metadata', async () => {
    await upload('/l/in/', { metadata: { filename: 'ümläut ü.txt', filetype: 'text/plain' } }, Buffer.from('text'));
    await upload('', { metadata: { path: '/l/by/path.txt' } }, Buffer.from('text'));
    expect(await readFile(`${folder}/by/path.txt`, 'utf8')).toBe('text');
    expect(await readFile(`${folder}/in/ümläut ü.txt`, 'utf8')).toBe('text');
  });

  it('goes on after it was cut, through another replica, and sends what was acknowledged no more', async () => {
    const cut = new Promise<tus.Upload>((resolve, reject) => {
      const run = new tus.Upload(FILE, {
        endpoint: endpointOf(one),
        chunkSize: 4 * MIB,
        headers: { Authorization: login, 'File-Path': '/l/cut.bin' },
        onChunkComplete: (_size, accepted) => {
          if (accepted >= 8 * MIB) void run.abort().then(() => resolve(run));
        },
        onError: reject,
      });
      run.start();
    });
    const { url } = await cut;
    const sent: number[] = [];
    await upload('/l/cut.bin', {
      uploadUrl: (url ?? '').replace(one.url, other.url),
      endpoint: endpointOf(other),
      onProgress: (bytes) => void sent.push(bytes),
    });
    expect(sent[0]).toBeGreaterThanOrEqual(8 * MIB);
    expect(FILE.equals(await readFile(`${folder}/cut.bin`))).toBe(true);
  });

  it('is told at once what will never be', async () => {
    const headers = { Authorization: limited };
    const statusOf = async (uploading: Promise<unknown>) =>
      uploading.then(
        () => 0,
        (error: tus.DetailedError) => error.originalResponse?.getStatus(),
      );
    expect(await statusOf(upload('/too-much', { headers }, Buffer.alloc(MIB + 1)))).toBe(413);
    expect(await statusOf(upload('/l/x', { headers: { Authorization: 'no-login' } }))).toBe(401);
    await upload('/l/taken', {}, Buffer.from('old'));
    expect(await statusOf(upload('/l/taken', { headers: { Overwrite: 'false' } }, Buffer.from('new')))).toBe(403);
    expect(await readFile(`${folder}/taken`, 'utf8')).toBe('old');
    // Partial uploads take room beside the whole until it has its name, and stay where there is none.
    expect(await statusOf(upload('/whole', { headers, parallelUploads: 2 }, Buffer.alloc(MIB)))).toBe(413);
    await endAll(6, limited);
    await upload('/whole', { headers, parallelUploads: 2 }, Buffer.alloc(MIB / 2));
    expect((await readFile(`${folder}/limited/whole`)).byteLength).toBe(MIB / 2);
  });
});

/** Ends what a user has begun and not finished. */
async function endAll(userId: number, who: string): Promise<void> {
  for (const { _id } of await writeSessionModelOf(one.kit.store).find({ user_id: userId }).lean())
    await send('DELETE', `/api/fs/tus/${_id}`, { Authorization: who });
}

describe('tus', () => {
  it('says what it can without a login, and speaks one version', async () => {
    const { status, headers } = await send('OPTIONS', '/api/fs/tus', { Authorization: '' });
    expect([status, headers['tus-version'], headers['tus-checksum-algorithm']]).toEqual([204, '1.0.0', 'md5,sha1,sha256']);
    expect(String(headers['tus-extension']).split(',')).toEqual(
      expect.arrayContaining(['creation', 'expiration', 'checksum', 'termination', 'concatenation']),
    );
    expect((await send('POST', '/api/fs/tus', { 'Tus-Resumable': '0.2.2' })).status).toBe(412);
  });

  it('keeps what came of a body that was cut', async () => {
    const at = await begin('/l/half', FILE.byteLength);
    async function* half() {
      yield FILE.subarray(0, 3 * MIB);
      await waitFor('the bytes', async () => (await stat(`${folder}/.wharf-tmp/draft-${at.slice(-32)}`)).size > MIB);
      throw new Error('the line broke');
    }
    await patch(at, 0, Readable.from(half())).catch(() => undefined);
    await waitFor('the offset', async () => Number(await offsetAt(at)) > 0);
    const offset = Number(await offsetAt(at));
    expect(offset).toBeLessThanOrEqual(3 * MIB);
    expect((await patch(at, offset, FILE.subarray(offset), {}, other)).status).toBe(204);
    expect(FILE.equals(await readFile(`${folder}/half`))).toBe(true);
    expect(await offsetAt(at)).toBe(`${FILE.byteLength}`);
  });

  it('keeps what came of a body that stands still when fs is told to stop', async () => {
    const slow = await startFsProcess(installation, undefined, { WHARF_GRACE_SECONDS: '5' });
    const at = await begin('/l/slow', 4 * MIB);
    const never = Promise.withResolvers<never>();
    async function* stands() {
      yield FILE.subarray(0, 3 * MIB);
      await never.promise;
    }
    const headers = { ...BODY, ...headersAs({ ...USER, id: 5 }), 'Tus-Resumable': '1.0.0', 'Upload-Offset': '0' };
    const sending = httpRequest(slow.url, { method: 'PATCH', path: at, headers, body: Readable.from(stands()) }).catch(() => undefined);
    await waitFor('the bytes', async () => (await stat(`${folder}/.wharf-tmp/draft-${at.slice(-32)}`)).size > MIB);
    await slow.stop();
    never.reject(new Error('over'));
    await sending;
    const offset = Number(await offsetAt(at));
    expect(offset).toBeGreaterThan(MIB);
    expect((await patch(at, offset, FILE.subarray(offset, 4 * MIB))).status).toBe(204);
    expect(FILE.subarray(0, 4 * MIB).equals(await readFile(`${folder}/slow`))).toBe(true);
  });

  it('answers 423 to a look where the failure may be over in a moment, as clients begin anew at any other', async () => {
    const at = await begin('/l/busy', 4);
    const claims = { complete: { writer: 'another', until: new Date(Date.now() + 30_000) } };
    const model = writeSessionModelOf(one.kit.store);
    await model.updateOne({ _id: at.slice(-32) }, { $set: { 'upload.offset_bytes': 4, 'upload.claims': claims } });
    expect((await send('HEAD', at)).status).toBe(423);
    expect((await send('DELETE', at)).status).toBe(204);
  });

  it.each([
    ['QUOTA_EXCEEDED', 507],
    ['PERMISSION_DENIED', 423],
    ['STORAGE_READ_ONLY', 423],
    ['UNSUPPORTED_OPERATION', 423],
  ] as const)('stays when its storage says %s, which may be over in a moment, and goes on afterwards', async (code, status) => {
    const at = await begin('/f/again', 8);
    expect((await patch(at, 0, 'half')).status).toBe(204);
    saysOfBytes = code;
    expect((await patch(at, 4, 'full')).status).toBe(status);
    saysOfBytes = undefined;
    expect(await offsetAt(at, one)).toBe('4');
    expect((await patch(at, 4, 'full')).status).toBe(204);
    expect(await readFile(`${folder}/again`, 'utf8')).toBe('halffull');
  });

  it('that is begun with bytes which its storage does not take leaves nothing, for its client knows no place to go on', async () => {
    saysOfBytes = 'QUOTA_EXCEEDED';
    const headers = { 'File-Path': '/f/refused', 'Upload-Length': '8', ...BODY };
    const answer = await send('POST', '/api/fs/tus', headers, 'half');
    saysOfBytes = undefined;
    expect([answer.status, answer.headers['location']]).toEqual([413, undefined]);
    const other = await send('POST', '/api/fs/tus', { ...headers, 'Upload-Checksum': 'sha1 another' }, 'half');
    expect([other.status, other.headers['location']]).toEqual([460, undefined]);
    expect((await readdir(folder, { recursive: true })).filter((name) => name.includes('draft-'))).toEqual([]);
  });

  it('is refused where it is to heed If-Match', async () => {
    const headers = { 'File-Path': '/l/matched', 'Upload-Length': '4', 'If-Match': '"known"' };
    expect((await send('POST', '/api/fs/tus', headers)).status).toBe(400);
  });

  it('stays while its storage is switched off', async () => {
    await mkdir(`${installation.dir}/switched`);
    const addition = JSON.stringify({ root_folder_path: `${installation.dir}/switched` });
    const turn = async (disabled: boolean) =>
      installation.announce(await installation.writeStorage({ _id: 8, mount_path: '/s', addition, disabled }));
    const created = { 'File-Path': '/s/probe', 'Upload-Length': '4' };
    const isThere = async () => (await send('POST', '/api/fs/tus', created)).status === 201;
    await turn(false);
    await waitFor('the storage', isThere);
    const at = await begin('/s/again', 8);
    expect((await patch(at, 0, 'half')).status).toBe(204);
    await turn(true);
    await waitFor('the storage to be gone', async () => !(await isThere()));
    expect((await patch(at, 4, 'full')).status).toBe(423);
    await turn(false);
    await waitFor('the storage', isThere);
    expect(await offsetAt(at, one)).toBe('4');
    expect((await patch(at, 4, 'full')).status).toBe(204);
    expect(await readFile(`${installation.dir}/switched/again`, 'utf8')).toBe('halffull');
  });

  it('refuses another offset, another type and too long a body, and nothing is changed', async () => {
    const at = await begin('/l/held', 10);
    expect((await patch(at, 5, 'xxxxx')).status).toBe(409);
    expect((await patch(at, 0, 'x'.repeat(11))).status).toBe(400);
    expect((await send('PATCH', at, { 'Upload-Offset': '0' }, 'x')).status).toBe(415);
    for (const offset of ['-1', 'x', '']) expect((await send('PATCH', at, { ...BODY, 'Upload-Offset': offset }, 'x')).status).toBe(400);
    expect((await send('HEAD', '/api/fs/tus/x')).status).toBe(404);
    expect((await send('GET', at)).status).toBe(405);
    expect(await offsetAt(at)).toBe('0');
    expect((await send('DELETE', at)).status).toBe(204);
    expect((await send('HEAD', at)).status).toBe(404);
    expect(await files()).toEqual([]);
  });

  it('holds a body against its digest, and takes it whole or not at all', async () => {
    const at = await begin('/l/checked', 8);
    const digest = (text: string) => `sha1 ${createHash('sha1').update(text).digest('base64')}`;
    expect((await patch(at, 0, 'abcd', { 'Upload-Checksum': digest('else') })).status).toBe(460);
    expect(await offsetAt(at)).toBe('0');
    expect((await patch(at, 0, 'abcd', { 'Upload-Checksum': 'crc99 AAAA' })).status).toBe(400);
    expect((await patch(at, 0, 'abcd', { 'Upload-Checksum': digest('abcd') })).status).toBe(204);
    expect((await patch(at, 4, 'efgh')).status).toBe(204);
    expect(await readFile(`${folder}/checked`, 'utf8')).toBe('abcdefgh');
  });

  it('follows no bytes of a refused body: the right file is stored, another is not', async () => {
    const digest = (text: string) => `sha1 ${createHash('sha1').update(text).digest('base64')}`;
    const announced = { 'X-File-Sha256': createHash('sha256').update('GOODrightend').digest('hex') };
    for (const [name, end, status] of [
      ['right', 'rightend', 204],
      ['other', 'EVILEVIL', 422],
    ] as const) {
      const at = await begin(`/l/${name}`, 12, announced);
      expect((await patch(at, 0, 'GOOD', { 'Upload-Checksum': digest('GOOD') })).status).toBe(204);
      for (const body of ['CORRUPT!', 'rightend'])
        expect((await patch(at, 4, body, { 'Upload-Checksum': digest('else') })).status).toBe(460);
      expect((await patch(at, 4, end)).status).toBe(status);
    }
    expect(await files()).toEqual(['right']);
    expect(await readFile(`${folder}/right`, 'utf8')).toBe('GOODrightend');
  });

  it('asks for the password of what is guarded since', async () => {
    await upload('/l/sec/a', {}, Buffer.from('kept'));
    const at = await begin('/l/sec/a', 4);
    const known = await begin('/l/sec/a', 4);
    const fresh = await begin('/l/sec/b', 4);
    await installation.writeRule({ _id: 1, path: '/l/sec', password: 'word', p_sub: true });
    const again = { 'File-Path': '/l/sec/a', 'Upload-Length': '4' };
    await waitFor('the rule', async () => (await send('POST', '/api/fs/tus', again)).status === 403);
    expect((await patch(at, 0, 'EVIL')).status).toBe(403);
    expect(await readFile(`${folder}/sec/a`, 'utf8')).toBe('kept');
    expect((await patch(known, 0, 'mine', { Password: 'word' })).status).toBe(204);
    expect(await readFile(`${folder}/sec/a`, 'utf8')).toBe('mine');
    // Nothing is there to be destroyed.
    expect((await patch(fresh, 0, 'more')).status).toBe(204);
  });

  it('takes an empty file, and says when an upload ends', async () => {
    const at = await begin('/l/empty', 0, { 'Upload-Metadata': 'filename eA==' });
    const { headers } = await send('HEAD', at);
    expect([headers['upload-offset'], headers['upload-length'], headers['upload-metadata']]).toEqual(['0', '0', 'filename eA==']);
    expect(Date.parse(String(headers['upload-expires']))).toBeGreaterThan(Date.now());
    expect(await files()).toEqual(['empty']);
  });

  it('one writer takes over from another, whose bytes do not come behind', async () => {
    const at = await begin('/l/over', 2 * MIB);
    const gate = Promise.withResolvers<void>();
    async function* stands() {
      yield Buffer.alloc(MIB, 'x');
      await gate.promise;
      yield Buffer.alloc(MIB, 'x');
    }
    const first = patch(at, 0, Readable.from(stands())).catch(() => undefined);
    const model = writeSessionModelOf(one.kit.store);
    await waitFor('the first', async () => (await model.findById(at.slice(-32)).lean())?.upload?.claims?.['stream'] !== undefined);
    const second = await waitFor('the second', async () => {
      const answer = await patch(at, Number(await offsetAt(at)), FILE.subarray(Number(await offsetAt(at)), 2 * MIB));
      return answer.status === 204 && answer;
    });
    gate.resolve();
    expect(second.headers['upload-offset']).toBe(`${2 * MIB}`);
    expect((await first)?.status).not.toBe(204);
    const stored = await readFile(`${folder}/over`);
    const taken = stored.findIndex((byte, index) => byte !== 0x78 || !stored.subarray(index, index + 64).every((next) => next === 0x78));
    expect(stored.subarray(taken).equals(FILE.subarray(taken, 2 * MIB))).toBe(true);
  });

  it('concatenation needs complete partial uploads of the caller', async () => {
    const partial = await begin('/l/joined', 4, { 'Upload-Concat': 'partial' });
    const join = (urls: string) => send('POST', '/api/fs/tus', { 'File-Path': '/l/joined', 'Upload-Concat': `final;${urls}` });
    expect((await join(partial)).status).toBe(400);
    await patch(partial, 0, 'abcd');
    expect(await files()).not.toContain('joined');
    expect((await join(`${partial} /api/fs/tus/${'0'.repeat(32)}`)).status).toBe(404);
    expect(
      (await send('POST', '/api/fs/tus', { 'File-Path': '/x', 'Upload-Concat': `final;${partial}`, Authorization: limited })).status,
    ).toBe(403);
    expect((await join(`${partial} ${partial}`)).status).toBe(400);
    expect((await join(partial)).status).toBe(201);
    expect(await readFile(`${folder}/joined`, 'utf8')).toBe('abcd');
    expect(await files()).toEqual(['joined']);
  });

  it('a partial upload that is taken away while it is put together is not there any more', async () => {
    const partial = await begin('/f/part', 4, { 'Upload-Concat': 'partial' });
    await patch(partial, 0, 'abcd');
    const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let removal: ReturnType<typeof send> | undefined;
    whileDiscarded = () => {
      whileDiscarded = undefined;
      begun.resolve();
      return answered.promise;
    };
    whileRead = async () => {
      removal ??= send('DELETE', partial);
      await begun.promise;
    };
    const joined = await send('POST', '/api/fs/tus', { 'File-Path': '/f/joined', 'Upload-Concat': `final;${partial}` });
    whileRead = undefined;
    answered.resolve();
    expect([joined.status, (await removal)?.status]).toEqual([404, 204]);
    expect(await files()).toEqual([]);
  });

  it('a concatenation that is asked for once more, as its process ended when the file had its name, replaces nothing that was stored since', async () => {
    const partial = await begin('/f/joined', 4, { 'Upload-Concat': 'partial' });
    await patch(partial, 0, 'text');
    const join = () => send('POST', '/api/fs/tus', { 'File-Path': '/f/joined', 'Upload-Concat': `final;${partial}` });
    keepsDrafts = true;
    const joined = await join();
    keepsDrafts = false;
    expect(joined.status).toBe(201);
    await writeFile(`${folder}/joined`, 'edit');
    const again = await join();
    expect([again.status, again.headers.location]).toEqual([201, joined.headers.location]);
    expect(await readFile(`${folder}/joined`, 'utf8')).toBe('edit');
    expect((await send('HEAD', partial)).status).toBe(404);
  });

  it('a concatenation whose file has its name has not failed where a partial upload cannot be taken away', async () => {
    const partial = await begin('/f/joined', 4, { 'Upload-Concat': 'partial' });
    await patch(partial, 0, 'abcd');
    keepsDrafts = true;
    const joined = await send('POST', '/api/fs/tus', { 'File-Path': '/f/joined', 'Upload-Concat': `final;${partial}` });
    keepsDrafts = false;
    expect(joined.status).toBe(201);
    expect(await readFile(`${folder}/joined`, 'utf8')).toBe('abcd');
    expect((await send('DELETE', partial)).status).toBe(204);
    expect(await files()).toEqual(['joined']);
  });
});
