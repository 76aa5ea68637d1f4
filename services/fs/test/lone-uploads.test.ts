import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { request as sendRequest } from 'node:http';
import { writeSessionModelOf } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UploadSession, UploadStore } from '../src/domain/uploads/upload-session.ts';
import { createSessionParts } from '../src/domain/writes/session-parts.ts';
import type { WriteSessionStore } from '../src/domain/writes/write-session.ts';
import { createWriteSessions } from '../src/domain/writes/write-sessions.ts';
import { storageError } from '../src/driver-contract/storage-error.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { createLoneUploadStore } from '../src/store/lone-upload-store.ts';
import { createUploadStore } from '../src/store/upload-store.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';
import { partCalls } from './parts.ts';

const WRITE = 0b1000;
const MIB = 1024 * 1024;
/** Two parts of 1 MiB and one of 5 bytes. */
const FILE = randomBytes(2 * MIB + 5);
const part = (index: number, of: Buffer = FILE) => of.subarray(index * MIB, (index + 1) * MIB);

let installation: Installation;
let one: Replica;
let folder: string;
let login: string;
/** Whether the disk loses what is written to it: it says so once, and a file that is open since then is not to be trusted. */
let isLosing = false;
/** Waited for before a whole file is written. */
let beforeWrite = async (): Promise<void> => undefined;
const losing: typeof localDriver = {
  ...localDriver,
  async open(...given) {
    const driver = await localDriver.open(...given);
    const openDraft = driver.openDraft?.bind(driver);
    if (!openDraft) throw new Error('it has drafts');
    const write = driver.write?.bind(driver);
    if (!write) throw new Error('it takes files');
    return Object.assign(driver, {
      async write(...asked: Parameters<typeof write>) {
        await beforeWrite();
        return write(...asked);
      },
      async openDraft(...asked: Parameters<typeof openDraft>) {
        const draft = await openDraft(...asked);
        const sync = draft.sync.bind(draft);
        let isLost = false;
        draft.sync = () => {
          isLost ||= isLosing;
          return isLost ? Promise.reject(storageError('STORAGE_UNAVAILABLE')) : sync();
        };
        return draft;
      },
    });
  },
};

beforeAll(async () => {
  installation = await openInstallation();
  folder = await installation.mountFolder();
  login = await installation.login({ id: 5, permission: WRITE });
  one = await installation.open([losing], { isAlone: true });
});
afterAll(() => installation?.close());

const { begin, call, chunk, end } = partCalls(() => ({ as: login, at: one, size: FILE.byteLength }));

describe('a process that is alone', () => {
  it('mixes no bytes of two clients that send one upload at once', async () => {
    const theirs = randomBytes(FILE.byteLength);
    const id = await begin('/l/two');
    const total = 3;
    // Both send all parts at once, until each is there.
    const send = async (content: Buffer) => {
      const codes = new Map<number, number>();
      await Promise.all(
        Array.from({ length: total }, async (_, index) => {
          let { code } = await chunk(id, index, part(index, content));
          while (code === 409) ({ code } = await chunk(id, index, part(index, content)));
          codes.set(index, code);
        }),
      );
      return codes;
    };
    const [ours, others] = await Promise.all([send(FILE), send(theirs)]);
    expect(await end('complete', id)).toMatchObject({ code: 200 });
    const stored = await readFile(`${folder}/two`);
    for (let index = 0; index < total; index += 1) {
      expect([ours.get(index), others.get(index)].toSorted()).toEqual([200, 400]);
      expect(part(index, stored).equals(part(index, ours.get(index) === 200 ? FILE : theirs))).toBe(true);
    }
    expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('draft-'));
  });
});

