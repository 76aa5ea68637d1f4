import { buffer } from 'node:stream/consumers';
import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { expect, it, onTestFinished } from 'vitest';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { s3Driver } from './index.ts';
import { testEgress } from './testing/bucket.ts';

const at = (path: string) => relativeTo(VIRTUAL_ROOT, parseVirtualPath(path));
const DATE = new Date(Date.UTC(2026, 10, 22));
const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: unknown) => AppError.from(error).code,
  );

interface Odd {
  /** Of a removal of `file`, before it is done. @returns how it is answered instead */
  readonly onDelete?: (objects: Map<string, string>, condition: string | undefined) => number | undefined;
  /** It is carried out so often. */
  readonly times?: number;
}

/** A store that keeps folders, as those on a file system do: one that is not empty is not removed. Its ETags are its contents. */
async function openStore(keys: readonly string[], { onDelete, times = 1 }: Odd = {}) {
  const objects = new Map(keys.map((key) => [key, 'old']));
  const removals: string[][] = [];
  const remove = (key: string) => {
    if (key.endsWith('/') && [...objects.keys()].some((each) => each !== key && each.startsWith(key))) return false;
    objects.delete(key);
    return true;
  };
  const removeMany = (body: string) => {
    const asked = [...body.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key);
    removals.push(asked);
    const failed = asked.filter((key) => !remove(key)).map((key) => `<Error><Key>${key}</Key><Code>DirectoryNotEmpty</Code></Error>`);
    return `<DeleteResult>${failed.join('')}</DeleteResult>`;
  };
  const removeOne = (key: string, condition: string | undefined) => {
    const told = key === 'file' ? onDelete?.(objects, condition) : undefined;
    if (told !== undefined) return told;
    let status = 204;
    for (let time = 0; time < times; time += 1) {
      const content = objects.get(key);
      const holds = condition === undefined || condition === `"${content}"`;
      status = content === undefined && condition !== undefined ? 404 : holds ? 204 : 412;
      if (status === 204 && !remove(key)) status = 409;
    }
    return status;
  };
  const list = (query: URLSearchParams) => {
    const [prefix, after, most] = [query.get('prefix') ?? '', query.get('marker') ?? '', Number(query.get('max-keys'))];
    const all = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = all.slice(0, Math.min(most, 3));
    const contents = page.map(
      (key) =>
        `<Contents><Key>${encodeURIComponent(key)}</Key><Size>3</Size><LastModified>${DATE.toISOString()}</LastModified><ETag>"${objects.get(key)}"</ETag></Contents>`,
    );
    return `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${page.length < all.length}</IsTruncated>${contents.join('')}</ListBucketResult>`;
  };
  const server = await startHttpServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
    const key = decodeURIComponent(pathname.slice('/b/'.length));
    const body = (await buffer(request)).toString();
    if (request.method === 'POST') return void response.end(removeMany(body));
    if (request.method === 'DELETE') return void response.writeHead(removeOne(key, request.headers['if-match'])).end();
    if (request.method === 'GET') return void response.end(list(searchParams));
    if (request.method === 'PUT') objects.set(key, body);
    const head = { ETag: `"${objects.get(key)}"`, 'Last-Modified': DATE.toUTCString(), 'Content-Length': objects.get(key)?.length ?? 0 };
    response.writeHead(objects.has(key) ? 200 : 404, request.method === 'PUT' ? { ETag: head.ETag } : head).end();
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: 'secret' };
  const driver = await s3Driver.open(JSON.stringify({ ...addition, force_path_style: true }), { egress: testEgress(), storageId: 1 });
  onTestFinished(() => driver.close());
  return {
    objects,
    removals,
    driver: driver as Required<StorageDriver>,
    left: () => [...objects.keys()].filter((key) => key !== '.wharf'),
  };
}

it('an empty folder of a store that keeps folders is removed', async () => {
  const { driver, left } = await openStore(['above/.wharf', 'above/folder/', 'above/folder/.wharf']);
  expect(await outcomeOf(driver.remove(at('/above/folder'), { recursive: false }))).toBe('done');
  expect(left()).toEqual(['above/.wharf']);
});

it('a folder of a store that keeps folders is removed behind all that is in it, on whatever page that is', async () => {
  const inside = ['a/', 'a/b/', 'a/b/c/', 'a/b/c/d', 'a/b/c/e', 'a/b/f', 'a/g', 'a-b/', 'a-b/h', 'i'].map((key) => `folder/${key}`);
  const { driver, left, removals } = await openStore(['folder/', ...inside]);
  expect(await outcomeOf(driver.remove(at('/folder'), { recursive: true }))).toBe('done');
  expect([left(), removals.flat().sort()]).toEqual([[], ['folder/', ...inside].sort()]);
});

it('a folder of a store that keeps folders, with a name that XML has no letters for, goes behind what is in it', async () => {
  const inside = ['', 'a', 'b/', 'b/c'].map((key) => `above/fol\u0001der/${key}`);
  const { driver, left } = await openStore(['above/.wharf', ...inside]);
  expect(await outcomeOf(driver.remove(at('/above'), { recursive: true }))).toBe('done');
  expect(left()).toEqual([]);
});

it('a removal that a store carries out late removes nothing that was stored since', async () => {
  let late: string | undefined;
  const { driver, objects } = await openStore(['file'], {
    onDelete(_objects, condition) {
      late = condition;
      return 503;
    },
  });
  expect(await outcomeOf(driver.remove(at('/file'), { recursive: false }))).toBe('STORAGE_UNAVAILABLE');
  objects.set('file', 'new');
  expect(late).toBe('"old"');
});

it.each([false, true])('a removal that a proxy sends twice is told as done; of what was looked at before: %s', async (isConditional) => {
  const { driver, left } = await openStore(['file'], { times: 2 });
  const onlyIf = isConditional ? await driver.stat(at('/file')) : undefined;
  expect(await outcomeOf(driver.remove(at('/file'), { recursive: false, ...(onlyIf && { onlyIf }) }))).toBe('done');
  expect(left()).toEqual([]);
});

it('what is stored between the look and the removal stays, and the removal says so', async () => {
  const { driver, objects } = await openStore(['file'], { onDelete: (there) => void there.set('file', 'new') });
  expect(await outcomeOf(driver.remove(at('/file'), { recursive: false }))).toBe('STALE_VERSION');
  expect(objects.get('file')).toBe('new');
});

it.each([412, 404, 501, 400])('a store that refuses each condition with %d is asked without', async (status) => {
  const { driver, left } = await openStore(['file'], { onDelete: (_objects, condition) => (condition === undefined ? undefined : status) });
  expect(await outcomeOf(driver.remove(at('/file'), { recursive: false }))).toBe('done');
  expect(left()).toEqual([]);
});
