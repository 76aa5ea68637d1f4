import { readdir, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { httpRequest } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryDriver } from '../src/drivers/memory/index.ts';
import { type Installation, openInstallation } from './installation.ts';
import { mountSmallDisk, mounts } from './local/small-disk.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;

let installation: Installation;
let login: string;

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 2, mount_path: '/p', driver: 'Memory', addition: '{"profile":"picky"}' });
  login = await installation.login({ id: 5, permission: WRITE });
});
afterAll(() => installation?.close());

/** Uploads without saying a size. */
async function put(dataDir: string, mebibytes: number) {
  const { url } = await installation.open([memoryDriver], { dataDir });
  const body = Readable.from(
    (function* () {
      for (let index = 0; index < mebibytes; index += 1) yield Buffer.alloc(MIB, index);
    })(),
  );
  const headers = { Authorization: login, 'File-Path': '/p/file' };
  return (await httpRequest(url, { method: 'PUT', path: '/api/fs/put', headers, body })).json();
}

describe('a content of unknown size, for a storage that must be told it', () => {
  it('waits in the data folder, without a name', async () => {
    const dataDir = `${installation.dir}/data`;
    expect(await put(dataDir, 3)).toMatchObject({ code: 200 });
    expect((await stat(`${dataDir}/unsized`)).mode & 0o777).toBe(0o700);
    expect(await readdir(`${dataDir}/unsized`)).toEqual([]);
  });

  it.runIf(mounts).each([
    ['is full but for what is left to others', 200, 1],
    ['becomes so meanwhile', 280, 60],
  ])('is refused as one without room where the disk %s', async (_how, diskMb, mebibytes) => {
    const dataDir = `${installation.dir}/disk-${diskMb}`;
    await mountSmallDisk(dataDir, diskMb);
    expect(await put(dataDir, mebibytes)).toMatchObject({ code: 500, message: expect.stringContaining('no room to find it out') });
  });
});