describe('an upload that gets its name slowly', () => {
  it('gets it although its client is gone, and whoever asks again waits for that', async () => {
    const at = await installation.open([losing]);
    const id = await begin('/l/slow', { at });
    for (const index of [0, 1, 2]) expect(await chunk(id, index, part(index), { at })).toMatchObject({ code: 200 });
    // The file is made by a copy.
    await writeSessionModelOf(at.kit.store).updateOne({ _id: id }, { $set: { 'upload.is_taken_over': true } });
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let copies = 0;
    beforeWrite = async () => {
      copies += 1;
      entered.resolve();
      await gate.promise;
    };
    try {
      const headers = { Authorization: login, 'X-Upload-Id': id };
      const { hostname: host, port } = new URL(at.url);
      const leaving = sendRequest({ host, port, method: 'POST', path: '/api/fs/multipart/complete', headers }).on('error', () => undefined);
      leaving.end();
      await entered.promise;
      leaving.destroy();
      // Whoever answers these has seen that the connection is gone.
      for (let look = 0; look < 3; look += 1) expect(await call('GET', `status?upload_id=${id}`, { at })).toMatchObject({ code: 200 });
      const again = end('complete', id, { at });
      gate.resolve();
      expect(await again).toMatchObject({ code: 200, data: { state: 'completed' } });
    } finally {
      gate.resolve();
      beforeWrite = async () => undefined;
    }
    expect(copies).toBe(1);
    expect(FILE.equals(await readFile(`${folder}/slow`))).toBe(true);
  });
});

describe('a part whose bytes could not be made durable', () => {
  it('is not accepted, and is taken when it comes again', async () => {
    const id = await begin('/l/lost');
    isLosing = true;
    expect(await chunk(id, 0, part(0))).toMatchObject({ code: 429, data: { received: [] } });
    isLosing = false;
    for (const index of [0, 1, 2]) expect(await chunk(id, index, part(index))).toMatchObject({ code: 200 });
    expect(await end('complete', id)).toMatchObject({ code: 200 });
    expect(FILE.equals(await readFile(`${folder}/lost`))).toBe(true);
  });
});

