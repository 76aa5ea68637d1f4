import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { startHttpServer, waitFor } from '@wharf/harness';
import { parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StorageDriver, WriteOptions } from '../../driver-contract/storage-driver.ts';
import { s3Driver } from './index.ts';
import { testEgress } from './testing/bucket.ts';

const FILE = relativeTo(VIRTUAL_ROOT, parseVirtualPath('/file'));
const DATE = new Date(Date.UTC(2026, 10, 22)).toUTCString();
const ROOT_KEEPER = '.wharf';
type Conditions = Readonly<Record<'if-match' | 'if-none-match', string | undefined>>;

const etagOf = (content: string) => `"${createHash('md5').update(content).digest('hex')}"`;

/** Whether what is there may be replaced, as stores go by it. @returns what is wrong with it */
function refusalOf(there: string | undefined, { 'if-match': over, 'if-none-match': isNew }: Conditions): number | undefined {
  if (isNew !== undefined && there !== undefined) return 412;
  if (over === undefined) return undefined;
  if (there === undefined) return 404;
  return over === etagOf(there) ? undefined : 412;
}

const notesOf = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (name.startsWith('x-amz-meta-') ? [[name, String(value)]] : [])));

interface Odd {
  /** What it does with a file that is put, before or instead of what stores do. @returns how it refuses it */
  put?: (conditions: Conditions) => Promise<number | undefined>;
  readonly knowsNoVersions?: boolean;
  /** It passes over conditions. */
  readonly heedsNone?: boolean;
  /** What stands in between sends each file twice, and answers as the store does the second time. */
  readonly sendsTwice?: boolean;
  /** Right before it looks at the condition with which the object that keeps the root is replaced. @param objects what it has */
  readonly onTry?: (objects: Map<string, string>) => void;
}

