import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transformer } from '@napi-rs/image';
import { type HttpRequest, httpRequest, isAvailable, isMissing } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decorated, operationsOf } from '../src/driver-contract/complete-driver.ts';
import { at, put } from '../src/driver-contract/conformance/driver-calls.ts';
import { defineDriver } from '../src/driver-contract/define-driver.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { aliasDriver } from '../src/drivers/alias/index.ts';
import { cryptDriver } from '../src/drivers/crypt/index.ts';
import { MemoryDriver } from '../src/drivers/memory/driver.ts';
import { webdavDriver } from '../src/drivers/webdav/index.ts';
import { startNextcloudDouble } from '../src/drivers/webdav/testing/nextcloud-double.ts';
import { readImageHeader } from '../src/thumbnails/image-header.ts';
import { bombOf, pngOf } from '../src/thumbnails/testing/pictures.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

/** A storage that says of every file that it has a picture, and hands over what a test says. */
const stored = new MemoryDriver();
const pictures = new Map<string, () => Promise<Uint8Array>>();
let asked: string[] = [];
const ownDriver = defineDriver({
  name: 'Own',
  label: 'Own',
  configSchema: z.object({}),
  open: async () =>
    decorated({
      ...operationsOf(stored),
      async stat(path, options) {
        const entry = await stored.stat(path, options);
        return entry.isDirectory ? entry : { ...entry, hasThumbnail: true };
      },
      async *list(directory, options) {
        for await (const entry of stored.list(directory, options)) yield entry.isDirectory ? entry : { ...entry, hasThumbnail: true };
      },
      listNames: undefined,
      statMany: undefined,
      async read(path, range, options) {
        asked.push(`read ${path}`);
        return stored.read(path, range, options);
      },
      async thumbnail(path) {
        asked.push(`thumbnail ${path}`);
        const image = await pictures.get(path)?.();
        if (image === undefined) throw storageError('UNSUPPORTED_OPERATION');
        return { entry: await stored.stat(path), image };
      },
    }),
});

const nextcloud = await startNextcloudDouble();
let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/own', cache_expiration: 0, driver: 'Own', addition: '{}' });
  await installation.writeStorage({ _id: 2, mount_path: '/alias', cache_expiration: 0, driver: 'Alias', addition: '{"paths":"/own"}' });
  const crypt = {
    ...{ remote_path: '/own/crypt', password: 'a password', filename_encoding: 'base64', encrypted_suffix: '.bin' },
    ...{ filename_encryption: 'off', directory_name_encryption: 'false' },
  };
  await installation.writeStorage({ _id: 3, mount_path: '/crypt', driver: 'Crypt', addition: JSON.stringify(crypt) });
  await stored.makeDirectory(at('/crypt'));
  if (!isMissing(nextcloud)) {
    const { url, username, password } = nextcloud;
    const items = { address: url, username, password, root_folder_path: '/' };
    await installation.writeStorage({ _id: 4, mount_path: '/cloud', driver: 'WebDav', addition: JSON.stringify(items) });
  }
  replica = await installation.open([ownDriver, aliasDriver, cryptDriver, webdavDriver]);
});
afterAll(async () => {
  await installation?.close();
  if (!isMissing(nextcloud)) await nextcloud.stop();
});

const thumb = (path: string, rest: Partial<HttpRequest> = {}) =>
  httpRequest(replica.url, { path: `/d${path}?type=thumb&${installation.sign(path)}`, ...rest });

async function thumbsIn(path: string, identity: typeof ADMIN | typeof USER = ADMIN, revision?: number): Promise<Record<string, string>> {
  const thumbs: Record<string, string> = {};
  const call = installation.as(identity, revision === undefined ? undefined : { admin: revision });
  for await (const { entries } of replica.fs.listEntries({ path, site_url: 'http://site' }, call))
    for (const entry of entries) thumbs[entry.name] = entry.thumb;
  return thumbs;
}

/** Puts a file there, and the picture that the storage has of it. */
async function make(name: string, content: string | Uint8Array, picture?: () => Promise<Uint8Array>): Promise<string> {
  await put(stored, `/${name}`, content);
  if (picture) pictures.set(`/${name}`, picture);
  asked = [];
  return `/own/${name}`;
}

