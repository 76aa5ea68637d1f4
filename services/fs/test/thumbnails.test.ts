import { mkdir, readdir, rename, utimes, writeFile } from 'node:fs/promises';
import { Transformer } from '@napi-rs/image';
import { type HttpRequest, httpRequest, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localDriver } from '../src/drivers/local/index.ts';
import { readImageHeader } from '../src/thumbnails/image-header.ts';
import { createPictureMaker } from '../src/thumbnails/picture-maker.ts';
import { bombOf, gifOf, pngOf } from '../src/thumbnails/testing/pictures.ts';
import { createThumbnailCache } from '../src/thumbnails/thumbnail-cache.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
let other: Replica;
let folder: string;
let kept: string;

const SITE = 'https://files.example';

beforeAll(async () => {
  installation = await openInstallation();
  folder = `${installation.dir}/pictures`;
  kept = `${installation.dir}/kept`;
  await mkdir(folder);
  const addition = (thumbnail: boolean) =>
    JSON.stringify({ root_folder_path: folder, thumbnail, thumb_cache_folder: thumbnail ? kept : '' });
  await installation.writeStorage({ _id: 1, mount_path: '/p', addition: addition(true) });
  await installation.writeStorage({ _id: 2, mount_path: '/off', addition: addition(false) });
  replica = await installation.open([localDriver]);
  other = await installation.open([localDriver]);
});
afterAll(() => installation?.close());

const send = (request: HttpRequest, from = replica) => httpRequest(from.url, request);
const thumb = (path: string, from = replica, headers: Record<string, string> = {}, method = 'GET') =>
  send({ path: `/d${path}?type=thumb&${installation.sign(path)}`, headers, method }, from);
const entryOf = async (path: string, identity: typeof ADMIN | typeof USER = ADMIN) =>
  replica.fs.getEntry({ path, site_url: SITE }, installation.as(identity));

describe('the address of a thumbnail', () => {
  it('is given for pictures that we can read, in a listing and alone, and is always signed', async () => {
    const names = ['a.jpg', 'b.PNG', 'c.svg', 'd.mp4', 'e.txt', 'f.webp', 'g.swf', 'h', 'dir.png'];
    for (const name of names.slice(0, -1)) await writeFile(`${folder}/${name}`, 'x');
    await mkdir(`${folder}/dir.png`);
    await installation.announce(await installation.writeSetting('sign_all', 'false'));
    await waitFor('the setting', async () => (await entryOf('/p/a.jpg')).sign === '');
    const thumbs = new Map<string, string>();
    for await (const { entries } of replica.fs.listEntries({ path: '/p', site_url: SITE }, installation.as()))
      for (const { name, thumb: address } of entries) thumbs.set(name, address);
    expect([...thumbs].filter(([, address]) => address !== '').map(([name]) => name)).toEqual(['a.jpg', 'b.PNG', 'f.webp']);
    const address = `${SITE}/d/p/a.jpg?type=thumb&${installation.sign('/p/a.jpg')}`;
    expect(thumbs.get('a.jpg')).toBe(address);
    expect((await entryOf('/p/a.jpg')).thumb).toBe(address);
    expect((await entryOf('/off/a.jpg')).thumb).toBe('');
    await installation.announce(await installation.writeSetting('sign_all', 'true'));
    await waitFor('the setting', async () => (await entryOf('/p/a.jpg')).sign !== '');
  });

  it('is kept from whom a rule keeps the file, and without a signature shows nothing', async () => {
    await writeFile(`${folder}/closed.png`, pngOf(10, 10));
    const revision = await installation.writeRule({ _id: 7, path: '/p/closed.png', password: 'pw' });
    const known = installation.as(USER, { admin: revision });
    const seen: string[] = [];
    for await (const { entries } of replica.fs.listEntries({ path: '/p', site_url: SITE }, known))
      seen.push(...entries.filter(({ name }) => name === 'closed.png').map(({ thumb: address }) => address));
    expect(seen).toEqual(['']);
    expect((await thumb('/p/closed.png')).status).toBe(200);
    // What is kept now is shown to nobody who could not read the file.
    for (const sign of ['', 'sign=', installation.sign('/p/a.jpg')])
      expect((await send({ path: `/d/p/closed.png?type=thumb&${sign}` })).status).toBe(401);
  });
});

