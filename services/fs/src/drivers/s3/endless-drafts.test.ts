import type { ServerResponse } from 'node:http';
import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { refusalOf } from '../../domain/testing/refusal.ts';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import { S3Client } from './client.ts';
import { s3ConfigSchema, s3Settings } from './config.ts';
import { s3Driver } from './index.ts';
import { StoredDraft, sweepDrafts } from './stored-draft.ts';
import { testEgress } from './testing/bucket.ts';

const LIMIT_MS = 60_000;
const DATE = '2026-11-22T19:00:00.000Z';
const PAGE = 1_000;
const ID = 'a'.repeat(32);
const FOLDER = `.wharf-uploads/draft-${ID}/`;
const NOTE = JSON.stringify({ uploadId: 'u', partBytes: 8 * 1024 * 1024, sizeBytes: 0 });
const HEAD = { ETag: '"n"', 'Last-Modified': new Date(DATE).toUTCString(), 'Content-Length': NOTE.length };
const NO_PARTS = '<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>';

/** What a store says of its lists, each text whole. */
interface Lists {
  readonly objects: (query: URLSearchParams) => string;
  readonly parts: (query: URLSearchParams) => string;
  readonly uploads: () => string;
}

/** A store with one draft, whose lists are as they are told. */
async function openStore(lists: Partial<Lists>) {
  const { objects, parts, uploads }: Lists = {
    objects: () => '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>',
    parts: () => NO_PARTS,
    uploads: () => '<ListMultipartUploadsResult/>',
    ...lists,
  };
  const server = await startHttpServer(({ url = '', method }, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(url, 'http://store');
    if (method !== 'GET') response.writeHead(204).end();
    else if (pathname.endsWith('/note')) response.writeHead(200, HEAD).end(NOTE);
    else if (searchParams.has('uploads')) response.end(uploads());
    else response.end(searchParams.has('uploadId') ? parts(searchParams) : objects(searchParams));
  });
  onTestFinished(() => server.stop());
  const addition = {
    root_folder_path: '/',
    bucket: 'b',
    endpoint: server.url,
    access_key_id: 'AK',
    secret_access_key: 'x',
    list_object_version: 'v2',
  };
  const settings = s3Settings(s3ConfigSchema.parse(JSON.parse(s3Driver.normaliseAddition(JSON.stringify(addition)))));
  const client = new S3Client(settings, testEgress());
  onTestFinished(() => client.close());
  return { client, keyPrefix: settings.keyPrefix, hashes: { sha256: true, md5: false }, room: createListingRoom() };
}

const part = (number: number, date = DATE) =>
  `<Part><PartNumber>${number}</PartNumber><Size>1</Size><ETag>"x"</ETag><LastModified>${date}</LastModified></Part>`;

it('a list of parts has no more of them than an upload, however far it goes on', { timeout: LIMIT_MS }, async () => {
  let asked = 0;
  const store = await openStore({
    parts(query) {
      asked += 1;
      // All but the last have one number.
      const last = Number(query.get('part-number-marker')) + 1;
      return `<ListPartsResult><IsTruncated>true</IsTruncated>${part(last).repeat(PAGE)}</ListPartsResult>`;
    },
  });
  expect((await refusalOf(store.client.listParts('key', 'u', {})))[1]).toContain('more parts than an upload has');
  expect(asked).toBe(11);
});

it('a draft has no more pieces than listings of a storage may hold', { timeout: LIMIT_MS }, async () => {
  let asked = 0;
  const store = await openStore({
    objects(query) {
      asked += 1;
      const from = Number(query.get('continuation-token') ?? 0);
      const piece = (index: number) =>
        `<Contents><Key>${FOLDER}piece-${String(from + index).padStart(16, '0')}</Key><Size>1</Size><LastModified>${DATE}</LastModified><ETag>"${'e'.repeat(250)}"</ETag></Contents>`;
      const pieces = Array.from({ length: PAGE }, (_, index) => piece(index));
      return `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${from + PAGE}</NextContinuationToken>${pieces.join('')}</ListBucketResult>`;
    },
  });
  const draft = await StoredDraft.find(store, ID, {});
  expect((await refusalOf(draft.sizeBytes({})))[1]).toContain('more pieces than a file has');
  expect(asked).toBeLessThan(60);
});

it('the uploads of one draft are looked at one after the other, and the last part that came counts', { timeout: LIMIT_MS }, async () => {
  const now = Date.parse(DATE) + 48 * 60 * 60 * 1000;
  const upload = (index: number) =>
    `<Upload><Key>${FOLDER}whole</Key><UploadId>u${index}</UploadId><Initiated>${DATE}</Initiated></Upload>`;
  let [running, most] = [0, 0];
  const store = await openStore({
    uploads: () => `<ListMultipartUploadsResult>${[0, 1, 2, 3].map(upload).join('')}</ListMultipartUploadsResult>`,
    parts: (query) =>
      query.get('uploadId') === 'u2' ? NO_PARTS.replace('<IsT', `${part(1, new Date(now - 1_000).toISOString())}<IsT`) : NO_PARTS,
  });
  const { listParts } = store.client;
  store.client.listParts = async (...asked) => {
    running += 1;
    most = Math.max(most, running);
    return listParts.apply(store.client, asked).finally(() => {
      running -= 1;
    });
  };
  const aborted: string[] = [];
  store.client.abortUpload = async (_key, id) => void aborted.push(id);
  await sweepDrafts(store, {}, now);
  expect([most, aborted]).toEqual([1, []]);
  await sweepDrafts(store, {}, now + 48 * 60 * 60 * 1000);
  expect(aborted).toEqual(['u0', 'u1', 'u2', 'u3']);
});

it('a draft whose objects come again and again is swept once, and no more of it by this opening', { timeout: LIMIT_MS }, async () => {
  const store = await openStore({
    objects(query) {
      const isOfAll = query.get('prefix') === '.wharf-uploads/draft-';
      const from = Number(query.get('continuation-token') ?? 0);
      const key = `${FOLDER}piece-${String(from).padStart(16, '0')}`;
      const object = `<Contents><Key>${key}</Key><Size>1</Size><LastModified>${DATE}</LastModified><ETag>"x"</ETag></Contents>`;
      return `<ListBucketResult><IsTruncated>${!isOfAll}</IsTruncated><NextContinuationToken>${from + 1}</NextContinuationToken>${object}</ListBucketResult>`;
    },
  });
  let removed = 0;
  store.client.deleteMany = async (keys) => {
    removed += keys.length;
  };
  await sweepDrafts(store, { signal: AbortSignal.timeout(LIMIT_MS / 2) }, Date.parse(DATE) + 72 * 60 * 60 * 1000);
  expect(removed).toBe(200);
});
