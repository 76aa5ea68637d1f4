import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { httpRequest } from '@wharf/harness';
import { modelsOf, writeSessionModelOf } from '@wharf/models';
import { MOUNT_ROOT } from '@wharf/paths';
import { callHeaders, connectStore } from '@wharf/service-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bytesOf, mpath, textOf } from '../src/domain/testing/memory-tree.ts';
import { type NotedCall, noteCalls } from '../src/domain/testing/noted-calls.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import type { DriverDefinition } from '../src/driver-contract/define-driver.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { changedDrafts } from './changed-drafts.ts';
import { ADMIN, type Installation, openInstallation, type Replica, SERVICE, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
let folder: string;
/** Takes whole files only. */
const plain = createTestDriver('Plain', []);
const noted: NotedCall[] = [];
const noting: DriverDefinition = { ...plain.definition, open: async (...given) => noteCalls(await plain.definition.open(...given), noted) };
/** The folder too. Who had files get their names there. */
const publishers: (string | undefined)[] = [];
const publishing = changedDrafts(
  'Publishing',
  () => folder,
  (draft) => {
    const publish = draft.publish.bind(draft);
    draft.publish = (options) => {
      publishers.push(options.caller);
      return publish(options);
    };
  },
);
/** Its listings are kept. */
const keeping = createTestDriver('Keeping', ['listNames', 'statMany']);
const OFFLINE = 0b100;

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  await installation.writeStorage({ _id: 2, mount_path: '/p', driver: 'Plain' });
  await installation.writeStorage({ _id: 3, mount_path: '/l/mounted', driver: 'Plain' });
  await installation.login({ id: 5, permission: OFFLINE, base_path: '/l/home' });
  await installation.login({ id: 6, permission: 0 });
  await installation.login({ id: 7, permission: OFFLINE });
  await installation.login({ id: 8, permission: OFFLINE, base_path: '/l/limited', quota_bytes: 10 });
  for (const id of [20, 21, 22, 23, 24, 26]) await installation.login({ id, permission: OFFLINE, base_path: `/l/q${id}`, quota_bytes: 10 });
  await installation.login({ id: 25, permission: OFFLINE, base_path: '/p/q25', quota_bytes: 10 });
  await installation.writeStorage({ _id: 4, mount_path: '/k', driver: 'Keeping', cache_expiration: 30 });
  await installation.writeStorage({ _id: 6, mount_path: '/c', driver: 'Publishing', addition: '{}' });
  replica = await installation.open([localDriver, noting, keeping.definition, publishing]);
});
afterAll(() => installation?.close());
beforeEach(async () => {
  for (const name of await readdir(folder))
    if (name !== '.wharf-tmp') await (await import('node:fs/promises')).rm(`${folder}/${name}`, { recursive: true });
});

const newId = () => randomBytes(16).toString('hex');
const asService = () => installation.as(SERVICE);
const open = async (path: string, user_id = 7, size = 0) =>
  (await replica.writes.openWrite({ id: newId(), user_id, path, size }, asService())).session?.id ?? '';
