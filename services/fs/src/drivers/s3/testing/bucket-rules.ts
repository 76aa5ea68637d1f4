import { createHash } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { CreateMultipartUploadCommand, HeadObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { Answer, Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import {
  type CephRgw,
  httpRequest,
  isAvailable,
  isMissing,
  makeCertificate,
  startFaultProxy,
  startHttpServer,
  waitFor,
} from '@wharf/harness';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { plainContext } from '../../../driver-contract/open-context.ts';
import { type StorageDriver, supports } from '../../../driver-contract/storage-driver.ts';
import { s3ConfigSchema, s3Settings } from '../config.ts';
import { S3Driver } from '../driver.ts';
import { s3Driver } from '../index.ts';
import { type Bucket, makeBucket, testEgress } from './bucket.ts';
import { draftRules } from './draft-rules.ts';

const MIB = 1024 * 1024;
const at = (path: string) => relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const content = (sizeBytes: number) => Buffer.alloc(sizeBytes, 'some text that is repeated\n');
async function* piecesOf(bytes: Uint8Array, onPiece: (sentBytes: number) => void = () => undefined) {
  for (let from = 0; from < bytes.byteLength; from += 700_001) {
    onPiece(from);
    yield bytes.subarray(from, from + 700_001);
  }
}
/** Half of a content, and the rest after a pause. */
async function* pausedPieces(sizeBytes: number, isUnderWay: () => void, pause: Promise<void>) {
  for await (const piece of piecesOf(content(sizeBytes))) yield piece;
  isUnderWay();
  await pause;
  for await (const piece of piecesOf(content(sizeBytes))) yield piece;
}

const certificate = await makeCertificate('store.example');

/** @param sent what each call is for. @param change what becomes of an answer on its way; it is told what the call was for */
function notingEgress(sent: string[], change: (answer: Answer, what: string) => Answer = (answer) => answer): Egress {
  const egress = testEgress();
  return {
    ...egress,
    openClient(options) {
      const client = egress.openClient(options);
      return {
        close: () => client.close(),
        request(asked) {
          const isCopiedPart = asked.headers?.['x-amz-copy-source-range'] !== undefined;
          const what = `${asked.method} ${isCopiedPart ? 'copied part' : asked.url.searchParams.has('uploads') ? 'uploads' : ''}`;
          sent.push(what);
          return client.request(asked).then((answer) => change(answer, what));
        },
      };
    },
  };
}

/** As of a store whose clock stands still. @param stored false: it dates objects by another clock. @param time the second that it tells */
function atOneMoment(stored: boolean, time = { second: 0 }): (answer: Answer) => Answer {
  return (answer) => {
    answer.headers.date = new Date(time.second * 1000).toUTCString();
    if (stored && answer.headers['last-modified'] !== undefined) answer.headers['last-modified'] = answer.headers.date;
    return answer;
  };
}

/** What only stores of objects have to keep. */
export function bucketRules(server: CephRgw, bucket: Bucket): void {
  let roots = 0;
  const open = async (items: Record<string, unknown> = {}) => {
    const root = String(items['root_folder_path'] ?? `own-${++roots}`);
    const driver = await s3Driver.open(bucket.addition({ root_folder_path: root, ...items }), { egress: testEgress() });
    onTestFinished(() => driver.close());
    for (const operation of ['write', 'remove', 'makeDirectory', 'link', 'copy'] as const)
      if (!supports(driver, operation)) throw new Error(`no ${operation}`);
    return { root, driver: driver as Required<StorageDriver> };
  };
  const read = async (driver: StorageDriver, path: string) =>
    Buffer.concat(await Array.fromAsync(await driver.read(at(path)), (piece) => Buffer.from(piece)));
  const namesIn = async (driver: StorageDriver, path: string) => (await Array.fromAsync(driver.list(at(path)))).map(({ name }) => name);

  describe('content in parts', () => {
    it.each([
      ['of known size', 20 * MIB + 1, true, {}],
      ['of unknown size', 20 * MIB + 1, false, { content_md5: true }],
      ['that fills its last part', 16 * MIB, true, { storage_class: 'STANDARD' }],
    ])('%s comes back as it went, and leaves no note', async (_, sizeBytes, isKnown, items) => {
      const { driver, root } = await open(items);
      const bytes = content(sizeBytes);
      const entry = await driver.write(at('/d/big.bin'), piecesOf(bytes), { overwrite: false, sizeBytes: isKnown ? sizeBytes : undefined });
      expect(entry).toMatchObject({ sizeBytes, version: expect.stringMatching(/-\d+$/) });
      expect(entry).toEqual(await driver.stat(at('/d/big.bin')));
      expect(digest(await read(driver, '/d/big.bin'))).toBe(digest(bytes));
      const copied = await driver.copy(at('/d/big.bin'), at('/copy.bin'), { overwrite: false });
      expect(copied.sizeBytes).toBe(sizeBytes);
      expect([await bucket.uploads(root), await bucket.keys(`${root}/.wharf-uploads/`)]).toEqual([[], []]);
    });

    it('that is cancelled leaves the old file, no upload and no note', async () => {
      const { driver, root } = await open();
      await driver.write(at('/big'), piecesOf(Buffer.from('old')), { overwrite: false });
      const abort = new AbortController();
      const writing = driver.write(
        at('/big'),
        piecesOf(content(30 * MIB), (sentBytes) => {
          if (sentBytes > 20 * MIB) abort.abort();
        }),
        { overwrite: true, signal: abort.signal },
      );
      await expect(writing).rejects.toMatchObject({ code: 'CANCELLED' });
      expect((await read(driver, '/big')).toString()).toBe('old');
      expect([await bucket.uploads(root), await bucket.keys(`${root}/.wharf-uploads/`)]).toEqual([[], []]);
    });

    it('that cannot be taken back is, once the store hears us again', async () => {
      const { driver, root } = await open();
      const way = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(server.url).port) } });
      onTestFinished(() => way.stop());
      const { driver: behind } = await open({ root_folder_path: root, endpoint: `http://${way.host}:${way.port}` });
      const source = piecesOf(content(30 * MIB), (sentBytes) => {
        if (sentBytes < 20 * MIB) return;
        way.refuse();
        way.breakAll();
      });
      await expect(behind.write(at('/big'), source, { overwrite: false })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(await bucket.uploads(root)).toEqual([`${root}/big`]);
      await way.resume();
      await waitFor('the upload to go', async () => (await bucket.uploads(root)).length === 0);
      await waitFor('the note to go', async () => (await bucket.keys(`${root}/.wharf-uploads/`)).length === 0);
      expect(await namesIn(driver, '/')).toEqual([]);
    });

    it('that is not what was promised is never put together', async () => {
      const { driver, root } = await open();
      const expectedHashes = { sha256: '0'.repeat(64) };
      const writing = driver.write(at('/big'), piecesOf(content(20 * MIB)), { overwrite: true, expectedHashes });
      await expect(writing).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
      expect([await bucket.uploads(root), await namesIn(driver, '/')]).toEqual([[], []]);
    });

    it('that the store began, and whose id we never heard, is ended', async () => {
      const root = `own-${++roots}`;
      let isLost = false;
      const egress = notingEgress([], (answer, what) => {
        if (!isLost && what === 'POST uploads') {
          isLost = true;
          answer.destroy();
          throw new AppError('STORAGE_UNAVAILABLE', 'the answer is lost');
        }
        return answer;
      });
      const driver = await s3Driver.open(bucket.addition({ root_folder_path: root }), { egress });
      onTestFinished(() => driver.close());
      const write = () => driver.write?.(at('/big'), piecesOf(content(20 * MIB)), { overwrite: false });
      await expect(write()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(isLost).toBe(true);
      // Beside one of the same key that is told its id.
      await write();
      await waitFor('the upload to go', async () => (await bucket.uploads(root)).length === 0);
      await waitFor('the note to go', async () => (await bucket.keys(`${root}/.wharf-uploads/`)).length === 0);
      expect(await namesIn(driver, '/')).toEqual(['big']);
    });

    it('that ended with its process is swept at the next opening, and nobody else’s upload', async () => {
      const begin = async (key: string) => {
        const { UploadId } = await bucket.sdk.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: key }));
        return UploadId ?? '';
      };
      const gone = newOwnedName({ ...currentOwner(), pid: 4_194_305 });
      const note = (owner: string, key: string, id: string) => bucket.put(`swept/.wharf-uploads/${owner}`, JSON.stringify({ key, id }));
      await note(gone, 'swept/left', await begin('swept/left'));
      await note(newOwnedName(currentOwner()), 'swept/ours', await begin('swept/ours'));
      const another = await open({ root_folder_path: '/swept' });
      const pausing = Promise.withResolvers<void>();
      const isUnderWay = Promise.withResolvers<void>();
      const running = another.driver.write(at('/running'), pausedPieces(20 * MIB, isUnderWay.resolve, pausing.promise), {
        overwrite: false,
      });
      await isUnderWay.promise;
      await note(newOwnedName({ ...currentOwner(), pid: 4_194_305 }), 'other/left', await begin('other/left'));
      await begin('swept/strangers');
      await bucket.put('swept/.wharf-uploads/something', 'else');
      const { driver } = await open({ root_folder_path: '/swept' });
      await waitFor('the sweep', async () => !(await bucket.keys('swept/.wharf-uploads/')).includes(gone));
      expect((await bucket.uploads('')).sort()).toEqual(['other/left', 'swept/running', 'swept/strangers']);
      pausing.resolve();
      await running;
      expect(await namesIn(driver, '/')).toEqual(['running']);
      await expect(driver.stat(at('/.wharf-uploads'))).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
      await expect(driver.makeDirectory(at('/.wharf-uploads/x'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    });

    it('whose id its process never noted is swept at the next opening, and no other of the same key', async () => {
      const begin = async (key: string) => {
        const { UploadId } = await bucket.sdk.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: key }));
        return UploadId ?? '';
      };
      const ended = () => newOwnedName({ ...currentOwner(), pid: 4_194_305 });
      const elsewhere = () => newOwnedName({ ...currentOwner(), host: 'e'.repeat(12) });
      const note = (owner: string, key: string, id?: string) => bucket.put(`noted/.wharf-uploads/${owner}`, JSON.stringify({ key, id }));
      const [left, unclear] = [ended(), ended()];
      await note(left, 'noted/left');
      await note(unclear, 'noted/unclear');
      // Of two of one key, one is not told yet by somebody who may be running.
      await note(elsewhere(), 'noted/unclear');
      await begin('noted/unclear');
      await begin('noted/left');
      await begin('noted/left-too');
      await note(elsewhere(), 'noted/left', await begin('noted/left'));
      expect(await bucket.uploads('noted/')).toHaveLength(4);
      await open({ root_folder_path: '/noted' });
      await waitFor('the sweep', async () => !(await bucket.keys('noted/.wharf-uploads/')).includes(left));
      expect((await bucket.uploads('noted/')).sort()).toEqual(['noted/left', 'noted/left-too', 'noted/unclear']);
      expect(await bucket.keys('noted/.wharf-uploads/')).toContain(unclear);
    });
  });

  draftRules(bucket, open);

  describe('folders', () => {
    it('show neither what keeps them nor what no path can say', async () => {
      const { driver, root } = await open();
      for (const key of ['d/', 'd/.wharf', 'd/file', 'd//x', 'd/../y', 'd/a\nb', 'd/both', 'd/both/below'])
        await bucket.put(`${root}/${key}`, 'x');
      await bucket.put(`${root}-private/secret`, 'x');
      expect((await namesIn(driver, '/d')).sort()).toEqual(['both', 'file']);
      expect(await namesIn(driver, '/d/both')).toEqual(['below']);
      expect((await driver.stat(at('/d/both'))).isDirectory).toBe(false);
      for (const path of ['/d/.wharf', '/.wharf']) {
        await expect(driver.read(at(path))).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
        await expect(driver.remove(at(path), { recursive: true })).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
        await expect(driver.write(at(path), piecesOf(Buffer.of(1)), { overwrite: true })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
      }
      await driver.remove(at('/d'), { recursive: true });
      expect(await bucket.keys(`${root}/`)).toEqual([]);
      expect(await bucket.keys(`${root}-private/`)).toEqual(['secret']);
    });

    it.each([
      ['of one call', 10],
      ['in parts', 20 * MIB],
    ])('that come while a file %s is written in their place, or above it, are not hidden by it', async (_, sizeBytes) => {
      const { driver, root } = await open();
      const during = (path: string, key: string, overwrite: boolean) =>
        driver.write(
          at(path),
          (async function* () {
            yield content(sizeBytes);
            await bucket.put(`${root}/${key}`, 'x');
          })(),
          { overwrite },
        );
      await expect(during('/new', 'new/file', true)).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
      await expect(during('/other', 'other/file', false)).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
      await expect(during('/up/deep/new', 'up/deep', true)).rejects.toMatchObject({ code: 'NOT_A_DIRECTORY' });
      await expect(during('/top/deep/new', 'top', true)).rejects.toMatchObject({ code: 'NOT_A_DIRECTORY' });
      expect(await bucket.keys(`${root}/`)).toEqual(['new/file', 'other/file', 'top', 'up/deep']);
      expect(await bucket.uploads(root)).toEqual([]);
    });

    it('stay when their last entry goes', async () => {
      const { driver } = await open();
      await driver.write(at('/a/b/file'), piecesOf(Buffer.from('x')), { overwrite: false });
      await driver.remove(at('/a/b/file'), { recursive: false });
      expect(await namesIn(driver, '/a/b')).toEqual([]);
      await driver.remove(at('/a/b'), { recursive: false });
      expect(await namesIn(driver, '/a')).toEqual([]);
    });

    it('of which several entries go at once are not looked at for each, and stay', async () => {
      const root = `own-${++roots}`;
      const sent: string[] = [];
      const egress = notingEgress(sent);
      const driver = (await s3Driver.open(bucket.addition({ root_folder_path: root }), { egress })) as Required<StorageDriver>;
      onTestFinished(() => driver.close());
      const names = Array.from({ length: 8 }, (_, index) => at(`/d/${index}`));
      await bucket.putMany(names.map((name) => root + name));
      sent.length = 0;
      await Promise.all(names.map((name) => driver.remove(name, { recursive: false })));
      const looks = sent.filter((call) => call.startsWith('GET'));
      expect(looks.length).toBeGreaterThan(0);
      expect(looks.length).toBeLessThan(names.length);
      expect(await namesIn(driver, '/d')).toEqual([]);
      expect(await namesIn(driver, '/')).toEqual(['d']);
    });

    it('of more than a thousand entries are removed whole', async () => {
      const { driver, root } = await open();
      await bucket.putMany(Array.from({ length: 1_001 }, (_, index) => `${root}/many/${index}/x&<y>`));
      await driver.remove(at('/many'), { recursive: true });
      expect(await bucket.keys(`${root}/many`)).toEqual([]);
    });
  });

  describe('removals that go on later', () => {
    it('leave what is stored under the same names while they run', async () => {
      const { driver, root } = await open();
      const names = Array.from({ length: 500 }, (_, index) => `many/${index % 5}/${index}`);
      await bucket.putMany(names.map((name) => `${root}/${name}`));
      const [begun] = await driver.beginRemoval([at('/many')]);
      if (typeof begun !== 'string') throw new Error('it was not begun');
      const left = names.values();
      const storeSome = async () => {
        for (const name of left) await driver.write(at(`/${name}`), piecesOf(Buffer.from('new')), { overwrite: true });
      };
      const storing = Promise.all(Array.from({ length: 8 }, storeSome));
      let isStored = false;
      void storing.finally(() => {
        isStored = true;
      });
      while (!isStored) await driver.remove(at('/many'), { recursive: true, begun }).catch(staleOrGone);
      await storing;
      await driver.remove(at('/many'), { recursive: true, begun }).catch(staleOrGone);
      const there = await Array.fromAsync(driver.listAll(at('/many')));
      expect(there.filter(({ entry }) => !entry.isDirectory)).toHaveLength(names.length);
      for (const name of [names[0], names[250], names[499]]) expect(await bucket.text(`${root}/${name}`)).toBe('new');
    }, 60_000);

    it('leave a file that somebody else stores while they wait to go on', async () => {
      const { driver, root } = await open();
      await bucket.put(`${root}/file`, 'old');
      const [begun] = await driver.beginRemoval([at('/file')]);
      if (typeof begun !== 'string') throw new Error('it was not begun');
      const options = { recursive: true, begun, afterWaiting: () => bucket.put(`${root}/file`, 'new') };
      await expect(driver.remove(at('/file'), options)).rejects.toMatchObject({ code: 'STALE_VERSION' });
      expect(await bucket.text(`${root}/file`)).toBe('new');
    });

    it('leave a file that was under way when they began', async () => {
      const { driver, root } = await open();
      await bucket.put(`${root}/d/old`);
      const [isUnderWay, pause] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const writing = driver.write(at('/d/big'), pausedPieces(17 * MIB, isUnderWay.resolve, pause.promise), { overwrite: false });
      await isUnderWay.promise;
      await waitFor('the upload', async () => (await bucket.uploads(`${root}/d`)).length === 1);
      const [begun, beside] = await driver.beginRemoval([at('/d'), at('/e')]);
      expect([begun, beside].map((text) => JSON.parse(String(text)).spared)).toEqual([[`${root}/d/big`], []]);
      pause.resolve();
      await writing;
      // As a store has it that dates such a file by the begin of its upload.
      const untilMs = Date.now() + 3_600_000;
      const dated = JSON.stringify({ ...JSON.parse(String(begun)), untilMs });
      await expect(driver.remove(at('/d'), { recursive: true, begun: dated })).rejects.toMatchObject({ code: 'STALE_VERSION' });
      expect(await namesIn(driver, '/d')).toEqual(['big']);
    }, 30_000);

    it('begin beside a draft of more pieces than a page has, and spare what is under way', async () => {
      const { driver, root } = await open();
      const draft = `${root}/.wharf-uploads/draft-${'0'.repeat(32)}`;
      await bucket.putMany(Array.from({ length: 1_001 }, (_, index) => `${draft}/piece-${String(index).padStart(16, '0')}`));
      const elsewhere = { ...currentOwner(), host: 'e'.repeat(12) };
      await bucket.put(`${root}/.wharf-uploads/${newOwnedName(elsewhere)}`, JSON.stringify({ key: `${root}/d/big` }));
      const [begun] = await driver.beginRemoval([at('/d')]);
      expect(JSON.parse(String(begun)).spared).toEqual([`${root}/d/big`]);
    }, 30_000);

    it('go on in the bucket and the folder in which they began alone, and nowhere where that was not noted', async () => {
      const [first, second] = [await open(), await open()];
      const other = await makeBucket(server, `${bucket.name}-other`);
      onTestFinished(() => other.rest());
      const inOther = await open({ root_folder_path: first.root, bucket: other.name });
      const places = [
        [bucket, first.root],
        [bucket, second.root],
        [other, first.root],
      ] as const;
      for (const [of, root] of places) await of.putMany([`${root}/d/a`, `${root}/d/e/b`]);
      const left = () => Promise.all(places.map(async ([of, root]) => (await of.keys(`${root}/d/`)).length));
      const [begun] = await first.driver.beginRemoval([at('/d')]);
      if (typeof begun !== 'string') throw new Error('it was not begun');
      const { at: _, ...unplaced } = JSON.parse(begun);
      const refused = [
        [second.driver, begun],
        [inOther.driver, begun],
        [first.driver, JSON.stringify(unplaced)],
      ] as const;
      for (const [driver, given] of refused)
        await expect(driver.remove(at('/d'), { recursive: true, begun: given })).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
      expect(await left()).toEqual([2, 2, 2]);
      await first.driver.remove(at('/d'), { recursive: true, begun });
      expect(await left()).toEqual([0, 2, 2]);
    });

    it('cannot begin where the store tells no time', async () => {
      const { driver, root } = await open();
      await bucket.put(`${root}/.wharf`, 'somebody else’s');
      await expect(driver.beginRemoval([at('/d')])).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
      expect(await bucket.text(`${root}/.wharf`)).toBe('somebody else’s');
    });
  });

  it('a storage that is only tried leaves nothing, one that is kept an object that is not shown', async () => {
    const { driver, root } = await open();
    expect([driver.traits.exclusiveCreate, await bucket.keys(`${root}/`)]).toEqual([true, []]);
    const kept = await s3Driver.open(bucket.addition({ root_folder_path: root }), { egress: testEgress(), storageId: 7 });
    onTestFinished(() => kept.close());
    expect([kept.traits.exclusiveCreate, await bucket.keys(`${root}/`), await namesIn(kept, '/')]).toEqual([true, ['.wharf'], []]);
  });

  it('an object too large for one call is copied by the store in parts, as a copy and as a draft', async () => {
    const root = `own-${++roots}`;
    const settings = s3Settings(s3ConfigSchema.parse(JSON.parse(s3Driver.normaliseAddition(bucket.addition({ root_folder_path: root })))));
    const limits = { wholeBytes: 10 * MIB, partBytes: 6 * MIB };
    const sent: string[] = [];
    const driver = await S3Driver.open(settings, plainContext({}, { egress: notingEgress(sent), storageId: 1 }), limits);
    onTestFinished(() => driver.close());
    const bytes = content(20 * MIB + 1);
    await driver.write(at('/big.bin'), piecesOf(bytes), { overwrite: false });
    expect((await driver.copy(at('/big.bin'), at('/copy.bin'), { overwrite: false })).sizeBytes).toBe(bytes.byteLength);
    await expect(driver.copy(at('/big.bin'), at('/copy.bin'), { overwrite: false })).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
    const draft = await driver.openDraft(at('/draft.bin'), '0'.repeat(32), { create: true });
    await draft.write(0, piecesOf(bytes));
    await draft.publish({ overwrite: false });
    for (const path of ['/copy.bin', '/draft.bin']) expect(digest(await read(driver, path))).toBe(digest(bytes));
    expect(sent.filter((call) => call === 'PUT copied part')).toHaveLength(8);
    expect([await bucket.uploads(root), await bucket.keys(`${root}/.wharf-uploads/`)]).toEqual([[], []]);
  });

  it('a listing, a look, a range and an upload take as many calls as the README says', async () => {
    const root = `own-${++roots}`;
    const sent: string[] = [];
    const time = { second: 0 };
    const driver = (await s3Driver.open(bucket.addition({ root_folder_path: root, list_object_version: 'v2' }), {
      egress: notingEgress(sent, atOneMoment(true, time)),
      storageId: 1,
    })) as Required<StorageDriver>;
    onTestFinished(() => driver.close());
    await bucket.putMany(Array.from({ length: 2_001 }, (_, index) => `${root}/many/${index}`));
    await bucket.put(`${root}/d/file`, 'hello');
    await waitFor('the sweep', () => sent.includes('GET uploads'));
    const callsOf = async (work: () => Promise<unknown>) => {
      sent.length = 0;
      await work();
      return sent.length;
    };
    const reads = {
      list: await callsOf(() => namesIn(driver, '/many')),
      tree: await callsOf(() => Array.fromAsync(driver.listAll(at('/')))),
      stat: await callsOf(() => driver.stat(at('/d/file'))),
      folder: await callsOf(() => driver.stat(at('/d'))),
      range: await callsOf(async () => Array.fromAsync(await driver.read(at('/d/file'), { offsetBytes: 1, lengthBytes: 2 }))),
      link: await callsOf(() => driver.link(at('/d/file'))),
    };
    // A second has begun, and all of this is within it.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    time.second += 1;
    const writes = {
      write: await callsOf(() => driver.write(at('/d/new'), piecesOf(Buffer.from('x')), { overwrite: false })),
      next: await callsOf(() => driver.write(at('/d/next'), piecesOf(Buffer.from('x')), { overwrite: false })),
      third: await callsOf(() => driver.write(at('/d/third'), piecesOf(Buffer.from('x')), { overwrite: false })),
      replace: await callsOf(() => driver.write(at('/d/next'), piecesOf(Buffer.from('y')), { overwrite: true })),
    };
    expect({ ...reads, ...writes }).toEqual({
      ...{ list: 3, tree: 3, stat: 1, folder: 2, range: 1, link: 0 },
      ...{ write: 5, next: 2, third: 1, replace: 1 },
    });
  });

  it('is asked for each new file where its objects and its answers have dates of two clocks', async () => {
    const sent: string[] = [];
    const egress = notingEgress(sent, atOneMoment(false));
    const driver = (await s3Driver.open(bucket.addition({ root_folder_path: `own-${++roots}` }), {
      egress,
      storageId: 1,
    })) as Required<StorageDriver>;
    onTestFinished(() => driver.close());
    for (const name of ['first', 'second', 'third', 'fourth']) {
      const written = await driver.write(at(`/${name}`), piecesOf(Buffer.from('x')), { overwrite: true });
      expect(written).toEqual(await driver.stat(at(`/${name}`)));
    }
    expect(sent.filter((call) => call.startsWith('HEAD')).length).toBeGreaterThanOrEqual(8);
  });

  it('tells of each new file what it is found to be, also of many in a row', async () => {
    const { driver } = await open();
    const names = Array.from({ length: 200 }, (_, index) => at(`/row/${index}`));
    for (const name of names)
      expect(await driver.write(name, piecesOf(Buffer.from(name)), { overwrite: true })).toEqual(await driver.stat(name));
  });

  it('a file never takes the name of a folder that came a moment ago, where files come in a row', async () => {
    const { driver } = await open();
    const write = (path: string) => driver.write(at(path), piecesOf(Buffer.from('x')), { overwrite: true });
    const made: [string, () => Promise<unknown>][] = [
      ['/d/x', () => write('/d/x/y/file')],
      ['/d/x/z', () => driver.makeDirectory(at('/d/x/z/deep'))],
      ['/d/c', () => driver.copy(at('/d/0'), at('/d/x/copied'), { overwrite: false }).then(() => write('/d/c/file'))],
      ['/d/p', async () => (await driver.openDraft(at('/d/p/draft'), '1'.repeat(32), { create: true })).discard()],
      ['/r', () => write('/r/file')],
    ];
    for (const [folder, make] of made) {
      // By the second of them the names of all folders are told.
      for (const index of [0, 1, 2]) for (const beside of ['', '/d', '/d/x'] as const) await write(`${beside}/${index}`);
      await make();
      await expect(write(folder), folder).rejects.toMatchObject({ code: 'IS_A_DIRECTORY' });
    }
    await driver.remove(at('/d/c'), { recursive: true });
    expect(await write('/d/c')).toMatchObject({ isDirectory: false });
  });

  it('a key has 1,024 bytes at most', async () => {
    const { driver } = await open();
    const long = `/${'é'.repeat(120)}`.repeat(5);
    await expect(driver.write(at(long), piecesOf(Buffer.of(1)), { overwrite: true })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(driver.makeDirectory(at(long))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(driver.stat(at(long))).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
  });

  it('a new file has the type of its name, for those who come by a link', async () => {
    const { driver, root } = await open();
    await driver.write(at('/a.png'), piecesOf(Buffer.of(1)), { overwrite: false });
    const head = await bucket.sdk.send(new HeadObjectCommand({ Bucket: bucket.name, Key: `${root}/a.png` }));
    expect(head.ContentType).toBe('image/png');
  });

  it('a copy is served by a link with the type of its own name: lists show pictures, and no drawings', async () => {
    const { driver } = await open();
    await driver.write(at('/a.svg'), piecesOf(Buffer.from('<svg/>')), { overwrite: false });
    await driver.copy(at('/a.svg'), at('/b.png'), { overwrite: false });
    const { url } = await driver.link(at('/b.png'));
    const { host, pathname, search } = new URL(url);
    const answer = await httpRequest(server.url, { path: pathname + search, headers: { Host: host } });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/png']);
  });

  it.each([
    ['path style', { add_filename_to_disposition: true }],
    ['host style', { endpoint: server.url.replace('127.0.0.1', server.hostSuffix), force_path_style: false }],
    ['a custom host', { custom_host: `http://${'shared'}.${server.hostSuffix}`, enable_custom_host_presign: true, remove_bucket: true }],
  ])('in %s files are kept, and a signed link serves one to anybody for a time', async (_, items) => {
    const { driver } = await open(items);
    await driver.write(at('/d/ä +b.txt'), piecesOf(Buffer.from('hello')), { overwrite: false });
    expect((await read(driver, '/d/ä +b.txt')).toString()).toBe('hello');
    const { url, expiresAt, headers } = await driver.link(at('/d/ä +b.txt'));
    expect([headers, Math.round(((expiresAt?.getTime() ?? 0) - Date.now()) / 60_000)]).toEqual([undefined, 240]);
    const { host, pathname, search } = new URL(url);
    if ('custom_host' in items) return expect([host, pathname.includes(bucket.name)]).toEqual([`shared.${server.hostSuffix}`, false]);
    const answer = await httpRequest(server.url, { path: pathname + search, headers: { Host: host } });
    expect([answer.status, answer.text()]).toEqual([200, 'hello']);
    if ('add_filename_to_disposition' in items) {
      expect(answer.headers['content-disposition']).toBe("attachment; filename*=UTF-8''%C3%A4%20%2Bb.txt");
    }
    const unsigned = await httpRequest(server.url, { path: pathname, headers: { Host: host } });
    expect(unsigned.status).toBe(403);
  });

  it.runIf(isAvailable('openssl', certificate))('over TLS parts carry no sum of their own: TLS guards them', async () => {
    if (isMissing(certificate)) return;
    const sumsOfParts = new Set<unknown>();
    const front = await startHttpServer(async (asked, answered) => {
      const { url: path = '/', method, headers } = asked;
      if (path.includes('partNumber=')) sumsOfParts.add(headers['x-amz-content-sha256']);
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        asked.pipe(request(server.url, { path, method, headers }).once('response', resolve).once('error', reject));
      });
      await pipeline(answer, answered.writeHead(answer.statusCode ?? 500, answer.headers));
    }, certificate);
    onTestFinished(() => front.stop());
    const { driver } = await open({ endpoint: front.url, tls_insecure_skip_verify: true });
    const bytes = content(20 * MIB + 1);
    await driver.write(at('/d/big.bin'), piecesOf(bytes), { overwrite: false });
    expect(digest(await read(driver, '/d/big.bin'))).toBe(digest(bytes));
    expect([...sumsOfParts]).toEqual(['UNSIGNED-PAYLOAD']);
  });

  it('a link to a custom host is not signed unless that is asked for', async () => {
    const { driver, root } = await open({ custom_host: 'https://cdn.example' });
    expect(await driver.link(at('/a b'))).toEqual({ url: `https://cdn.example/${bucket.name}/${root}/a%20b` });
  });

  it.each([
    [{ secret_access_key: 'a-wrong-secret' }, 'STORAGE_LOGIN_FAILED', 'secret_access_key'],
    [{ access_key_id: 'NOBODY' }, 'STORAGE_LOGIN_FAILED', 'access_key_id'],
    [{ bucket: 'none-such' }, 'FAILED_PRECONDITION', 'bucket'],
    [{ endpoint: 'http://127.0.0.1:1' }, 'STORAGE_UNAVAILABLE', 'refuses connections'],
    [{ endpoint: 'http://169.254.169.254' }, 'PERMISSION_DENIED', 'not allowed'],
  ])('opening with %j says what to do, and no secret', async (items, code, words) => {
    const error = await open(items).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(`${error}${(error as Error).cause}`).not.toMatch(new RegExp(`${server.secretAccessKey}|a-wrong-secret|NOBODY`));
  });

  it('no upload is open in the end but those of the sweep', async () => {
    const { Uploads = [] } = await bucket.sdk.send(new ListMultipartUploadsCommand({ Bucket: bucket.name }));
    expect(Uploads.filter(({ Key }) => Key?.startsWith('own-'))).toEqual([]);
  });
}

function staleOrGone(error: unknown): void {
  if (!AppError.is(error, 'STALE_VERSION') && !AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
}