describe('the store of a process that is alone', () => {
  const now = new Date(1_000);
  const later = new Date(2_000);
  const claim = (id: string, writer: string, until = later) => ({ id, key: '0', writer, until });
  const open = async (): Promise<{ store: UploadStore; sessions: WriteSessionStore; session: UploadSession }> => {
    const { uploads: store, sessions } = createLoneUploadStore(one.kit.store);
    const session = await store.find(await begin(`/l/of-the-store-${randomBytes(4).toString('hex')}`));
    if (!session) throw new Error('the upload is not there');
    return { store, sessions, session };
  };

  it('does not trust a look that was before a part was accepted', async () => {
    const { store, session } = await open();
    const { id } = session;
    expect(await store.claim(claim(id, 'a'), now, session)).toMatchObject({ former: undefined });
    expect((await store.accept(claim(id, 'a'), 7, later))?.upload.parts).toEqual(new Map([[0, 7]]));
    expect(await store.claim(claim(id, 'b'), now, session)).toBe('accepted');
  });

  it('gives a claim that has run out to the next, whose word then counts alone', async () => {
    const { store, session } = await open();
    const { id } = session;
    await store.claim(claim(id, 'a', now), new Date(0), session);
    expect(await store.claim(claim(id, 'b'), new Date(0), session)).toEqual({ heldUntil: now });
    expect(await store.claim(claim(id, 'b'), now, session)).toMatchObject({ former: 'a' });
    expect((await store.find(id))?.upload.isTakenOver).toBe(true);
    expect(await store.renew(claim(id, 'a'))).toBe(false);
    expect(await store.accept(claim(id, 'a'), 7, later)).toBeUndefined();
    await store.free(claim(id, 'a'));
    expect(await store.claim(claim(id, 'c'), now, session)).toEqual({ heldUntil: later });
    expect((await store.accept(claim(id, 'b'), 8, later))?.upload.parts).toEqual(new Map([[0, 8]]));
  });

  it.each([
    ['a process that is alone', createLoneUploadStore],
    ['several', (connection: StoreConnection) => ({ uploads: createUploadStore(connection) })],
  ])('of %s gives a claim that was made before the clock was set back to the next', async (_, make) => {
    const { uploads: store } = make(one.kit.store);
    const id = await begin(`/l/set-back-${randomBytes(4).toString('hex')}`);
    const session = await store.find(id);
    if (!session) throw new Error('the upload is not there');
    const [early, late] = [new Date(1_000), new Date(1_000_000)];
    await store.claim(claim(id, 'a', new Date(1_015_000)), late, session);
    expect(await store.claim(claim(id, 'b'), new Date(1_000_500), session)).toEqual({ heldUntil: new Date(1_015_000) });
    expect(await store.claim(claim(id, 'b'), early, session)).toMatchObject({ former: 'a' });
  });

  it('lets what was used last before the clock was set back go after a day by the clock as it is now', async () => {
    const { store, sessions, session } = await open();
    await sessions.touch(session.id, new Date(Date.now() + 366 * 86_400_000));
    const neverAsked = () => Promise.reject(new Error('nobody asks'));
    const given = {
      operationOf: neverAsked,
      currentSnapshot: neverAsked,
      clock: Date.now,
      dataUrl: '',
      uploadIdleMs: 1_000,
      spool: undefined,
    };
    await createWriteSessions(createSessionParts({ store: sessions, ...given })).sweep();
    const left = ((await store.find(session.id))?.expiresAt.getTime() ?? 0) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(86_400_000);
  });

  it('accepts nothing for an upload that was ended', async () => {
    const { store, session } = await open();
    const { id } = session;
    await store.claim(claim(id, 'a'), now, session);
    await end('abort', id);
    expect(await store.accept(claim(id, 'a'), 7, later)).toBeUndefined();
    expect(await store.claim({ ...claim(id, 'b'), key: 'complete' }, now, session)).toBe('gone');
  });

  it('asks for one change for each part, and looks once', async () => {
    const sent: string[] = [];
    const connection = await connectStore(`${installation.storeUrl}&monitorCommands=true`);
    connection.getClient().on('commandStarted', ({ commandName }) => void sent.push(commandName));
    try {
      const { uploads: store } = createLoneUploadStore(connection);
      const id = await begin('/l/counted', { headers: { 'X-File-Size': `${100 * MIB}` } });
      const accept = async (index: number) => {
        const seen = await store.find(id);
        if (!seen) throw new Error('the upload is not there');
        await store.claim({ ...claim(id, `w${index}`), key: `${index}` }, now, seen);
        return store.accept({ ...claim(id, `w${index}`), key: `${index}` }, index, later);
      };
      await store.find(id);
      for (const count of [10, 20, 40]) {
        sent.length = 0;
        // Four at a time, as clients do.
        for (let from = count; from < 2 * count; from += 4)
          await Promise.all([0, 1, 2, 3].filter((lane) => from + lane < 2 * count).map((lane) => accept(from + lane)));
        expect(sent).toEqual(Array.from({ length: count }, () => 'update'));
      }
      const known = await store.find(id);
      expect(known).toEqual(await createLoneUploadStore(one.kit.store).uploads.find(id));
      expect(known?.upload.parts.size).toBe(70);
    } finally {
      await connection.close();
    }
  });

  it('sees at once what is changed of a session', async () => {
    const { store, sessions, session } = await open();
    const { id } = session;
    await sessions.touch(id, new Date(5_000));
    expect((await store.find(id))?.expiresAt).toEqual(new Date(5_000));
    await sessions.beginPublishing(id, session.path);
    expect((await store.find(id))?.publishingPath).toBe(session.path);
    const seen = await store.find(id);
    await sessions.markPublished(session, 7, new Date(9_000));
    expect(await store.find(id)).toMatchObject({ isPublished: true, sizeBytes: 7, expiresAt: new Date(9_000) });
    expect(await store.claim(claim(id, 'a'), now, seen)).toBe('gone');
    await sessions.remove(id);
    expect(await store.find(id)).toBeUndefined();
  });

  it('knows a stream as far as it has come', async () => {
    const { store, session } = await open();
    const { id } = session;
    const held = { id, key: 'stream', writer: 'a' };
    await store.claim({ ...held, until: later }, now, session);
    for (const [at, isLast] of [
      [5, false],
      [9, true],
    ] as const) {
      expect((await store.advance(held, at, later, isLast))?.upload.offsetBytes).toBe(at);
      expect(await store.find(id)).toEqual(await createLoneUploadStore(one.kit.store).uploads.find(id));
    }
    expect(await store.advance(held, 10, later, false)).toBeUndefined();
  });
});
