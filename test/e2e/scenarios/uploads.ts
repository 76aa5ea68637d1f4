import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api, at, describeContent, generateContent, httpRequest, upload, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { authorization, FORM_BOUNDARY, fetchFile, filePath, formBody, formFrame, put, putForm, readEnvelope } from '../support/files.ts';
import { openRaw, writeRaw } from '../support/raw-request.ts';
import { endOf } from '../support/tasks.ts';
import { pathsBelow } from '../support/tree-snapshot.ts';
import type { World } from '../support/world.ts';

const MIB = 1024 * 1024;
/** A body that no limit for JSON would let through. */
const BIG_BYTES = 24 * MIB;

/** Uploads, whole and broken. */
export function uploads(world: World): void {
  const { admin, base } = world;

  /** Sends a request that says it has `announced` bytes (undefined: chunked) and only `sent` of them, waits until they arrived, and breaks off. */
  const breakOff = async (route: 'put' | 'form', path: string, announced: number | undefined, sent: Buffer, how: 'end' | 'destroy') => {
    const framed = route === 'form' ? Buffer.concat([formFrame().head, sent]) : sent;
    const headers = [
      `PUT /api/fs/${route} HTTP/1.1`,
      'Host: wharf',
      `Authorization: ${admin.token}`,
      `File-Path: ${encodeURIComponent(path)}`,
      `Content-Type: ${route === 'form' ? `multipart/form-data; boundary=${FORM_BOUNDARY}` : 'application/octet-stream'}`,
      announced === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${announced}`,
    ];
    const socket = await openRaw(base, `${headers.join('\r\n')}\r\n\r\n`);
    await writeRaw(socket, announced === undefined ? Buffer.concat([Buffer.from(`${framed.length.toString(16)}\r\n`), framed]) : framed);
    await waitFor('the content to arrive', async () => (await inFlightBytes()) > 0);
    if (how === 'end') socket.end();
    else socket.destroy();
    await waitFor('what was sent to be cleared away', async () => (await inFlightBytes()) === 0);
    socket.destroy();
  };
  /** Bytes of all temporary files below the files folder. */
  const inFlightBytes = async (): Promise<number> => {
    const found = (await readdir(world.wharf.filesDir)).filter((name) => name.startsWith('.wharf-tmp'));
    const files = await Promise.all(
      found.map(async (name) => (await readdir(join(world.wharf.filesDir, name))).map((file) => join(world.wharf.filesDir, name, file))),
    );
    const sizes = await Promise.all(files.flat().map(async (file) => (await stat(file).catch(() => undefined))?.size ?? 0));
    return sizes.reduce((sum, size) => sum + size, 0);
  };

  describe('uploads', () => {
    test('a connection that breaks leaves the old file and nothing else', async () => {
      const { path, disk } = await world.folder('broken');
      await put(admin, base, `${path}/old.bin`, 'the old content');
      const part = randomBytes(2 * MIB);
      for (const route of ['put', 'form'] as const)
        for (const how of ['end', 'destroy'] as const)
          for (const announced of [8 * MIB, undefined])
            for (const name of ['old.bin', 'new.bin', 'deep/er/new.bin']) await breakOff(route, `${path}/${name}`, announced, part, how);
      expect(await readFile(join(disk, 'old.bin'), 'utf8')).toBe('the old content');
      expect((await pathsBelow(disk)).filter((name) => name.endsWith('.bin'))).toEqual(['old.bin']);
      expect((await readdir(world.wharf.filesDir)).filter((name) => name.startsWith('.wharf'))).toEqual([]);
    });

    test('a body of unknown length is stored whole', async () => {
      const { path } = await world.folder('chunked');
      const answer = await upload(base, {
        path: '/api/fs/put',
        headers: { ...authorization(admin), ...filePath(`${path}/chunked.bin`) },
        body: generateContent('chunked', 5 * MIB + 3),
      });
      expect(readEnvelope(answer).code).toBe(200);
      const back = await fetchFile(admin, base, `${path}/chunked.bin`);
      expect(createHash('sha256').update(back.body).digest('hex')).toBe(describeContent('chunked', 5 * MIB + 3).sha256);
    });

    test('a file that is there is replaced, unless Overwrite says false', async () => {
      const { path, disk } = await world.folder('overwrite');
      expect(await put(admin, base, `${path}/f.txt`, 'first')).toMatchObject({ code: 200 });
      expect(await put(admin, base, `${path}/f.txt`, 'second', { overwrite: 'true' })).toMatchObject({ code: 200 });
      for (const send of [
        () => put(admin, base, `${path}/f.txt`, 'third', { overwrite: 'false' }),
        () => putForm(admin, base, `${path}/f.txt`, formBody('file', 'third'), { overwrite: 'false' }),
      ])
        expect(await send()).toMatchObject({ code: 403, message: 'file exists', data: null });
      expect(await readFile(join(disk, 'f.txt'), 'utf8')).toBe('second');
      expect(await put(admin, base, `${path}/g.txt`, 'new', { overwrite: 'false' })).toMatchObject({ code: 200 });
      expect(await put(admin, base, `${path}/f.txt`, '4')).toMatchObject({ code: 200 });
      expect(await readFile(join(disk, 'f.txt'), 'utf8')).toBe('4');
    });

    test('an empty body makes an empty file, and missing folders are made', async () => {
      const { path, disk } = await world.folder('empty');
      expect(await put(admin, base, `${path}/a/b/empty.txt`)).toMatchObject({ code: 200 });
      expect(await putForm(admin, base, `${path}/c/d/empty.txt`, formBody('file', ''))).toMatchObject({ code: 200 });
      for (const file of ['a/b/empty.txt', 'c/d/empty.txt']) expect((await stat(join(disk, file))).size).toBe(0);
      expect((await fetchFile(admin, base, `${path}/a/b/empty.txt`)).body).toHaveLength(0);
    });

    test('Last-Modified dates the file, in milliseconds; what is no number of them is passed over', async () => {
      const { path, disk } = await world.folder('dates');
      const time = Date.UTC(2001, 1, 3, 4, 5, 6, 789);
      await put(admin, base, `${path}/dated.txt`, 'x', { 'last-modified': String(time) });
      expect((await stat(join(disk, 'dated.txt'))).mtimeMs).toBeCloseTo(time, -1);
      const shown = at(await admin.call('/api/fs/get', { path: `${path}/dated.txt` }), 'modified');
      expect(Date.parse(String(shown))).toBe(time);
      const before = Date.now() - 2000;
      for (const odd of ['Sat, 03 Feb 2001 04:05:06 GMT', 'soon', '-1', '99999999999999999999'])
        expect(await put(admin, base, `${path}/odd.txt`, 'x', { 'last-modified': odd }), odd).toMatchObject({ code: 200 });
      expect((await stat(join(disk, 'odd.txt'))).mtimeMs).toBeGreaterThan(before);
    });

    test('content that is not what its hash says is not stored', async () => {
      const { path, disk } = await world.folder('hashes');
      const content = 'what was sent';
      const digest = (algorithm: string, of = content) => createHash(algorithm).update(of).digest('hex');
      for (const algorithm of ['md5', 'sha1', 'sha256']) {
        const header = `x-file-${algorithm}`;
        expect(await put(admin, base, `${path}/${algorithm}.txt`, content, { [header]: digest(algorithm) }), algorithm).toMatchObject({
          code: 200,
        });
        expect(
          await put(admin, base, `${path}/upper ${algorithm}.txt`, content, { [header]: digest(algorithm).toUpperCase() }),
        ).toMatchObject({ code: 200 });
        const wrong = await put(admin, base, `${path}/${algorithm}.txt`, 'other content', { [header]: digest(algorithm) });
        expect(wrong.code, algorithm).not.toBe(200);
        const form = await putForm(admin, base, `${path}/form.txt`, formBody('file', 'other content'), { [header]: digest(algorithm) });
        expect(form.code, algorithm).not.toBe(200);
        expect(await readFile(join(disk, `${algorithm}.txt`), 'utf8')).toBe(content);
      }
      expect(await put(admin, base, `${path}/bad.txt`, 'x', { 'x-file-md5': 'zz' })).toMatchObject({ code: 400 });
      expect((await pathsBelow(disk)).filter((name) => /form|bad/.test(name))).toEqual([]);
    });

    test('the part file of a form is taken, and a form without it or its end is refused', async () => {
      const { path, disk } = await world.folder('forms');
      const fieldFirst = Buffer.concat([
        Buffer.from(`--${FORM_BOUNDARY}\r\nContent-Disposition: form-data; name="note"\r\n\r\nsome text\r\n`),
        formBody('file', 'behind a field'),
      ]);
      expect(await putForm(admin, base, `${path}/second.txt`, fieldFirst)).toMatchObject({ code: 200 });
      expect(await readFile(join(disk, 'second.txt'), 'utf8')).toBe('behind a field');
      const escaping = formBody('file', 'x', '../../../escaped.txt');
      expect(await putForm(admin, base, `${path}/named.txt`, escaping)).toMatchObject({ code: 200 });

      const whole = formBody('file', randomBytes(100_000));
      const refused: [string, Buffer, Record<string, string>][] = [
        ['no file', formBody('file', 'text', null), {}],
        ['a file in another field', formBody('upload', 'other field'), {}],
        ['nothing at all', Buffer.from(`--${FORM_BOUNDARY}--\r\n`), {}],
        ['an empty body', Buffer.alloc(0), {}],
        ['no end', whole.subarray(0, 50_000), {}],
        ['no boundary', whole, { 'content-type': 'multipart/form-data' }],
        ['another boundary', whole, { 'content-type': 'multipart/form-data; boundary=other' }],
        ['another type', whole, { 'content-type': 'application/json' }],
      ];
      for (const [what, body, headers] of refused)
        expect(await putForm(admin, base, `${path}/refused.txt`, body, headers), what).toMatchObject({ code: 400, data: null });
      expect((await pathsBelow(disk)).toSorted()).toEqual(['named.txt', 'second.txt']);
    });

    test('who may not upload reads why, also after sending much', async () => {
      const { path } = await world.folder('refused');
      await put(admin, base, `${path}/there.bin`, 'there');
      const big = (caller = admin, target = `${path}/big.bin`, headers = {}) =>
        upload(base, {
          path: '/api/fs/put',
          headers: { ...authorization(caller), ...filePath(target), 'content-length': BIG_BYTES, ...headers },
          body: generateContent('refused', BIG_BYTES),
        }).then(readEnvelope);
      expect(await big(api(base))).toMatchObject({ code: 401, message: 'Guest user is disabled, login please' });
      expect(await big(api(base, 'no token'))).toMatchObject({ code: 401 });
      expect(await big(admin, `${path}/../up.bin`)).toMatchObject({ code: 403, message: 'using relative path is not allowed' });
      expect(await big(admin, '/nowhere/big.bin')).toMatchObject({
        code: 500,
        message: 'failed get storage: storage not found; rawPath: /nowhere/big.bin',
      });
      expect(await big(admin, `${path}/there.bin`, { overwrite: 'false' })).toMatchObject({ code: 403, message: 'file exists' });
      expect(await big(admin, `${path}/there.bin/below.bin`)).toMatchObject({ code: 500, data: null });
      expect(await big(admin, path)).toMatchObject({ code: 500, data: null });
      const form = await upload(base, {
        path: '/api/fs/form',
        headers: { ...authorization(admin), ...filePath(`${path}/big.bin`), 'content-type': 'text/plain', 'content-length': BIG_BYTES },
        body: generateContent('refused', BIG_BYTES),
      });
      expect(readEnvelope(form)).toMatchObject({ code: 400 });
      expect(at(await admin.call('/api/fs/list', { path }), 'total')).toBe(1);
    });

    test('of several uploads of one path at once, one whole content stays', async () => {
      const { path, disk } = await world.folder('race');
      const contents = Array.from({ length: 6 }, (_, index) => Buffer.alloc(1 * MIB + index, 65 + index));
      const answers = await Promise.all(
        contents.map((content, index) =>
          index % 2 === 0
            ? put(admin, base, `${path}/one.bin`, content)
            : putForm(admin, base, `${path}/one.bin`, formBody('file', content)),
        ),
      );
      expect(answers.map(({ code }) => code)).toEqual(contents.map(() => 200));
      const left = await readFile(join(disk, 'one.bin'));
      expect(contents.some((content) => content.equals(left))).toBe(true);
      const exclusive = await Promise.all(contents.map((content) => put(admin, base, `${path}/two.bin`, content, { overwrite: 'false' })));
      expect(exclusive.filter(({ code }) => code === 200)).toHaveLength(1);
      expect(exclusive.filter(({ code }) => code === 403)).toHaveLength(contents.length - 1);
      expect(contents[exclusive.findIndex(({ code }) => code === 200)]?.equals(await readFile(join(disk, 'two.bin')))).toBe(true);
      expect(await pathsBelow(disk)).toEqual(['one.bin', 'two.bin']);
    });

    test('File-Path is percent-encoded or raw UTF-8, and a plus is a plus', async () => {
      const { path, disk } = await world.folder('file-path');
      const send = (header: string) =>
        httpRequest(base, {
          method: 'PUT',
          path: '/api/fs/put',
          headers: { ...authorization(admin), 'file-path': header, 'content-length': 1 },
          // With a text as body Node would write the headers as UTF-8.
          body: Buffer.from('x'),
        }).then(readEnvelope);
      const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
      expect(await send(`${path}/a+b.txt`)).toMatchObject({ code: 200 });
      expect(await send(`${path}/a%2Bb%20c.txt`)).toMatchObject({ code: 200 });
      expect(await send(latin1(`${path}/größe.txt`))).toMatchObject({ code: 200 });
      expect(await send(encodeURIComponent(`${path}/日本.txt`))).toMatchObject({ code: 200 });
      expect(await send(`${path}/100%25.txt`)).toMatchObject({ code: 200 });
      const odd = await send(`${path}/50%.txt`);
      expect([200, 400]).toContain(odd.code);
      for (const header of ['', '/', `${path}/`, `${path}/\xff\xfe.txt`])
        expect((await send(header)).code, JSON.stringify(header)).toBe(400);
      const names = (await pathsBelow(disk)).filter((name) => name !== '50%.txt');
      expect(names).toEqual(['100%.txt', 'a+b c.txt', 'a+b.txt', 'größe.txt', '日本.txt']);
      const missing = await httpRequest(base, { method: 'PUT', path: '/api/fs/put', headers: authorization(admin), body: 'x' });
      expect(readEnvelope(missing).code).toBe(400);
    });

    test('a whole task is told: done, unless the header says exactly that it is to be one', async () => {
      const { path } = await world.folder('task');
      for (const [headers, state] of [
        [{}, 2],
        [{ 'as-task': 'false', password: 'ignored' }, 2],
        [{ 'as-task': 'TRUE' }, 2],
        [{ 'as-task': 'true' }, 0],
      ] as const) {
        const answer = await put(admin, base, `${path}/f.txt`, 'x', headers);
        const progress = state === 2 ? 100 : 0;
        expect(answer).toMatchObject({
          code: 200,
          message: 'success',
          data: { task: { state, status: 'uploading', progress, error: '' } },
        });
        expect(at(answer.data, 'task', 'name')).toMatch(/^upload f\.txt to \[\/local\]\(\/task-\d+\)$/);
        if (state === 0) expect(await endOf(admin, 'upload', at(answer.data, 'task', 'id'))).toMatchObject({ state: 2, progress: 100 });
      }
    });

    test('a file keeps its name while its content is written: readers see the old or the new one', async () => {
      const { path, disk } = await world.folder('atomic');
      const [one, two] = [Buffer.alloc(2 * MIB, 'a'), Buffer.alloc(2 * MIB, 'b')];
      await writeFile(join(disk, 'f.bin'), one);
      let isWriting = true;
      const writer = (async () => {
        for (let round = 0; round < 10; round++) await put(admin, base, `${path}/f.bin`, round % 2 === 0 ? two : one);
        isWriting = false;
      })();
      let reads = 0;
      while (isWriting) {
        const { status, body } = await fetchFile(admin, base, `${path}/f.bin`);
        expect(status).toBe(200);
        expect(body.equals(one) || body.equals(two)).toBe(true);
        reads++;
      }
      await writer;
      expect(reads).toBeGreaterThan(0);
    });
  });
}