describe('a picture that a storage has of a file', () => {
  it('is what is shown, small and made anew, and the file is not read', async () => {
    const path = await make('photo.png', pngOf(3000, 1000), async () => new Transformer(pngOf(300, 200)).jpegSync(80));
    const answer = await thumb(path);
    expect([answer.status, answer.headers['content-type'], answer.headers['x-content-type-options']]).toEqual([
      200,
      'image/png',
      'nosniff',
    ]);
    expect(readImageHeader(answer.body)).toMatchObject({ format: 'png', width: 144, height: 96 });
    expect(asked).toEqual(['thumbnail /photo.png']);
  });

  it('is shown of files that we could make none of', async () => {
    const path = await make('film.mp4', 'a film', async () => pngOf(160, 90));
    expect((await thumbsIn('/own'))['film.mp4']).toBe(`http://site/d${path}?type=thumb&${installation.sign(path)}`);
    expect(readImageHeader((await thumb(path)).body)).toMatchObject({ width: 144, height: 81 });
  });

  it.each([
    ['none', undefined],
    ['a page', async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')],
    ['nothing', async () => Buffer.alloc(0)],
    ['half a picture', async () => pngOf(300, 200).subarray(0, 60)],
    ['a header of 60000 x 60000 pixels', async () => bombOf(60_000, 60_000)],
    ['a picture of many pixels in few bytes', async () => pngOf(5_000, 4_000)],
    ['too many bytes', async () => Buffer.concat([pngOf(30, 20), Buffer.alloc(2_100_000)])],
    [
      'a failure',
      async () => {
        throw storageError('STORAGE_UNAVAILABLE');
      },
    ],
  ])('is made of the file where there is %s', async (what, picture) => {
    const name = `bad ${what}.png`;
    const path = encodeURI(await make(name, pngOf(300, 100), picture));
    const answer = await httpRequest(replica.url, { path: `/d${path}?type=thumb&${installation.sign(decodeURI(path))}` });
    expect(readImageHeader(answer.body)).toMatchObject({ format: 'png', width: 144, height: 48 });
    expect(asked).toContain(`read /${name}`);
  });

  it('is refused where there is no other way', async () => {
    const path = await make('bad.mp4', 'a film', async () => Buffer.from('<html>'));
    const answer = await thumb(path);
    expect([answer.status, answer.text()]).toEqual([400, 'the file is not a picture that can be shown small\n']);
    expect(asked).not.toContain('read /bad.mp4');
  });

  it('that fails again and again says nothing of the storage', async () => {
    const path = await make('gone.mp4', 'a film', async () => {
      throw storageError('STORAGE_UNAVAILABLE');
    });
    for (let time = 0; time < 5; time += 1) expect((await thumb(path)).status).toBe(502);
    expect((await httpRequest(replica.url, { path: `/d${path}?${installation.sign(path)}` })).text()).toBe('a film');
  });

  it('is of the file as it was looked at', async () => {
    const path = await make('changing.png', pngOf(300, 100), async () => {
      const isFirst = asked.length === 1;
      if (isFirst) await put(stored, '/changing.png', pngOf(100, 300));
      return isFirst ? pngOf(300, 100) : pngOf(20, 60);
    });
    expect(readImageHeader((await thumb(path)).body)).toMatchObject({ width: 144, height: 432 });
  });

  it('is kept from whom a rule keeps the file, and without a signature nothing is asked for', async () => {
    const path = await make('closed.png', pngOf(10, 10), async () => pngOf(10, 10));
    const revision = await installation.writeRule({ _id: 7, path, password: 'pw' });
    expect((await thumbsIn('/own', USER, revision))['closed.png']).toBe('');
    for (const sign of ['', 'sign=', installation.sign('/own/film.mp4')])
      expect((await httpRequest(replica.url, { path: `/d${path}?type=thumb&${sign}` })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  it('is shown through an alias, and of what is encrypted there is none', async () => {
    await make('through.png', pngOf(3000, 1000), async () => pngOf(300, 200));
    expect(readImageHeader((await thumb('/alias/through.png')).body)).toMatchObject({ width: 144, height: 96 });
    expect((await thumbsIn('/alias'))['through.png']).toContain('type=thumb');
    await make('crypt/sealed.png.bin', pngOf(7, 7), async () => pngOf(5, 5));
    expect(await thumbsIn('/crypt')).toEqual({ 'sealed.png': '' });
  });

  it.runIf(isAvailable('apache2', nextcloud))('is shown of a Nextcloud, which makes one where it says so', async () => {
    if (isMissing(nextcloud)) return;
    for (const name of ['photo.png', 'text.txt']) await writeFile(join(nextcloud.folder, name), pngOf(3000, 1000));
    nextcloud.picture = (answer) => void answer.writeHead(200, { 'Content-Type': 'image/png' }).end(pngOf(150, 50));
    expect(await thumbsIn('/cloud')).toEqual({ 'photo.png': expect.stringContaining('type=thumb'), 'text.txt': '' });
    expect(readImageHeader((await thumb('/cloud/photo.png')).body)).toMatchObject({ format: 'png', width: 144, height: 48 });
    expect(nextcloud.asked.map((query) => [query.get('file'), query.get('x')])).toEqual([['/photo.png', '144']]);
  });
});
