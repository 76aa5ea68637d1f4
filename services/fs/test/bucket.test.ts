import { createHash } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import {
  type FaultProxy,
  generateContent,
  httpRequest,
  isAvailable,
  isMissing,
  startCephRgw,
  startFaultProxy,
  waitFor,
} from '@wharf/harness';
import type { Task } from '@wharf/proto/task';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { as, type FsProcess, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';
import { uploadByTus, uploadInParts } from './parts.ts';

const server = await startCephRgw();
const LIMIT_MS = 60_000;
const MIB = 1024 * 1024;

/** One storage of each kind behind a whole fs: what people do with a bucket. */
describe.runIf(isAvailable('ceph-rgw', server))('a mounted bucket', () => {
  if (isMissing(server)) return;
  const Bucket = 'mounted';
  const sdk = new S3Client({
    endpoint: server.url,
    region: server.region,
    credentials: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
    forcePathStyle: true,
  });
  let installation: Installation;
  let fs: FsProcess;
  let login: string;
  let folder: string;
  let way: FaultProxy;

  beforeAll(async () => {
    await sdk.send(new CreateBucketCommand({ Bucket }));
    installation = await openInstallation();
    folder = `${installation.dir}/files`;
    await mkdir(folder);
    await installation.writeStorage({ _id: 1, mount_path: '/local', addition: JSON.stringify({ root_folder_path: folder }) });
    way = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(server.url).port) } });
    const items = {
      root_folder_path: '/team',
      bucket: Bucket,
      endpoint: server.url,
      access_key_id: server.accessKeyId,
      secret_access_key: server.secretAccessKey,
      force_path_style: true,
    };
    const addition = JSON.stringify(items);
    await installation.writeStorage({ _id: 2, mount_path: '/s3', driver: 'S3', webdav_policy: '302_redirect', addition });
    await installation.writeStorage({ _id: 3, mount_path: '/proxied', driver: 'S3', web_proxy: true, addition });
    const counted = JSON.stringify({ ...items, endpoint: `http://${way.host}:${way.port}` });
    await installation.writeStorage({ _id: 4, mount_path: '/counted', driver: 'S3', web_proxy: true, addition: counted });
    login = await installation.login({ id: 1, permission: 0xffff });
    fs = await startFsProcess(installation);
  }, LIMIT_MS);
  afterAll(async () => {
    await fs?.stop();
    await installation?.close();
    sdk.destroy();
    await way?.stop();
    await server.stop();
  });

  const put = async (path: string, body: Buffer) => {
    const headers = { Authorization: login, 'File-Path': encodeURIComponent(path) };
    expect((await httpRequest(fs.url, { method: 'PUT', path: '/api/fs/put', headers, body })).json()).toMatchObject({ code: 200 });
  };
  const download = (path: string, headers: Record<string, string> = {}) =>
    httpRequest(fs.url, { path: `/d${path.split('/').map(encodeURIComponent).join('/')}?${installation.sign(path)}`, headers });
  const namesIn = async (path: string) => {
    const names: string[] = [];
    for await (const { entries } of fs.fs.listEntries({ path, page: 1, refresh: true }, as()))
      names.push(...entries.map(({ name }) => name));
    return names.sort();
  };
  const keys = async () => {
    const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket, Prefix: 'team/' }));
    return Contents.map(({ Key = '' }) => Key.slice('team/'.length)).filter((key) => !key.endsWith('.wharf'));
  };
  const finish = async (list: string, tasks: readonly Task[]) => {
    for (const { id } of tasks) {
      await waitFor('the task', async () => [2, 4, 7].includes((await fs.task(list, id)).state), { withinMs: LIMIT_MS });
      expect(await fs.task(list, id)).toMatchObject({ state: 2, error: '' });
    }
  };

  it('takes uploads, lists them, and sends whoever downloads to the store', async () => {
    await put('/s3/docs/ä b+c.txt', Buffer.from('hello world'));
    expect(await namesIn('/s3/docs')).toEqual(['ä b+c.txt']);
    const answer = await download('/s3/docs/ä b+c.txt');
    expect([answer.status, answer.headers['referrer-policy']]).toEqual([302, 'no-referrer']);
    const location = new URL(String(answer.headers['location']));
    expect(location.origin).toBe(server.url);
    expect(location.href).not.toContain(server.secretAccessKey);
    const followed = await httpRequest(server.url, { path: location.pathname + location.search, headers: { Range: 'bytes=6-' } });
    expect([followed.status, followed.text()]).toEqual([206, 'world']);
  });

  it('serves ranges itself where downloads pass through us', async () => {
    const body = Buffer.concat([...generateContent('a bucket', 20 * MIB + 7)]);
    await put('/proxied/big.bin', body);
    const whole = await download('/proxied/big.bin');
    expect([whole.status, createHash('sha256').update(whole.body).digest('hex')]).toEqual([
      200,
      createHash('sha256').update(body).digest('hex'),
    ]);
    const part = await download('/proxied/big.bin', { Range: 'bytes=1048575-9437190' });
    expect([part.status, part.headers['content-range']]).toEqual([206, `bytes 1048575-9437190/${body.byteLength}`]);
    expect(part.body.equals(body.subarray(1_048_575, 9_437_191))).toBe(true);
    expect((await download('/proxied/big.bin', { Range: 'bytes=99999999-' })).status).toBe(416);
  });

  it('asks the store once for a range, also for one of a file that the client knows', async () => {
    const body = Buffer.concat([...generateContent('ranges', 100_000)]);
    await put('/counted/ranges.bin', body);
    const ask = async (headers: Record<string, string>) => {
      const before = way.questions();
      const { status, headers: answered, body: got } = await download('/counted/ranges.bin', headers);
      return { status, range: answered['content-range'], etag: String(answered.etag), got, questions: way.questions() - before };
    };
    const { etag } = await ask({});
    for (const more of [{}, { 'If-Range': etag }]) {
      const part = { status: 206, range: 'bytes 10-99/100000', etag, got: body.subarray(10, 100), questions: 1 };
      expect(await ask({ Range: 'bytes=10-99', ...more })).toEqual(part);
      const rest = { status: 206, range: 'bytes 99000-99999/100000', etag, got: body.subarray(99_000), questions: 1 };
      expect(await ask({ Range: 'bytes=99000-', ...more })).toEqual(rest);
    }
    const whole = { status: 200, range: undefined, etag, got: body };
    expect(await ask({ Range: 'bytes=10-99', 'If-Range': '"another"' })).toMatchObject(whole);
    expect(await ask({ Range: 'bytes=10-99', 'If-None-Match': etag })).toMatchObject({ status: 304, etag });
    expect(await ask({ Range: 'bytes=100000-' })).toMatchObject({ status: 416, range: 'bytes */100000', etag });
  });

  it(
    'takes uploads in parts smaller than its own, and by tus, and has nothing of them beside the files',
    async () => {
      const content = Buffer.concat([...generateContent('in parts', 17 * MIB + 3)]);
      const upload = { url: fs.url, login, content };
      expect(await uploadInParts({ ...upload, path: '/proxied/parts/one' })).toBe(MIB);
      expect((await download('/proxied/parts/one')).body.equals(content)).toBe(true);
      await uploadByTus({ ...upload, path: '/proxied/parts/two' }, 6 * MIB + 1);
      expect((await download('/proxied/parts/two')).body.equals(content)).toBe(true);
      expect(await namesIn('/proxied/parts')).toEqual(['one', 'two']);
      expect((await sdk.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'copies within itself, and moves to a folder of this machine and back, with all there was',
    async () => {
      const text = (name: string) => Buffer.from(`content of ${name}\n`.repeat(1000));
      const names = ['a', 'sub/b', 'sub/deep/c'];
      for (const name of names) await put(`/s3/tree/${name}`, text(name));
      const request = { names: ['tree'], overwrite: false, skip_existing: false, merge: false };
      await fs.fs.makeDirectory({ path: '/s3/other' }, as());
      await finish('copy', (await fs.fs.copyEntries({ ...request, src_dir: '/s3', dst_dir: '/s3/other' }, as())).tasks);
      expect((await keys()).filter((key) => key.startsWith('other/'))).toEqual(names.map((name) => `other/tree/${name}`));
      await finish('move', (await fs.fs.moveEntries({ ...request, src_dir: '/s3', dst_dir: '/local' }, as())).tasks);
      for (const name of names) expect((await readFile(`${folder}/tree/${name}`)).equals(text(name))).toBe(true);
      expect((await keys()).filter((key) => key.startsWith('tree/'))).toEqual([]);
      await finish('move', (await fs.fs.moveEntries({ ...request, src_dir: '/local', dst_dir: '/s3' }, as())).tasks);
      expect((await keys()).filter((key) => key.startsWith('tree/'))).toEqual(names.map((name) => `tree/${name}`));
      await expect(stat(`${folder}/tree`)).rejects.toMatchObject({ code: 'ENOENT' });
    },
    LIMIT_MS * 2,
  );

  it(
    'renames files and folders, by copies inside the store',
    async () => {
      await put('/s3/names/old.txt', Buffer.from('x'));
      await fs.fs.renameEntry({ path: '/s3/names/old.txt', name: 'new.txt', overwrite: false }, as());
      expect(await namesIn('/s3/names')).toEqual(['new.txt']);
    },
    LIMIT_MS,
  );
});
