import { createHmac } from 'node:crypto';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { at, download, generateContent, httpRequest } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { put, rawPath } from '../support/files.ts';
import { dataOf } from '../support/people.ts';
import type { World } from '../support/world.ts';

const SIZE = 100_000;

/** Downloads by link. */
export function downloads(world: World): void {
  const { admin, base } = world;

  const makeFile = async (name = 'file.bin') => {
    const { path, disk } = await world.folder('download');
    const content = Buffer.concat([...generateContent('download', SIZE)]);
    await put(admin, base, `${path}/${name}`, content, { 'last-modified': String(Date.UTC(2020, 5, 1, 12, 0, 0)) });
    return { path: `${path}/${name}`, folder: path, disk, content, link: await rawPath(admin, `${path}/${name}`) };
  };
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') => httpRequest(base, { path, headers, method });
  /** What a tool that knows the permanent token computes itself. */
  const computeSign = async (path: string, expiry: number) => {
    const key = String(at(await dataOf(admin, '/api/admin/setting/get?key=token'), 'value'));
    return `${createHmac('sha256', key).update(`${path}:${expiry}`).digest('base64').replaceAll('+', '-').replaceAll('/', '_')}:${expiry}`;
  };

  describe('downloads', () => {
    test('HEAD tells what GET would send, on /d and /p', async () => {
      const { link, content } = await makeFile();
      for (const route of [link, link.replace('/p/', '/d/')]) {
        const [head, get] = [await ask(route, {}, 'HEAD'), await ask(route)];
        expect([head.status, get.status]).toEqual([200, 200]);
        expect(head.body).toHaveLength(0);
        expect(get.body.equals(content)).toBe(true);
        for (const name of ['content-length', 'etag', 'last-modified', 'content-type', 'accept-ranges', 'content-disposition'])
          expect(head.headers[name], name).toBe(get.headers[name]);
        expect(get.headers).toMatchObject({
          'content-length': String(SIZE),
          'accept-ranges': 'bytes',
          'last-modified': 'Mon, 01 Jun 2020 12:00:00 GMT',
        });
      }
    });

    test('one range, an open one, a suffix and what is beyond the end', async () => {
      const { link, content } = await makeFile();
      const ranges: [string, number, number][] = [
        ['bytes=0-0', 0, 1],
        ['bytes=10-19', 10, 20],
        [`bytes=${SIZE - 5}-`, SIZE - 5, SIZE],
        ['bytes=-7', SIZE - 7, SIZE],
        [`bytes=99990-${SIZE * 2}`, 99_990, SIZE],
        [`bytes=-${SIZE * 2}`, 0, SIZE],
      ];
      for (const [range, start, end] of ranges) {
        const answer = await ask(link, { range });
        expect(answer.status, range).toBe(206);
        expect(answer.headers['content-range'], range).toBe(`bytes ${start}-${end - 1}/${SIZE}`);
        expect(answer.body.equals(content.subarray(start, end)), range).toBe(true);
      }
      for (const range of [`bytes=${SIZE}-`, `bytes=${SIZE * 9}-${SIZE * 10}`, 'bytes=-0']) {
        const answer = await ask(link, { range });
        expect([answer.status, answer.headers['content-range']], range).toEqual([416, `bytes */${SIZE}`]);
      }
      for (const range of ['bytes=x', 'bytes=5-2', 'lines=1-2', 'bytes', 'bytes=0-99999999999999999999999999'])
        expect([200, 206, 416], range).toContain((await ask(link, { range })).status);
    });

    test('several ranges come as parts', async () => {
      const { link, content } = await makeFile();
      const answer = await ask(link, { range: 'bytes=0-9,50-59,-10' });
      expect(answer.status).toBe(206);
      const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(answer.headers['content-type'] ?? '')?.[1];
      expect(answer.headers['content-length']).toBe(String(answer.body.length));
      const parts = answer.body.toString('latin1').split(`--${boundary}`).slice(1, -1);
      expect(parts.map((part) => /Content-Range: (.*)\r\n/i.exec(part)?.[1])).toEqual([
        `bytes 0-9/${SIZE}`,
        `bytes 50-59/${SIZE}`,
        `bytes ${SIZE - 10}-${SIZE - 1}/${SIZE}`,
      ]);
      const bodies = parts.map((part) => Buffer.from(part.slice(part.indexOf('\r\n\r\n') + 4, -2), 'latin1'));
      expect(Buffer.concat(bodies).equals(Buffer.concat([content.subarray(0, 10), content.subarray(50, 60), content.subarray(-10)]))).toBe(
        true,
      );
      const many = await ask(link, { range: `bytes=${Array.from({ length: 500 }, (_, index) => `${index * 2}-${index * 2}`).join(',')}` });
      expect([200, 206, 416]).toContain(many.status);
      expect(many.body.length).toBeLessThanOrEqual(SIZE * 2);
    });

    test('conditional requests are answered as they are meant', async () => {
      const { link, content } = await makeFile();
      const { etag = '', 'last-modified': modified = '' } = (await ask(link)).headers;
      const [earlier, later] = ['Mon, 01 Jun 2015 12:00:00 GMT', 'Sat, 01 Jun 2024 12:00:00 GMT'];
      const cases: [Record<string, string>, number][] = [
        [{ 'if-none-match': etag }, 304],
        [{ 'if-none-match': `"other", W/${etag}` }, 304],
        [{ 'if-none-match': '*' }, 304],
        [{ 'if-none-match': '"other"' }, 200],
        [{ 'if-modified-since': modified }, 304],
        [{ 'if-modified-since': later }, 304],
        [{ 'if-modified-since': earlier }, 200],
        [{ 'if-none-match': '"other"', 'if-modified-since': later }, 200],
        [{ 'if-match': etag }, 200],
        [{ 'if-match': '"other"' }, 412],
        [{ 'if-unmodified-since': earlier }, 412],
        [{ 'if-unmodified-since': later }, 200],
        [{ range: 'bytes=0-9', 'if-range': etag }, 206],
        [{ range: 'bytes=0-9', 'if-range': modified }, 206],
        [{ range: 'bytes=0-9', 'if-range': '"other"' }, 200],
        [{ range: 'bytes=0-9', 'if-range': earlier }, 200],
      ];
      for (const [headers, status] of cases) {
        const answer = await ask(link, headers);
        expect(answer.status, JSON.stringify(headers)).toBe(status);
        if (status === 200) expect(answer.body.equals(content)).toBe(true);
        if (status === 304) expect(answer.body).toHaveLength(0);
      }
    });

    test('a link works with its signature alone: missing, changed, expired and foreign ones are refused, without padding it is right', async () => {
      const { link, path, folder } = await makeFile();
      await put(admin, base, `${folder}/other.bin`, 'other');
      const [address = '', query = ''] = link.split('?');
      const sign = new URLSearchParams(query).get('sign') ?? '';
      const withSign = (value: string) => ask(`${address}?sign=${encodeURIComponent(value)}`);
      expect(sign).toBe(await computeSign(path, 0));
      expect((await withSign(sign.replaceAll('=', ''))).status).toBe(200);
      expect((await withSign(`${sign}/`)).status).toBe(200);
      expect((await ask(`${address}?sign=${sign}&alist_ts=123`)).status).toBe(200);
      const now = Math.floor(Date.now() / 1000);
      expect((await withSign(await computeSign(path, now + 60))).status).toBe(200);
      const [mac = ''] = sign.split(':');
      const refused: [string, string][] = [
        ['', 'expire missing'],
        [mac, 'expire missing'],
        [`${mac}:`, 'expire missing'],
        [`${mac}:soon`, 'expire invalid'],
        [`${mac}:${now + 60}`, 'sign invalid'],
        [`${sign.startsWith('x') ? 'y' : 'x'}${sign.slice(1)}`, 'sign invalid'],
        [`${mac.toLowerCase()}:0`, 'sign invalid'],
        [':0', 'sign invalid'],
        [await computeSign(path, now - 60), 'sign expired'],
        [await computeSign(`${folder}/other.bin`, 0), 'sign invalid'],
      ];
      for (const [value, text] of refused) {
        const answer = await withSign(value);
        expect([answer.status, answer.text().includes(text)], `${value}: ${answer.text()}`).toEqual([401, true]);
      }
      expect((await ask(address)).status).toBe(401);
      expect((await ask(address, { authorization: admin.token ?? '' })).status).toBe(401);
    });

    test('nothing that a user stored runs as a page: nosniff, attachment, sandbox; and every page may read it', async () => {
      for (const name of ['page.html', 'image.svg', 'script.js', 'doc.xhtml', 'note.md']) {
        const { link } = await makeFile(name);
        const { headers } = await ask(link, { origin: 'https://elsewhere.example' });
        expect(headers['x-content-type-options'], name).toBe('nosniff');
        expect(headers['content-disposition'], name).toBe(`attachment; filename="${name}"; filename*=utf-8''${name}`);
        expect(headers['content-security-policy'], name).toContain('sandbox');
        expect(headers['access-control-allow-origin'], name).toBe('*');
        expect(headers['set-cookie']).toBeUndefined();
      }
      const { link } = await makeFile();
      const preflight = await ask(link, { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' }, 'OPTIONS');
      expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, '*']);
      const call = await httpRequest(base, { path: '/api/me', headers: { origin: 'https://elsewhere.example' } });
      expect(call.headers['access-control-allow-origin']).toBeUndefined();
    });

    test('folders, what is not there and other methods are refused with a real status and a line of text', async () => {
      const { link, folder } = await makeFile();
      const signed = async (route: string, path: string) =>
        `${route}${encodeURI(path)}?sign=${encodeURIComponent(await computeSign(path, 0))}`;
      for (const route of ['/d', '/p']) {
        for (const path of [folder, '/local', `${folder}/missing.bin`, '/nowhere/file.bin', '/']) {
          const answer = await ask(await signed(route, path));
          expect(answer.status, `${route} ${path}`).toBeGreaterThanOrEqual(400);
          expect(answer.status, `${route} ${path}`).toBeLessThan(500);
          expect(answer.text(), path).toMatch(/^[^\n]{1,200}\n?$/);
          expect(answer.text(), path).not.toContain(world.outside);
        }
        expect((await ask(`${route}/nowhere/at/all.bin`)).status).toBe(401);
      }
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) expect((await ask(link, {}, method)).status, method).toBe(405);
      expect((await ask('/d/%ff%fe')).status).toBe(400);
      expect(at(await admin.call('/api/fs/get', { path: folder }), 'raw_url')).toBe('');
    });

    test('every character of a name is quoted in the headers', async () => {
      const { path } = await world.folder('odd-names');
      for (const name of [
        `quo"te'.txt`,
        'semi;colon, comma.txt',
        'ünï 日本 👍.txt',
        '100%.txt',
        'a b+c&d=e@f:g$h.txt',
        '(paren)!*~.txt',
        '<script>.txt',
      ]) {
        await put(admin, base, `${path}/${name}`, name);
        const { status, headers, text } = await ask(await rawPath(admin, `${path}/${name}`));
        expect([status, text()]).toEqual([200, name]);
        const [, plain = '', extended = ''] =
          /^attachment; filename="([^"]*)"; filename\*=utf-8''([\w%.~!$&+^`|-]*)$/.exec(headers['content-disposition'] ?? '') ?? [];
        expect(decodeURIComponent(plain), name).toBe(name);
        expect(decodeURIComponent(extended), name).toBe(name);
      }
    });

    test('a client that goes away in the middle, or never reads, costs nobody else anything', async () => {
      const { path, disk } = await world.folder('gone');
      await put(admin, base, `${path}/big.bin`, generateContent('gone', 24 * 1024 * 1024));
      await symlink('big.bin', join(disk, 'alias.bin'));
      const link = await rawPath(admin, `${path}/big.bin`);
      const away = Array.from({ length: 8 }, () =>
        download(base, { path: link }, (received) => {
          if (received > 100_000) throw new Error('enough');
        }).then(
          () => 'whole',
          (error: Error) => error.message,
        ),
      );
      expect(await Promise.all(away)).toEqual(away.map(() => 'enough'));
      expect((await download(base, { path: link })).sizeBytes).toBe(24 * 1024 * 1024);
      expect((await download(base, { path: await rawPath(admin, `${path}/alias.bin`) })).sizeBytes).toBe(24 * 1024 * 1024);
    });
  });
}