describe('a thumbnail', () => {
  it.each([
    ['png', () => pngOf(300, 200)],
    ['jpg', () => new Transformer(pngOf(300, 200)).jpegSync(80)],
    ['webp', () => new Transformer(pngOf(300, 200)).webpSync(80)],
    ['bmp', () => new Transformer(pngOf(300, 200)).bmpSync()],
    ['tiff', () => new Transformer(pngOf(300, 200)).tiffSync()],
    ['gif', () => gifOf(300, 200, new Array(300 * 200).fill(3))],
  ])('of a %s is a PNG of 144 pixels width that runs nothing', async (extension, make) => {
    await writeFile(`${folder}/kind.${extension}`, make());
    const answer = await thumb(`/p/kind.${extension}`);
    expect([answer.status, answer.headers['content-type'], answer.headers['x-content-type-options']]).toEqual([
      200,
      'image/png',
      'nosniff',
    ]);
    expect(answer.headers['content-security-policy']).toContain('sandbox');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(readImageHeader(answer.body)).toMatchObject({ format: 'png', width: 144, height: 96 });
  });

  it('stands upright as the camera noted it', async () => {
    const jpeg = new Transformer(pngOf(300, 200)).jpegSync(80);
    // The shortest Exif that says: turn it by 90 degrees.
    const tiff = Buffer.from('4d4d002a00000008' + '0001' + '0112' + '0003' + '00000001' + '00060000' + '00000000', 'hex');
    const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]);
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0, exif.length + 2]), exif]);
    await writeFile(`${folder}/turned.jpg`, Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]));
    expect(readImageHeader((await thumb('/p/turned.jpg')).body)).toMatchObject({ width: 144, height: 216 });
  });

  it('is made again when the file is another, and asked for by version', async () => {
    await writeFile(`${folder}/changing.png`, pngOf(300, 200));
    const first = await thumb('/p/changing.png');
    const { etag = '' } = first.headers;
    expect((await thumb('/p/changing.png', replica, { 'if-none-match': etag })).status).toBe(304);
    expect((await thumb('/p/changing.png', replica, {}, 'HEAD')).body).toHaveLength(0);
    await writeFile(`${folder}/new.png`, pngOf(100, 200));
    await rename(`${folder}/new.png`, `${folder}/changing.png`);
    const second = await thumb('/p/changing.png', other, { 'if-none-match': etag });
    expect(second.status).toBe(200);
    expect(readImageHeader(second.body)).toMatchObject({ width: 144, height: 288 });
  });

  it('is made once for all who ask at once, and kept for every replica', async () => {
    await writeFile(`${folder}/popular.png`, pngOf(3000, 2000));
    const before = (await readdir(kept)).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => thumb('/p/popular.png')));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.toString('base64')}`)).size).toBe(1);
    expect((await readdir(kept)).length).toBe(before + 1);
    expect((await thumb('/p/popular.png', other)).body.equals(answers[0]?.body ?? Buffer.alloc(0))).toBe(true);
    expect((await readdir(kept)).length).toBe(before + 1);
  });

  it('of a storage that makes none is the file itself', async () => {
    await writeFile(`${folder}/plain.png`, pngOf(300, 200));
    expect((await thumb('/off/plain.png')).body.equals(pngOf(300, 200))).toBe(true);
  });
});

describe('what is no picture, or too much of one (C18)', () => {
  it.each([
    ['a header of 60000 x 60000 pixels', 'bomb.png', () => bombOf(60_000, 60_000)],
    ['a canvas of 65535 x 65535 pixels', 'bomb.gif', () => Buffer.from('GIF89a\xff\xff\xff\xff\x80\0\0', 'latin1')],
    ['text', 'text.jpg', () => Buffer.from('text')],
    ['nothing', 'empty.png', () => Buffer.alloc(0)],
    ['half a picture', 'half.png', () => pngOf(300, 200).subarray(0, 60)],
    ['a page of commands', 'page.jpg', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')],
  ])('is refused: %s', async (_what, name, make) => {
    await writeFile(`${folder}/${name}`, make());
    for (let time = 0; time < 2; time += 1) {
      const answer = await thumb(`/p/${name}`);
      expect([answer.status, answer.text()]).toEqual([
        400,
        expect.stringMatching(/^(a picture of \d+ x \d+ pixels is too large|the file is not a picture that can be shown small)\n$/),
      ]);
    }
  });

  it('costs nobody else anything: the process that takes too long is ended, the next picture is made', async () => {
    const maker = createPictureMaker({ timeoutMs: 1 });
    const patient = createPictureMaker();
    const greedy = createPictureMaker({ maxProcessBytes: 1 });
    const large = pngOf(3000, 3000);
    await expect(maker.make(large)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(greedy.make(large)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    expect(readImageHeader(await patient.make(large))).toMatchObject({ width: 144, height: 144 });
    const many = await Promise.all(Array.from({ length: 10 }, () => patient.make(pngOf(20, 10))));
    expect(many.every((each) => readImageHeader(each)?.height === 72)).toBe(true);
    for (const each of [maker, greedy, patient]) each.close();
    await expect(patient.make(large)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });
});

it.each([
  ['', 5_000, 10],
  [', where each counts what it takes of a disk', 50, 12],
])('a folder of thumbnails keeps the ones used last within its size, and touches no other file%s', async (_, bytes, most) => {
  const place = `${installation.dir}/bounded-${bytes}`;
  await mkdir(place);
  await writeFile(`${place}/holiday.png`, Buffer.alloc(100_000));
  const cache = createThumbnailCache(place, 50_000);
  const keys = Array.from({ length: 30 }, (_, index) => index.toString(16).padStart(4, '0'));
  for (const [index, key] of keys.entries()) {
    await cache.write(key, Buffer.alloc(bytes));
    const time = new Date(Date.now() - 1_000_000 + index * 1_000);
    await utimes(`${place}/wharf-thumbnail-${key}.png`, time, time);
    await cache.read('0000');
  }
  const names = await readdir(place);
  expect(names.length).toBeLessThanOrEqual(most + 1);
  expect(names).toContain('holiday.png');
  expect(await cache.read('0000')).toBeDefined();
  expect(await cache.read('001d')).toBeDefined();
  expect(await cache.read('0001')).toBeUndefined();
});