const put = (id: string, query: string, body: string | Buffer, identity: typeof SERVICE | typeof ADMIN = SERVICE, url = replica.url) => {
  const call = { identity, requestId: 'test', revisions: { auth: 0, admin: 0 }, siteUrl: '' };
  const headers = callHeaders(replica.kit.tokens, call);
  return httpRequest(url, { method: 'PUT', path: `/internal/writes/${id}?${query}`, headers, body });
};
const commit = async (id: string, size: number, digests: Record<string, string> = {}) =>
  (await replica.writes.commitWrite({ id, size, digests }, asService())).session;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a write session', () => {
  it('puts a file together from ranges in any order, and gives it its name when it is verified', async () => {
    const id = await open('/l/new/folder/file.txt');
    expect((await put(id, 'offset=6', 'world')).status).toBe(204);
    expect((await put(id, 'offset=0', 'hello ')).status).toBe(204);
    expect(await readdir(`${folder}/new/folder`)).toEqual([]);
    await replica.writes.syncWrite({ id, size: 0 }, asService());
    const session = await commit(id, 11, { sha256: sha256('hello world') });
    expect(session).toMatchObject({ published_path: '/l/new/folder/file.txt', size: 11 });
    expect(await readFile(`${folder}/new/folder/file.txt`, 'utf8')).toBe('hello world');
    expect(await readdir(folder)).toEqual(['new']);
    // Whoever did not hear the answer asks again.
    expect(await commit(id, 11)).toMatchObject({ published_path: '/l/new/folder/file.txt' });
    expect((await replica.writes.resumeWrite({ id }, asService())).session).toMatchObject({ published_path: '/l/new/folder/file.txt' });
  });

  it("is its user's when it gets its name: one has no more than a share of what a storage bears", async () => {
    const id = await open('/c/file');
    await put(id, 'offset=0', 'text');
    expect(await commit(id, 4)).toMatchObject({ published_path: '/c/file' });
    const whole = await open('/p/folder/noted');
    noted.length = 0;
    expect((await put(whole, `size=4&sha256=${sha256('text')}`, 'text')).status).toBe(204);
    expect(publishers).toEqual(['user 7']);
    expect(noted.filter(({ operation }) => operation === 'write').map(({ caller }) => caller)).toEqual(['user 7']);
    // Where there is one connection, whatever the write asks of its storage would wait for the write.
    expect(noted.at(-1)?.operation).toBe('write');
  });

  it("has the id that its caller noted before, which is nobody else's, and is not there when it could not be opened", async () => {
    const id = newId();
    const openAs = (path: string, user_id: number) => replica.writes.openWrite({ id, user_id, path, size: 3 }, asService());
    await expect(openAs('/l/a.txt', 6)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(openAs('/l/limited/mounted\0', 7)).rejects.toMatchObject({ code: 'UNSAFE_PATH' });
    await expect(replica.writes.resumeWrite({ id }, asService())).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
    expect((await openAs('/l/a.txt', 7)).session).toMatchObject({ id });
    await put(id, 'offset=0', 'one');
    await expect(openAs('/l/b.txt', 7)).rejects.toMatchObject({ code: 'RECORD_EXISTS' });
    expect(await commit(id, 3)).toMatchObject({ published_path: '/l/a.txt' });
    await expect(replica.writes.openWrite({ id: '../../x', user_id: 7, path: '/l/c', size: 0 }, asService())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('is refused where the storage says that it has not so much room, and leaves nothing', async () => {
    const full = { code: 'QUOTA_EXCEEDED', message: 'the storage has no room for the 4503599627370496 bytes of this file' };
    await expect(open('/l/giant', 7, 2 ** 52)).rejects.toMatchObject(full);
    expect(await readdir(folder, { recursive: true })).not.toContainEqual(expect.stringContaining('giant'));
  });

  it('is not there where its storage refuses the path', async () => {
    const count = () => writeSessionModelOf(replica.kit.store).countDocuments();
    const before = await count();
    for (const path of ['/l/.wharf-tmp', '/l/folder/.wharf-tmp/x'])
      await expect(open(path)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await count()).toBe(before);
  });

  it('is taken away whatever its user may do by now, and brings no folder back', async () => {
    await installation.login({ id: 30, permission: OFFLINE });
    const id = await open('/l/removed/file', 30);
    await put(id, 'offset=0', 'some');
    await (await import('node:fs/promises')).rmdir(`${folder}/removed`);
    await installation.writeUser({ id: 30, disabled: true });
    await replica.writes.abortWrite({ id }, asService());
    expect(await readdir(folder)).toEqual([]);
    await expect(replica.writes.resumeWrite({ id }, asService())).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });

  it('a folder without files is made with the rights of its user; one that is there stays', async () => {
    const make = (path: string, user_id = 7) => replica.writes.makeFolder({ user_id, path }, asService());
    await make('/l/new/empty');
    await writeFile(`${folder}/new/empty/file`, 'x');
    await make('/l/new/empty');
    expect(await readdir(`${folder}/new/empty`)).toEqual(['file']);
    await make('/p/knows-none');
    await make('/l/mounted');
    await expect(make('/l/other', 6)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(make('/l/outside', 5)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await readdir(folder)).toEqual(['new']);
  });

  it('C17: counts against the quota of its user', async () => {
    const bring = async (name: string, text: string) => {
      const id = await open(`/l/limited/${name}`, 8);
      const { status } = await put(id, 'offset=0', text);
      try {
        return status === 204 ? await commit(id, text.length) : status;
      } finally {
        await replica.writes.abortWrite({ id }, asService());
      }
    };
    expect(await bring('a', 'x'.repeat(8))).toMatchObject({ size: 8 });
    expect(await bring('b', 'xxx')).toBe(507);
    expect(await bring('c', 'xx')).toMatchObject({ size: 2 });
    expect((await readdir(`${folder}/limited`)).toSorted()).toEqual(['a', 'c']);
  });

  describe('C17: within a quota of 10 bytes', () => {
    const FULL = { code: 'QUOTA_EXCEEDED', message: expect.stringContaining('quota exceeded: your files may have 10 bytes in all') };

    it('is refused when it is opened where the announced size has no room, and leaves nothing', async () => {
      await expect(open('/l/q20/a', 20, 11)).rejects.toMatchObject(FULL);
      expect(await readdir(folder, { recursive: true })).not.toContainEqual(expect.stringContaining('q20'));
      await replica.writes.abortWrite({ id: await open('/l/q20/a', 20, 10) }, asService());
    });

    it('takes no byte more than there is room for where no size was announced', async () => {
      const id = await open('/l/q21/a', 21);
      expect((await put(id, 'offset=0', 'x'.repeat(8))).status).toBe(204);
      expect((await put(id, 'offset=8', 'xxx')).json()).toMatchObject(FULL);
      expect((await put(id, 'offset=48000000', 'x')).json()).toMatchObject(FULL);
      expect((await put(id, 'offset=8', 'xx')).status).toBe(204);
      expect(await commit(id, 10)).toMatchObject({ size: 10 });
      await expect(open('/l/q21/b', 21, 1)).rejects.toMatchObject(FULL);
    });

    it('holds the room until it ends, and frees it then', async () => {
      const first = await open('/l/q22/a', 22, 6);
      await expect(open('/l/q22/b', 22, 5)).rejects.toMatchObject(FULL);
      await replica.writes.abortWrite({ id: first }, asService());
      const second = await open('/l/q22/b', 22, 8);
      await put(second, 'offset=0', 'xxx');
      // What is there in the end counts, not what was announced.
      expect(await commit(second, 3)).toMatchObject({ size: 3 });
      const third = await open('/l/q22/c', 22, 7);
      await expect(open('/l/q22/d', 22, 1)).rejects.toMatchObject(FULL);
      await replica.writes.abortWrite({ id: third }, asService());
    });

    it('holds the room of a draft longer than the session lives, whether anybody writes to it or not', async () => {
      const connection = await connectStore(installation.storeUrl);
      const [sessions, { quotaLedgers }] = [writeSessionModelOf(connection), modelsOf(connection)];
      const id = await open('/l/q26/a', 26, 6);
      const claim = async () => (await quotaLedgers.findById('/l/q26').lean())?.claims[id];
      const outlives = async () => {
        const session = await sessions.findById(id).lean();
        return ((await claim())?.expires_at.getTime() ?? 0) > (session?.expires_at.getTime() ?? Number.POSITIVE_INFINITY);
      };
      expect(await outlives()).toBe(true);
      await put(id, 'offset=0', 'xxx');
      await replica.writes.syncWrite({ id, size: 3 }, asService());
      expect(await outlives()).toBe(true);
      await replica.writes.abortWrite({ id }, asService());
      expect(await claim()).toBeUndefined();
      await connection.close();
    });

    it('needs its room once, whichever replicas have a part in it', async () => {
      const other = await installation.open([localDriver, plain.definition]);
      const id = await open('/l/q23/a', 23, 8);
      await put(id, 'offset=0', 'xxxx');
      expect((await put(id, 'offset=4', 'xxxx', SERVICE, other.url)).status).toBe(204);
      expect((await other.writes.commitWrite({ id, size: 8, digests: {} }, asService())).session).toMatchObject({ size: 8 });
      await expect(open('/l/q23/b', 23, 3)).rejects.toMatchObject(FULL);
      await replica.writes.abortWrite({ id: await open('/l/q23/b', 23, 2) }, asService());
    });

    it('holds against 16 sessions at once', async () => {
      const ids = await Promise.all(Array.from({ length: 16 }, (_, index) => open(`/l/q24/${index}`, 24)));
      const answers = await Promise.all(ids.map((id) => put(id, 'offset=0', 'xx')));
      expect(answers.filter(({ status }) => status === 204)).toHaveLength(5);
      for (const answer of answers) if (answer.status !== 204) expect(answer.json()).toMatchObject(FULL);
      for (const id of ids) await replica.writes.abortWrite({ id }, asService());
    });

    it('of a storage that takes whole files is refused while its bytes are elsewhere', async () => {
      const id = await open('/p/q25/a', 25);
      await replica.writes.syncWrite({ id, size: 10 }, asService());
      await expect(replica.writes.syncWrite({ id, size: 11 }, asService())).rejects.toMatchObject(FULL);
      await expect(open('/p/q25/b', 25, 1)).rejects.toMatchObject(FULL);
      expect((await put(id, 'size=4', 'text')).status).toBe(204);
      await replica.writes.abortWrite({ id: await open('/p/q25/b', 25, 6) }, asService());
    });
  });

  it('is found again by another replica, with all it had written', async () => {
    const id = await open('/l/resumed');
    await put(id, 'offset=0', 'first ');
    const other = await installation.open([localDriver, plain.definition]);
    expect((await other.writes.resumeWrite({ id }, asService())).session).toMatchObject({ id, takes_ranges: true, published_path: '' });
    await put(id, 'offset=6', 'second');
    expect((await other.writes.commitWrite({ id, size: 12, digests: {} }, asService())).session?.published_path).toBe('/l/resumed');
    expect(await readFile(`${folder}/resumed`, 'utf8')).toBe('first second');
  });

  it.each([
    ['size', 4, {}],
    ['digest', 5, { sha256: sha256('other') }],
    ['digest', 5, { md5: 'a'.repeat(32) }],
  ])('with another %s than announced is not published', async (_what, size, digests) => {
    const id = await open('/l/corrupt');
    await put(id, 'offset=0', 'hello');
    await expect(commit(id, size, digests)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect(await readdir(folder)).toEqual(['.wharf-tmp']);
    await replica.writes.abortWrite({ id }, asService());
    expect(await readdir(folder)).toEqual([]);
  });

  it('that is aborted leaves nothing, also when it is asked twice or for what never was', async () => {
    const id = await open('/l/aborted');
    await put(id, 'offset=0', 'hello');
    await replica.writes.abortWrite({ id }, asService());
    await replica.writes.abortWrite({ id }, asService());
    await replica.writes.abortWrite({ id: 'f'.repeat(32) }, asService());
    expect(await readdir(folder)).toEqual([]);
    expect((await put(id, 'offset=0', 'late')).status).toBe(404);
    await expect(commit(id, 5)).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });

  it('that is aborted while its file is stored gives it no name', async () => {
    const id = await open('/p/aborted.txt', 7, 5);
    let isAborted = false;
    plain.beforeCalls(async () => {
      if (isAborted) return;
      isAborted = true;
      await replica.writes.abortWrite({ id }, asService());
    });
    expect((await put(id, 'size=5', 'hello')).json()).toMatchObject({ code: 'RECORD_NOT_FOUND' });
    expect((await Array.fromAsync(plain.storeOf().list(MOUNT_ROOT))).map(({ name }) => name)).not.toContain('aborted.txt');
  });

  it('never takes the place of a file that is there: it gets a number', async () => {
    await writeFile(`${folder}/film.tar.gz`, 'mine');
    await mkdir(`${folder}/film.tar (1).gz`);
    const id = await open('/l/film.tar.gz');
    await put(id, 'offset=0', 'new');
    expect((await commit(id, 3))?.published_path).toBe('/l/film.tar (2).gz');
    expect(await readFile(`${folder}/film.tar.gz`, 'utf8')).toBe('mine');
  });

  it('leaves a kept listing as it is now, without its folder being read again', async () => {
    await open('/k/listed/first').then((id) => put(id, 'size=1', 'x'));
    const list = async () => {
      const names: string[] = [];
      for await (const { entries } of replica.fs.listEntries({ path: '/k/listed' }, installation.as()))
        names.push(...entries.map(({ name }) => name));
      return names;
    };
    await list();
    const id = await open('/k/listed/second');
    keeping.calls();
    await put(id, 'size=4', 'text');
    expect(await list()).toEqual(['first', 'second']);
    expect(keeping.calls().list).toBeUndefined();
  });

  it('on a storage without ranges takes the file at once', async () => {
    const { session } = await replica.writes.openWrite({ id: newId(), user_id: 7, path: '/p/whole', size: 0 }, asService());
    expect(session).toMatchObject({ takes_ranges: false });
    const id = session?.id ?? '';
    expect((await put(id, 'offset=0', 'part')).json()).toMatchObject({ code: 'FAILED_PRECONDITION' });
    expect((await put(id, `size=5&sha256=${sha256('other')}`, 'whole')).json()).toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect((await put(id, 'size=6', 'whole')).json()).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await put(id, `size=5&sha256=${sha256('whole')}`, 'whole')).status).toBe(204);
    expect(await commit(id, 5)).toMatchObject({ published_path: '/p/whole', size: 5 });
  });

  describe('on a storage without ranges whose answer was lost when the file had its name', () => {
    const openLost = async (name: string, size: number) => {
      const { session } = await replica.writes.openWrite({ id: newId(), user_id: 7, path: `/p/${name}`, size }, asService());
      const id = session?.id ?? '';
      plain.delayAnswers(async () => {
        if (
          await plain
            .storeOf()
            .stat(mpath(`/${name}`))
            .then(
              () => false,
              () => true,
            )
        )
          return;
        plain.delayAnswers(async () => {});
        throw new AppError('STORAGE_UNAVAILABLE', 'the answer is lost');
      });
      expect((await put(id, 'size=5', 'whole')).json()).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      return id;
    };
    const names = async (name: string) =>
      (await Array.fromAsync(plain.storeOf().list(MOUNT_ROOT))).map((entry) => entry.name).filter((each) => each.startsWith(name));

    const askedAgain = async (id: string) => (await replica.writes.resumeWrite({ id }, asService())).session?.published_path;

    it.each([0, 5])('is not written twice when it comes again, announced with %i bytes', async (size) => {
      const name = `again${size}`;
      const id = await openLost(name, size);
      expect(await askedAgain(id)).toBe('');
      expect((await put(id, 'size=5', 'whole')).status).toBe(204);
      expect(await askedAgain(id)).toBe(`/p/${name}`);
      expect(await commit(id, 5)).toMatchObject({ published_path: `/p/${name}`, size: 5 });
      expect(await names(name)).toEqual([name]);
    });

    it.each([0, 5])(
      'announced with %i bytes, gets a number where it comes again and another file of its size has the name',
      async (size) => {
        const name = `taken${size}`;
        const id = await openLost(name, size);
        await plain.storeOf().write(mpath(`/${name}`), bytesOf('other'), { overwrite: true });
        expect(await askedAgain(id)).toBe('');
        expect((await put(id, 'size=5', 'whole')).json()).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
        expect((await put(id, 'size=5', 'whole')).status).toBe(204);
        expect(await commit(id, 5)).toMatchObject({ published_path: `/p/${name} (1)`, size: 5 });
        expect(await textOf(await plain.storeOf().read(mpath(`/${name}`)))).toBe('other');
      },
    );
  });

  it('on a storage without ranges gets a number where its name is taken while it is stored, once it is sent again', async () => {
    const { session } = await replica.writes.openWrite({ id: newId(), user_id: 7, path: '/p/late', size: 5 }, asService());
    const id = session?.id ?? '';
    plain.calls();
    plain.beforeCalls(async () => {
      if (plain.calls().write === undefined) return;
      plain.beforeCalls(async () => {});
      await plain.storeOf().write(mpath('/late'), bytesOf('other'), { overwrite: true });
    });
    onTestFinished(() => plain.beforeCalls(async () => {}));
    expect((await put(id, 'size=5', 'whole')).json()).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect((await put(id, 'size=5', 'whole')).status).toBe(204);
    expect(await commit(id, 5)).toMatchObject({ published_path: '/p/late (1)', size: 5 });
    expect(await textOf(await plain.storeOf().read(mpath('/late')))).toBe('other');
  });
});

describe('who may (C24)', () => {
  it('write a session: our own services alone', async () => {
    const id = await open('/l/x');
    expect((await put(id, 'offset=0', 'x', ADMIN)).status).toBe(403);
    expect((await httpRequest(replica.url, { method: 'PUT', path: `/internal/writes/${id}?offset=0`, body: 'x' })).status).toBe(403);
    await expect(replica.writes.abortWrite({ id }, installation.as(ADMIN))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await replica.writes.abortWrite({ id }, asService());
  });

  it('have files brought somewhere: who has the permission, below the base path', async () => {
    await expect(open('/l/x', 6)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(open('/l/elsewhere/x', 5)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(open('/l/x', 99)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await replica.writes.abortWrite({ id: await open('/l/home/x', 5) }, asService());
  });

  it('are asked for anew by who brings files to a folder later: with the rights of now', async () => {
    const ask = (path: string, user_id: number) => replica.writes.requireTarget({ user_id, path }, asService());
    await ask('/l/home/not/there', 5);
    // It is asked again and again while downloads wait: their storage is not.
    await mkdir(`${folder}/home`, { recursive: true });
    await writeFile(`${folder}/home/a-file`, '');
    await ask('/l/home/a-file', 5);
    for (const [path, user] of [
      ['/l/x', 6],
      ['/l/elsewhere', 5],
      ['/l', 99],
    ] as const)
      await expect(ask(path, user)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(replica.writes.requireTarget({ user_id: 5, path: '/l/home' }, installation.as(USER))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });

  it('are asked for once more before the file gets its name: a storage may take hours for it', async () => {
    await installation.login({ id: 27, permission: OFFLINE });
    const id = await open('/p/shut-out', 27, 5);
    onTestFinished(() => plain.beforeCalls(async () => {}));
    plain.beforeCalls(() => installation.writeUser({ id: 27, disabled: true }));
    expect((await put(id, 'size=5', 'whole')).json()).toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(plain.storeOf().stat(mpath('/shut-out'))).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
  });

  it('name a target: a folder that is there or not, on a storage that takes uploads', async () => {
    await writeFile(`${folder}/file`, '');
    const check = (path: string, permission = OFFLINE) => replica.writes.checkTarget({ path }, installation.as({ ...USER, permission }));
    expect(await check('/l/not/there')).toEqual({ path: '/l/not/there', mount_path: '/l', inner_path: '/not/there' });
    await expect(check('/l/file')).rejects.toMatchObject({ code: 'NOT_A_DIRECTORY' });
    await expect(check('/l', 0)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(check('/nowhere')).rejects.toMatchObject({ code: 'MOUNT_NOT_FOUND' });
    await expect(check('/l/../..')).rejects.toMatchObject({ code: 'UNSAFE_PATH' });
  });
});