/** A store of small objects. */
async function openStore(odd: Odd = {}) {
  const objects = new Map<string, string>();
  /** What is noted on them. */
  const notes = new Map<string, Readonly<Record<string, string | undefined>>>();
  const asked: Conditions[] = [];
  let answered = 0;
  let looked = 0;
  const server = await startHttpServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
    const key = pathname.slice('/b/'.length);
    if (request.method === 'PUT') {
      const content = (await buffer(request)).toString();
      const conditions = { 'if-match': request.headers['if-match'], 'if-none-match': request.headers['if-none-match'] };
      let refusal: number | undefined;
      if (key === 'file') {
        asked.push(conditions);
        refusal = await odd.put?.(conditions);
      }
      if (key === ROOT_KEEPER && conditions['if-match'] !== undefined) odd.onTry?.(objects);
      if (odd.knowsNoVersions && conditions['if-match'] !== undefined) refusal = 412;
      for (let times = key === 'file' && odd.sendsTwice ? 2 : 1; times > 0; times -= 1) {
        if (!odd.heedsNone) refusal ??= refusalOf(objects.get(key), conditions);
        if (refusal !== undefined) continue;
        objects.set(key, content);
        notes.set(key, notesOf(request.headers));
      }
      if (key === 'file') answered += 1;
      return void response.writeHead(refusal ?? 200, { ETag: etagOf(content) }).end();
    }
    const there = objects.get(key);
    if (request.method === 'HEAD') {
      if (key === 'file') looked += 1;
      const head = { ETag: etagOf(there ?? ''), 'Last-Modified': DATE, 'Content-Length': there?.length ?? 0, ...notes.get(key) };
      return void response.writeHead(there === undefined ? 404 : 200, head).end();
    }
    const listed = [...objects.keys()].filter((each) => !each.includes('/') && each.startsWith(searchParams.get('prefix') ?? ''));
    const contents = listed.map(
      (each) => `<Contents><Key>${each}</Key><Size>1</Size><LastModified>2026-11-22T00:00:00.000Z</LastModified></Contents>`,
    );
    const folders = searchParams.get('prefix') || !objects.has('file/secret') ? [] : ['file/'];
    const prefixes = folders.map((each) => `<CommonPrefixes><Prefix>${each}</Prefix></CommonPrefixes>`);
    response.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${[...contents, ...prefixes].join('')}</ListBucketResult>`);
  });
  onTestFinished(() => server.stop());
  const addition = { root_folder_path: '/', bucket: 'b', endpoint: server.url, access_key_id: 'AK', secret_access_key: 'secret' };
  const open = async () => {
    const driver = await s3Driver.open(JSON.stringify({ ...addition, force_path_style: true }), { egress: testEgress(), storageId: 1 });
    onTestFinished(() => driver.close());
    expect(driver.traits.exclusiveCreate).toBe(!odd.heedsNone);
    return driver as Required<StorageDriver>;
  };
  return { objects, asked, answered: () => answered, looked: () => looked, open };
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

/** As tasks store a file: its place is looked at, and whether the task is still theirs. */
const store = (driver: StorageDriver, text: string, beforePublish = async () => {}) =>
  driver.write?.(FILE, bytes(text), { overwrite: true, sizeBytes: text.length, beforePublish });

it.each([undefined, 'before'])(
  'what a store carries out late, of a sender that is gone, replaces nothing that was stored since: over %s',
  async (before) => {
    const late = Promise.withResolvers<undefined>();
    const odd: Odd = { put: () => late.promise };
    const { objects, asked, answered, open } = await openStore(odd);
    if (before !== undefined) objects.set('file', before);
    const lost = await open();
    const sending = store(lost, 'sent')?.catch(() => undefined);
    await waitFor('the late one', async () => asked.length === 1);
    await lost.close();
    await sending;
    delete odd.put;
    const taker = await open();
    await store(taker, 'sent');
    await store(taker, 'an edit');
    late.resolve(undefined);
    await waitFor('the late one', async () => answered() === asked.length);
    expect(objects.get('file')).toBe('an edit');
  },
);

it.each([undefined, 'before'])(
  'a sender that is still there looks once more, and replaces what came meanwhile: over %s',
  async (before) => {
    let isFirst = true;
    const { objects, asked, open } = await openStore({
      async put() {
        if (isFirst) objects.set('file', 'meanwhile');
        isFirst = false;
        return undefined;
      },
    });
    if (before !== undefined) objects.set('file', before);
    let questions = 0;
    const beforePublish = async () => {
      questions += 1;
    };
    await store(await open(), 'sent', beforePublish);
    expect([objects.get('file'), asked.at(-1)?.['if-match'], questions]).toEqual(['sent', etagOf('meanwhile'), 2]);
  },
);

it.each([501, 400, 404, 412])('a store that refuses the condition with %d is asked without', async (status) => {
  const put = async ({ 'if-match': over }: Conditions) => (over === undefined ? undefined : status);
  const { objects, asked, open } = await openStore({ put });
  objects.set('file', 'before');
  await store(await open(), 'sent');
  expect([objects.get('file'), asked.map(({ 'if-match': over }) => over)]).toEqual(['sent', [etagOf('before'), undefined]]);
});

it('a proxy that sends each put twice, so that the second finds what the first has stored, is not asked on and on', async () => {
  let sent = 0;
  const { objects, asked, open } = await openStore({
    async put(conditions) {
      sent += 1;
      if (conditions['if-match'] === undefined && conditions['if-none-match'] === undefined) return undefined;
      // The same content, with another date by now.
      objects.set('file', `sent as number ${sent}`);
      return 412;
    },
  });
  objects.set('file', 'before');
  await store(await open(), 'sent');
  expect([objects.get('file'), asked.length, asked.at(-1)]).toEqual(['sent', 6, {}]);
});

describe('a put that is sent twice on its way, so that the second is refused for what the first has stored', () => {
  /** As a put with `If-Match` asks it. */
  const requireSame = (objects: ReadonlyMap<string, string>, before: string | undefined) => async () => {
    if (objects.get('file') !== before) throw new AppError('STALE_VERSION', 'the file was changed since');
  };

  it.each([undefined, 'before'])('is one that is done, whatever it asks about what it replaces: over %s', async (before) => {
    const { objects, asked, open } = await openStore({ sendsTwice: true });
    if (before !== undefined) objects.set('file', before);
    await store(await open(), 'sent', requireSame(objects, before));
    expect([objects.get('file'), asked.length]).toEqual(['sent', 1]);
  });

  it('is told from that of somebody else who stored the same meanwhile', async () => {
    const { objects, open } = await openStore({ put: async () => void objects.set('file', 'sent') as undefined });
    objects.set('file', 'before');
    await expect(store(await open(), 'sent', requireSame(objects, 'before'))).rejects.toMatchObject({ code: 'STALE_VERSION' });
  });

  it('is one that is done, where it replaces nothing', async () => {
    const { objects, open } = await openStore({ sendsTwice: true });
    const driver = await open();
    await driver.write(FILE, bytes('sent'), { overwrite: false, sizeBytes: 4 });
    expect(objects.get('file')).toBe('sent');
    await expect(driver.write(FILE, bytes('sent'), { overwrite: false, sizeBytes: 4 })).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
  });
});

it('a store that refused the condition when it was tried is not asked with it', async () => {
  const { objects, asked, open } = await openStore({ knowsNoVersions: true });
  const driver = await open();
  await store(driver, 'sent');
  await store(driver, 'sent again');
  expect([objects.get('file'), asked]).toEqual(['sent again', [{ 'if-none-match': '*' }, {}]]);
});

it('a store that another replica tries at the same moment is asked with the condition', async () => {
  let tries = 0;
  const { asked, open } = await openStore({
    onTry(objects) {
      tries += 1;
      if (tries === 1) objects.set(ROOT_KEEPER, 'as another replica has just made it');
    },
  });
  const driver = await open();
  await store(driver, 'sent');
  await store(driver, 'sent again');
  expect([tries, asked.at(-1)?.['if-match']]).toEqual([2, etagOf('sent')]);
});

it('of two small files that are to have one name at once, and to replace nothing, one has it in a store that heeds no conditions', async () => {
  const odd: Odd = { heedsNone: true };
  const { objects, looked, open } = await openStore(odd);
  odd.put = async () => {
    await waitFor('both looks', async () => looked() > 1);
    return undefined;
  };
  const storages = [await open(), await open()];
  const put = async (text: string, at: number) => {
    await storages[at]?.write(FILE, bytes(text), { overwrite: false, sizeBytes: text.length });
    return text;
  };
  const outcomes = await Promise.allSettled([put('one', 0), put('two', 1)]);
  expect(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))).toEqual([objects.get('file')]);
});

it('a folder behind a file of its name is listed for who looks for what is hidden, and for nobody else', async () => {
  const { objects, open } = await openStore();
  for (const key of ['file', 'file/secret']) objects.set(key, 'x');
  const driver = await open();
  const list = async (options = {}) => {
    const entries = await Array.fromAsync(driver.list(relativeTo(VIRTUAL_ROOT, VIRTUAL_ROOT), options));
    return entries.filter(({ name }) => name === 'file').map(({ isDirectory }) => isDirectory);
  };
  expect([await list(), await list({ seesAll: true }), await list({ seesBehind: true })]).toEqual([[false], [false], [false, true]]);
});

describe('a key that another file gets just now', () => {
  /** A store that is busy with a first file until it is told to go on; what is put later is taken at once. */
  async function openBusy(odd: Odd = { knowsNoVersions: true }) {
    const { promise: hold, resolve: go } = Promise.withResolvers<undefined>();
    const store = await openStore({ ...odd, put: () => (store.asked.length === 1 ? hold : Promise.resolve(undefined)) });
    const driver = await store.open();
    const put = (text: string, options: Partial<WriteOptions> = {}) =>
      driver.write(FILE, bytes(text), { overwrite: true, sizeBytes: text.length, ...options }).then(
        () => 'stored',
        (error: unknown) => AppError.from(error).code,
      );
    const first = put('first');
    await waitFor('the first one', async () => store.asked.length === 1);
    return { ...store, put, first, go: () => go(undefined) };
  }

  it('is waited for by others for five seconds, and by tasks as long as it takes, and is free after that', async () => {
    const { objects, asked, put, first, go } = await openBusy();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [task, other] = [put('by a task', { isPatient: true }), put('other')];
    let outcome: string | undefined;
    void other.then((code) => {
      outcome = code;
    });
    for (let tries = 0; outcome === undefined && tries < 20; tries += 1) {
      await wait(50);
      await vi.advanceTimersByTimeAsync(5_000);
    }
    vi.useRealTimers();
    expect(outcome).toBe('OVERLOADED');
    expect(await Promise.race([task, setImmediate('waits')])).toBe('waits');
    go();
    await first;
    expect([await task, objects.get('file'), asked.length]).toEqual(['stored', 'by a task', 2]);
    expect([await put('later', { overwrite: false }), await put('later')]).toEqual(['ENTRY_EXISTS', 'stored']);
  });

  it('is waited for by nobody who has left, who stores nothing later', async () => {
    const { objects, asked, put, first, go } = await openBusy();
    const leaving = new AbortController();
    const left = put('left', { isPatient: true, signal: leaving.signal });
    const behind = put('behind', { isPatient: true });
    await wait(100);
    leaving.abort();
    expect(await left).toBe('CANCELLED');
    go();
    await first;
    expect([await behind, objects.get('file'), asked.length]).toEqual(['stored', 'behind', 2]);
  });

  it('is waited for by no small file where the store itself decides which one has it', async () => {
    const { objects, put, first, go } = await openBusy({});
    expect([await put('new', { overwrite: false }), await put('newer'), objects.get('file')]).toEqual(['stored', 'stored', 'newer']);
    go();
    await first;
  });

  it('is looked at, and asked for, once more by who has waited for it', async () => {
    const { objects, put, first, go } = await openBusy({ heedsNone: true });
    const refusal = new AppError('STALE_VERSION', 'the file was changed since');
    const beforePublish = async () => {
      if (objects.has('file')) throw refusal;
    };
    let isDisabled = false;
    const afterWaiting = async () => {
      if (isDisabled) throw new AppError('PERMISSION_DENIED', 'not any more');
    };
    const [conditional, disabled] = [put('conditional', { beforePublish }), put('disabled', { afterWaiting })];
    await wait(100);
    isDisabled = true;
    go();
    expect([await first, await conditional, await disabled]).toEqual(['stored', 'STALE_VERSION', 'PERMISSION_DENIED']);
    expect(objects.get('file')).toBe('first');
  });
});
