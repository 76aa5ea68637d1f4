import type { IncomingMessage, ServerResponse } from 'node:http';
import { startHttpServer, waitFor } from '@wharf/harness';
import { drained } from '@wharf/pace';
import { nameAt, parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished } from 'vitest';
import { codeOf, failureWithout, sizeRead } from '../../driver-contract/conformance/driver-calls.ts';
import type { ByteRange, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { S3Client } from './client.ts';
import { s3ConfigSchema, s3Settings } from './config.ts';
import { s3Driver } from './index.ts';
import { testEgress } from './testing/bucket.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
const at = (path: string) => relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
const SECRET = 'canary-secret';
const DATE = 'Sun, 22 Nov 2026 19:00:00 GMT';
const HEAD = { ETag: '"v1"', 'Last-Modified': DATE };
const EMPTY = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

const listing = (keys: readonly string[], rest = '') =>
  `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>${keys
    .map(
      (key) => `<Contents><Key>${key}</Key><Size>1</Size><LastModified>2026-11-22T19:00:00.000Z</LastModified><ETag>"x"</ETag></Contents>`,
    )
    .join('')}${rest}</ListBucketResult>`;

/** A storage of a store that answers as it should until it is open, and as the handler says then. */
async function openOn(handler: Handler, items: Record<string, unknown> = {}) {
  let isOpen = false;
  let asked = 0;
  const server = await startHttpServer(async (request, response) => {
    // It looks for uploads that were left, in its own time.
    if (isOpen && !request.url?.includes('.wharf-uploads')) {
      asked += 1;
      return handler(request, response);
    }
    if (request.method === 'GET') response.end(EMPTY);
    else response.writeHead(isOpen ? 204 : 403).end();
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: SECRET, ...items };
  const driver = await s3Driver.open(JSON.stringify(addition), { egress: testEgress() });
  onTestFinished(() => driver.close());
  isOpen = true;
  return { driver: driver as Required<StorageDriver>, asked: () => asked };
}

const namesIn = async (driver: StorageDriver) => (await Array.fromAsync(driver.list(at('/')))).map(({ name }) => name as string);
const read = (driver: StorageDriver, range?: ByteRange) => sizeRead(driver, '/file', range);
const failure = (call: Promise<unknown>) => failureWithout(SECRET, call);

it('its root is there while the store answers, which tells whether the storage is away', async () => {
  let status = 503;
  const { driver } = await openOn((_request, response) => void response.writeHead(status).end(status === 200 ? EMPTY : ''));
  expect(await codeOf(driver.stat(at('/')))).toBe('STORAGE_UNAVAILABLE');
  status = 200;
  expect(await driver.stat(at('/'))).toMatchObject({ isDirectory: true });
});

it('names that would lead elsewhere, or cannot be names, are left out (C4)', async () => {
  const odd = [
    '..',
    '.',
    '%2E%2E',
    '..%2Fx',
    '%2Fabs',
    'a%2Fb',
    'x%00y',
    'x%0D%0AEvil',
    'back%5Cslash',
    'n'.repeat(300),
    '',
    'fine',
    'fine',
  ];
  const { driver } = await openOn(
    (_, response) => void response.end(listing(odd, '<CommonPrefixes><Prefix>../</Prefix></CommonPrefixes>')),
  );
  expect(await namesIn(driver)).toEqual(['fine']);
});

it('keys of other folders are refused', async () => {
  const { driver } = await openOn((_, response) => void response.end(listing(['elsewhere/secret'])), { root_folder_path: '/team' });
  await expect(failure(namesIn(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('keys longer than any store has are refused', async () => {
  const { driver } = await openOn((_, response) => void response.end(listing([`${'a/'.repeat(30_000)}x`])));
  await expect(failure(namesIn(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(failure(Array.fromAsync(driver.listAll(at('/'))))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('drafts without end are looked through up to a bound when a storage is opened', async () => {
  let pages = 0;
  let isThrough = false;
  const server = await startHttpServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://store');
    if (request.method !== 'GET') return void response.writeHead(403).end();
    if (searchParams.has('uploads')) isThrough = true;
    if (searchParams.get('prefix') !== '.wharf-uploads/draft-') return void response.end(EMPTY);
    pages += 1;
    const ids = Array.from({ length: 1000 }, (_, index) => String(pages * 1000 + index).padStart(32, '0'));
    const rest = `<IsTruncated>true</IsTruncated><NextContinuationToken>${pages}</NextContinuationToken>`;
    response.end(
      listing(
        ids.map((id) => `.wharf-uploads/draft-${id}/note`),
        rest,
      ).replaceAll('2026-11-22', '9999-01-01'),
    );
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: SECRET };
  const driver = await s3Driver.open(JSON.stringify(addition), { egress: testEgress() });
  onTestFinished(() => driver.close());
  await waitFor('the end of the look', async () => isThrough);
  expect(pages).toBe(10);
});

it.each(['v1', 'v2'])('a listing (%s) that stands still ends', async (list_object_version) => {
  const rest = '<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken><NextMarker>same</NextMarker>';
  const { driver, asked } = await openOn((_, response) => void response.end(listing(['a'], rest)), { list_object_version });
  await expect(failure(namesIn(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(asked()).toBeLessThan(8);
});

it('an endless listing is asked for a page at a time, and left', async () => {
  let page = 0;
  const { driver, asked } = await openOn((_, response) => {
    page += 1;
    const keys = Array.from({ length: 1000 }, (_unused, index) => `p${String(page).padStart(6, '0')}-${index}`);
    response.end(listing(keys, '<IsTruncated>true</IsTruncated>'));
  });
  let entries = 0;
  for await (const _ of driver.list(at('/'))) if (++entries === 2_500) break;
  expect(asked()).toBe(3);
});

it.each([
  [
    'entities of its own',
    `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><ListBucketResult><Prefix>&b;</Prefix></ListBucketResult>`,
  ],
  ['files of ours', `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><ListBucketResult><Prefix>&a;</Prefix></ListBucketResult>`],
  ['an entity that nobody knows', '<ListBucketResult><Prefix>&lol;</Prefix></ListBucketResult>'],
  ['a thousand levels', '<a>'.repeat(1000)],
  ['half a document', '<ListBucketResult><Contents>'],
  ['another document', '<html><body>Please log in</body></html>'],
  ['no document', 'null'],
  ['nothing', ''],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x3c, 0x00])],
  ['an object without a size', '<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>'],
  ['a negative size', '<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>'],
])('XML with %s is refused', async (_, body) => {
  const { driver } = await openOn((_request, response) => void response.end(body));
  await expect(failure(namesIn(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

/** Sends until the other side has gone. @returns how much it took */
async function sendEndlessly(response: ServerResponse, piece: string): Promise<number> {
  let sent = 0;
  while (!response.destroyed && sent < 512 * 1024 * 1024) {
    sent += piece.length;
    if (!response.write(piece)) await drained(response);
  }
  return sent;
}

it.each([
  ['a listing', 200, `<Contents><Key>${'k'.repeat(50_000)}</Key></Contents>`, '<ListBucketResult>'],
  ['an error', 500, 'x'.repeat(50_000), '<Error><Code>'],
])('%s without an end is left after some megabytes', async (_, status, piece, begin) => {
  const sent = Promise.withResolvers<number>();
  const { driver } = await openOn(async (_request, response) => {
    response.writeHead(status).write(begin);
    sent.resolve(await sendEndlessly(response, piece));
  });
  await expect(failure(namesIn(driver))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(await sent.promise).toBeLessThan(24 * 1024 * 1024);
});

it.each([
  ['fewer bytes than announced', 200, { ...HEAD, 'Content-Length': '10' }, 'short', undefined],
  ['a range that was not asked for', 206, { ...HEAD, 'Content-Range': 'bytes 0-4/10', 'Content-Length': '5' }, 'short', { offsetBytes: 3 }],
  ['less of the range', 206, { ...HEAD, 'Content-Range': 'bytes 3-4/10', 'Content-Length': '2' }, 'sh', { offsetBytes: 3 }],
  ['another length than its range', 206, { ...HEAD, 'Content-Range': 'bytes 3-9/10', 'Content-Length': '2' }, 'sh', { offsetBytes: 3 }],
  ['all in the place of a range', 200, { ...HEAD, 'Content-Length': '10' }, '0123456789', { offsetBytes: 3 }],
  ['no range at all', 206, { ...HEAD, 'Content-Length': '5' }, 'short', { offsetBytes: 0, lengthBytes: 5 }],
  ['no length', 200, HEAD, 'short', undefined],
  ['no version', 200, { 'Last-Modified': DATE, 'Content-Length': '5' }, 'short', undefined],
  ['no date', 200, { ETag: '"v1"', 'Content-Length': '5' }, 'short', undefined],
])('a file with %s fails', async (_, status, headers, body, range) => {
  const { driver } = await openOn((_request, response) => {
    response.writeHead(status, headers);
    response.write(body, () => response.destroy());
  });
  await expect(failure(read(driver, range))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it.each(['http://other.example/x', 'http://169.254.169.254/latest/meta-data/', '//127.0.0.1:1/', 'file:///etc/passwd'])(
  'a redirect to %s is not followed, whatever was asked',
  async (Location) => {
    const { driver, asked } = await openOn((_request, response) => void response.writeHead(307, { Location }).end());
    const content = (async function* () {
      yield Buffer.from('x');
    })();
    for (const call of [
      () => driver.stat(at('/file')),
      () => namesIn(driver),
      () => read(driver),
      () => driver.write(at('/file'), content, { overwrite: true }),
      () => driver.remove(at('/file'), { recursive: true }),
      () => driver.makeDirectory(at('/d')),
    ]) {
      await expect(failure(call())).resolves.toMatchObject({ code: 'FAILED_PRECONDITION', message: expect.stringContaining('endpoint') });
    }
    expect(asked()).toBeLessThan(16);
  },
);

it('a failure that begins as a success is one', async () => {
  const { driver } = await openOn((request, response) => {
    const isCopy = request.headers['x-amz-copy-source'] !== undefined;
    if (isCopy) response.end('<Error><Code>SlowDown</Code><Message>canary</Message></Error>');
    else if (request.method === 'HEAD' && request.url?.endsWith('/from')) response.writeHead(200, { ...HEAD, 'Content-Length': '5' }).end();
    else if (request.method === 'HEAD') response.writeHead(404).end();
    else response.end(EMPTY);
  });
  const error = await failure(driver.copy(at('/from'), at('/to'), { overwrite: false }));
  expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: 'the storage is not available' });
});

it.each(['<html><body>Please log in</body></html>', '<CopyPartResult/>', ''])(
  'a copy that is answered with %j has not happened',
  async (body) => {
    const { driver } = await openOn((request, response) => {
      if (request.headers['x-amz-copy-source'] !== undefined) response.end(body);
      else if (request.method === 'HEAD') response.writeHead(200, { ...HEAD, 'Content-Length': '5' }).end();
      else response.end(EMPTY);
    });
    await expect(failure(driver.copy(at('/from'), at('/to'), { overwrite: true }))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  },
);

it.each(['<html><body>Please log in</body></html>', '<InitiateMultipartUploadResult/>', ''])(
  'an upload in parts whose end is answered with %j has not happened',
  async (body) => {
    const { driver } = await openOn((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      request.resume().once('end', () => {
        if (request.method === 'HEAD') response.writeHead(200, { ...HEAD, 'Content-Length': '9000000' }).end();
        else if (searchParams.has('uploads'))
          response.end('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>');
        else if (request.method === 'POST') response.end(body);
        else response.writeHead(200, HEAD).end(EMPTY);
      });
    });
    const content = (async function* () {
      for (let piece = 0; piece < 9; piece += 1) yield Buffer.alloc(1_000_000);
    })();
    await expect(failure(driver.write(at('/file'), content, { overwrite: true }))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  },
);

it.each([8_000_000, 16_000_000])(
  'an upload of %s bytes that is answered before the store has all of it has not happened',
  async (sizeBytes) => {
    const { driver } = await openOn((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      // It says so when the content begins, and takes no more of it.
      if (request.method === 'PUT')
        return void request.once('data', () => {
          request.pause();
          response.writeHead(200, { ...HEAD, Connection: 'close' }).end();
        });
      request.resume().once('end', () => {
        if (request.method === 'HEAD') response.writeHead(200, { ...HEAD, 'Content-Length': String(sizeBytes) }).end();
        else if (searchParams.has('uploads'))
          response.end('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>');
        else if (request.method === 'POST') response.end('<CompleteMultipartUploadResult/>');
        else response.end(EMPTY);
      });
    });
    const content = (async function* () {
      for (let sent = 0; sent < sizeBytes; sent += 1_000_000) yield Buffer.alloc(1_000_000);
    })();
    await expect(failure(driver.write(at('/file'), content, { overwrite: true, sizeBytes }))).resolves.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
  },
);

it.each([
  ['at once', 1, '"v1"', 'CONTENT_CORRUPT'],
  ['in parts', 9, '"v1"', 'CONTENT_CORRUPT'],
  ['at once, and was replaced since', 1, '"v2"', undefined],
  ['in parts, and was replaced since', 9, '"v2"', undefined],
])('what a store has with another size than was sent %s', async (_title, pieces, etag, code) => {
  let isTaken = false;
  const { driver } = await openOn((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://store');
    request.resume().once('end', () => {
      const head = { ETag: etag, 'Last-Modified': new Date().toUTCString(), 'Content-Length': '5' };
      if (request.method === 'HEAD' && isTaken) response.writeHead(200, head).end();
      else if (request.method === 'HEAD') response.writeHead(404).end();
      else if (searchParams.has('uploads'))
        response.end('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>');
      else {
        isTaken ||= request.method === 'POST' || (request.method === 'PUT' && pieces === 1);
        if (request.method === 'POST')
          response.end('<CompleteMultipartUploadResult><ETag>&quot;v1&quot;</ETag></CompleteMultipartUploadResult>');
        else response.writeHead(200, HEAD).end(EMPTY);
      }
    });
  });
  const content = (async function* () {
    for (let piece = 0; piece < pieces; piece += 1) yield Buffer.alloc(1_000_000);
  })();
  const written = driver.write(at('/file'), content, { overwrite: true });
  if (code) await expect(failure(written)).resolves.toMatchObject({ code });
  else expect(await written).toMatchObject({ sizeBytes: 5 });
});

describe('over a file that is there', () => {
  const OLD = { ETag: '"old"', 'Content-Length': '5' };
  /** A store that has an old file, answers the calls that would replace it, and keeps it. */
  const openKeeping = (replace: (request: IncomingMessage, response: ServerResponse) => void, date = DATE) =>
    openOn((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      request.resume().once('end', () => {
        if (request.method === 'HEAD') response.writeHead(200, { ...OLD, 'Last-Modified': date }).end();
        else if (request.method === 'GET') response.end(EMPTY);
        else if (searchParams.has('uploads'))
          response.end('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>');
        else if (searchParams.has('partNumber')) response.writeHead(200, HEAD).end();
        else replace(request, response);
      });
    });
  const content = async function* (pieces: number) {
    for (let piece = 0; piece < pieces; piece += 1) yield Buffer.alloc(1_000_000);
  };
  const asked = { overwrite: true, beforePublish: async () => undefined };

  it.each([
    ['that has an error in it', '<Error><Code>InternalError</Code></Error>', {}],
    ['that is a page of somebody on the way', '<html><body>Please log in</body></html>', { 'Content-Type': 'text/html' }],
    ['that names a version', '', { ETag: '"new"' }],
  ])('a success %s is none while the old file is there', async (_title, body, headers) => {
    const { driver } = await openKeeping((_, response) => void response.writeHead(200, headers).end(body));
    for (const options of [{ overwrite: true }, asked])
      await expect(failure(driver.write(at('/file'), content(1), options))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('the end of an upload in parts is none while the old file is there, whatever its date', async () => {
    const done = '<CompleteMultipartUploadResult><ETag>&quot;new&quot;</ETag></CompleteMultipartUploadResult>';
    const { driver } = await openKeeping((_, response) => void response.end(done), new Date(Date.now() + 60_000).toUTCString());
    for (const options of [{ overwrite: true }, asked])
      await expect(failure(driver.write(at('/file'), content(9), options))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('a store that shows the old file for a moment, and has the new one then, is believed', async () => {
    let looks = 0;
    const { driver } = await openOn((request, response) => {
      request.resume().once('end', () => {
        if (request.method === 'GET') response.end(EMPTY);
        else if (request.method === 'PUT') response.writeHead(200, { ETag: '"new"' }).end();
        else if (++looks < 3) response.writeHead(200, { ...OLD, 'Last-Modified': DATE }).end();
        else response.writeHead(200, { ETag: '"new"', 'Content-Length': '1000000', 'Last-Modified': new Date().toUTCString() }).end();
      });
    });
    expect(await driver.write(at('/file'), content(1), asked)).toMatchObject({ sizeBytes: 1_000_000 });
  });

  it('an old file of the same size is known where it was looked at before', async () => {
    const { driver } = await openKeeping((_, response) => void response.writeHead(200, { ETag: '"new"' }).end());
    const five = (async function* () {
      yield Buffer.from('other');
    })();
    await expect(failure(driver.write(at('/file'), five, asked))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});

it('a removal that is answered with another document has not happened', async () => {
  const { driver } = await openOn((request, response) => {
    if (request.method === 'HEAD') response.writeHead(404).end();
    else if (request.method === 'POST') response.end('<html><body>Please log in</body></html>');
    else response.end(listing(['d/a', 'd/b']));
  });
  await expect(failure(driver.remove(at('/d'), { recursive: true }))).resolves.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

it('keys that could not be removed are not taken for removed', async () => {
  const { driver } = await openOn((request, response) => {
    if (request.method === 'HEAD') response.writeHead(404).end();
    else if (request.method === 'POST') response.end('<DeleteResult><Error><Key>d/a</Key><Code>AccessDenied</Code></Error></DeleteResult>');
    else response.end(listing(['d/a', 'd/b']));
  });
  const error = await failure(driver.remove(at('/d'), { recursive: true }));
  expect(error).toMatchObject({ code: 'PERMISSION_DENIED' });
});

it('a reader that leaves, or is aborted while nothing comes, closes its connection', async () => {
  const closed: Array<Promise<void>> = [];
  const { driver } = await openOn((_request, response) => {
    closed.push(new Promise((resolve) => void response.once('close', resolve)));
    response.writeHead(200, { ...HEAD, 'Content-Length': '1000000' }).write('x'.repeat(1000));
  });
  for await (const _ of await driver.read(at('/file'))) break;
  const abort = new AbortController();
  const stalled = await driver.read(at('/file'), undefined, { signal: abort.signal });
  const reading = (async () => {
    for await (const _ of stalled) abort.abort();
  })();
  await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' });
  const unread = new AbortController();
  await driver.read(at('/file'), undefined, { signal: unread.signal });
  unread.abort();
  await Promise.all(closed);
  expect(closed).toHaveLength(3);
});

it('a page whose ETags or elements have no end is refused', async () => {
  for (const body of [
    listing(['a']).replace('"x"', 'x'.repeat(100_000)),
    `<ListBucketResult>${'<a/>'.repeat(40_000)}</ListBucketResult>`,
  ]) {
    const { driver } = await openOn((_request, response) => void response.end(body));
    expect((await failure(namesIn(driver)))?.message).toContain('the store answers with');
  }
});

describe.each([
  ['upper from lower case', (key: string) => key.toLowerCase(), 'name'],
  ['NFC from NFD', (key: string) => key.normalize('NFC'), 'caf\u00e9'],
  ['NFC from NFD, as names that are there in NFD show', (key: string) => key.normalize('NFC'), 'cafe\u0301'],
])('a store that does not tell %s', (_what, fold, name) => {
  it.each([true, false])('is not mounted, for path rules would not hold: one that takes writes %s', async (takesWrites) => {
    const opened = async (folds: boolean) => {
      const [there, asked] = [new Set([name]), [] as string[]];
      const server = await startHttpServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
        const key = decodeURIComponent(pathname.slice('/b/'.length));
        const isThere = [...there].some((each) => (folds ? fold(each) === fold(key) : each === key));
        if (request.method === 'GET' && searchParams.get('prefix') === '')
          return void response.end(listing([...there].map(encodeURIComponent)));
        if (request.method === 'GET') return void response.end(EMPTY);
        asked.push(`${request.method} ${key}`);
        if (request.method === 'HEAD') return void response.writeHead(isThere ? 200 : 404, { ...HEAD, 'Content-Length': 0 }).end();
        if (!takesWrites) return void response.writeHead(403).end();
        if (request.method === 'DELETE') there.delete(key);
        else if (isThere && request.headers['if-none-match'] === '*') return void response.writeHead(412).end();
        else there.add(key);
        response.writeHead(request.method === 'DELETE' ? 204 : 200, HEAD).end();
      });
      onTestFinished(() => server.stop());
      const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: SECRET };
      const opening = s3Driver.open(JSON.stringify(addition), { egress: testEgress() }).then((driver) => driver.close());
      const refusal = await opening.then(
        () => 'opened',
        (error: Error) => error.message,
      );
      return { refusal, asked, left: [...there].filter((key) => key.includes('wharf')) };
    };
    const { refusal, asked, left } = await opened(false);
    expect([refusal, left]).toEqual(['opened', []]);
    expect(asked.length).toBeLessThanOrEqual(9);
    const folding = await opened(true);
    expect([folding.refusal, folding.left]).toEqual([expect.stringContaining('does not tell upper from lower case'), []]);
  });
});

it('a bucket with two spellings of a name, one of them far behind, is mounted where it cannot be written to', async () => {
  const there = ['README', ...Array.from({ length: 200 }, (_, index) => `a${index}`), 'readme'].sort();
  const server = await startHttpServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
    if (request.method === 'HEAD')
      return void response.writeHead(there.includes(pathname.slice('/b/'.length)) ? 200 : 404, { ...HEAD, 'Content-Length': 0 }).end();
    if (request.method !== 'GET') return void response.writeHead(403).end();
    const listed = there.filter((key) => key.startsWith(searchParams.get('prefix') ?? ''));
    response.end(listing(listed.slice(0, Number(searchParams.get('max-keys') ?? 1000))));
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: SECRET };
  const driver = await s3Driver.open(JSON.stringify(addition), { egress: testEgress() });
  onTestFinished(() => driver.close());
  expect(await namesIn(driver)).toEqual(there);
});

it('what is above a folder or a file is looked for in few requests, however deep it is', async () => {
  const requestsFor = async (levels: number) => {
    const { driver, asked } = await openOn((request, response) => {
      if (request.method === 'HEAD') response.writeHead(404).end();
      else response.end(EMPTY);
    });
    await driver.makeDirectory(at('/a'.repeat(levels)));
    return asked();
  };
  const [few, more, many] = await Promise.all([requestsFor(100), requestsFor(200), requestsFor(400)]);
  expect([more - few, many - more]).toEqual([2, 2]);
  expect(many).toBeLessThan(30);
});

it.each([
  ['knows it', 412, 'STALE_VERSION', ['"v1"']],
  ['passes over it', 204, 'done', ['"v1"']],
  ['refuses it', 501, 'done', ['"v1"', undefined]],
] as const)('a removal of an object as it was asks for it by its ETag, of a store that %s', async (_what, status, code, conditions) => {
  const asked: (string | undefined)[] = [];
  const { driver } = await openOn((request, response) => {
    if (request.method === 'HEAD') return void response.writeHead(200, { ...HEAD, 'Content-Length': 1 }).end();
    if (request.method !== 'DELETE') return void response.end(EMPTY);
    const condition = request.headers['if-match'];
    asked.push(condition);
    response.writeHead(condition === undefined ? 204 : status).end();
  });
  const onlyIf = await driver.stat(at('/file'));
  expect([await codeOf(driver.remove(at('/file'), { recursive: false, onlyIf })), asked]).toEqual([code, conditions]);
});

it('a removal of what is not there makes no folder for it', async () => {
  const made: string[] = [];
  const { driver } = await openOn((request, response) => {
    if (request.method === 'PUT') made.push(request.url ?? '');
    if (request.method === 'HEAD') response.writeHead(404).end();
    else response.end(EMPTY);
  });
  made.length = 0;
  // As empty folders are removed where nothing was.
  const onlyIf = { name: nameAt(at('/none/file')), isDirectory: false, sizeBytes: -1, modifiedAt: new Date(Number.NaN) };
  expect(await codeOf(driver.remove(at('/none/file'), { recursive: false, onlyIf }))).toBe('ENTRY_NOT_FOUND');
  expect(made).toEqual([]);
});

it('uploads that were left are found on whatever page of the store, up to a bound', async () => {
  const at = { key: 'big & odd', id: 'an id' };
  const asked: URLSearchParams[] = [];
  let isEndless = false;
  let padding = '';
  const server = await startHttpServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://store');
    asked.push(searchParams);
    const isFirst = !searchParams.has('key-marker');
    const id = isFirst || at.id === '' ? at.id : `id-${asked.length}`;
    const upload = `<Upload><Key>${encodeURIComponent(at.key)}</Key><UploadId>${id}${padding}</UploadId><Initiated>2026-11-22T19:00:00.000Z</Initiated></Upload>`;
    const more = `<NextKeyMarker>${encodeURIComponent(at.key)}</NextKeyMarker><NextUploadIdMarker>${id}</NextUploadIdMarker>`;
    const facts = `<EncodingType>url</EncodingType><IsTruncated>${isFirst || isEndless}</IsTruncated>`;
    response.end(`<ListMultipartUploadsResult>${facts}${more}${upload.repeat(padding === '' ? 1 : 100)}</ListMultipartUploadsResult>`);
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: SECRET };
  const settings = s3Settings(s3ConfigSchema.parse(JSON.parse(s3Driver.normaliseAddition(JSON.stringify(addition)))));
  const client = new S3Client(settings, testEgress());
  onTestFinished(() => client.close());
  expect((await client.listUploads('', {})).map(({ key, id }) => [key, id])).toEqual([
    [at.key, at.id],
    [at.key, 'id-2'],
  ]);
  expect(asked.map((query) => [query.get('key-marker'), query.get('upload-id-marker')])).toEqual([
    [null, null],
    [at.key, at.id],
  ]);
  isEndless = true;
  expect(await client.listUploads('', {})).toHaveLength(20);
  at.id = '';
  asked.length = 0;
  await client.listUploads('', {});
  // A store that tells no id goes on behind the key, and an empty one it may refuse.
  expect(asked.slice(0, 2).map((query) => [query.get('key-marker'), query.get('upload-id-marker')])).toEqual([
    [null, null],
    [at.key, null],
  ]);
  at.id = 'id';
  padding = 'x'.repeat(60_000);
  // 120 MB in all.
  expect((await client.listUploads('', {})).length).toBeLessThan(300);
});
