import { randomBytes } from 'node:crypto';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { makeIndexes, writeSessionModelOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { expect, it, onTestFinished } from 'vitest';
import { vpath } from '../src/domain/testing/memory-tree.ts';
import type { WriteSession } from '../src/domain/writes/write-session.ts';
import { createFinishedSessions, FINISHED } from '../src/store/finished-sessions.ts';
import { createWriteSessionStore } from '../src/store/write-session-store.ts';

let expiresMs = 0;

function session(userId: number): WriteSession {
  expiresMs += 1;
  return {
    ...{ id: randomBytes(16).toString('hex'), userId, path: vpath('/file'), storageId: 1, hasDraft: true, publishingPath: undefined },
    ...{ isPublished: false, sizeBytes: 1, dataUrl: '', expiresAt: new Date(expiresMs) },
  };
}

async function openStore() {
  const dir = await makeTempDir('finished');
  const engine = await startEmbeddedMongo({ dataDir: dir.path });
  const connection = await connectStore(Object.assign(new URL(engine.url), { pathname: '/wharf' }).href);
  onTestFinished(async () => {
    await connection.close();
    await engine.stop();
    await dir.remove();
  });
  return connection;
}

it('C18: of files that have their names the newest sessions are kept, of each user and of all, and others as long as they are not finished', async () => {
  const connection = await openStore();
  const store = createWriteSessionStore(connection, { ofUser: 20, ofAll: 50, lookEvery: 5 });
  const model = writeSessionModelOf(connection);
  const finish = async (userId: number, count: number) => {
    const done: WriteSession[] = [];
    for (let index = 0; index < count; index += 1) {
      const begun = session(userId);
      await store.insert(begun);
      expiresMs += 1;
      await store.markPublished(begun, 1, new Date(expiresMs));
      done.push(begun);
    }
    return done;
  };
  const unfinished = session(1);
  await store.insert(unfinished);
  const [other] = await finish(2, 1);
  const long = session(1);
  await store.insert(long);
  const own = await finish(1, 100);
  expect(await model.countDocuments({ user_id: 1 })).toBeLessThanOrEqual(2 + 20 + 5);
  // One that was begun before all of these, and finished after them, is the newest.
  expiresMs += 1;
  await store.markPublished(long, 1, new Date(expiresMs));
  await finish(1, 10);
  expect(await store.find(long.id)).toMatchObject({ isPublished: true });
  expect(await store.find(own.at(-1)?.id ?? '')).toMatchObject({ isPublished: true });
  expect(await store.find(own[0]?.id ?? '')).toBeUndefined();
  // Nobody else's goes for that, nor what is not finished.
  expect(await store.find(other?.id ?? '')).toMatchObject({ isPublished: true });
  for (let userId = 10; userId < 20; userId += 1) await finish(userId, 16);
  expect(await model.countDocuments()).toBeLessThanOrEqual(1 + 50 + 10 * 5);
  expect(await store.find(unfinished.id)).toMatchObject({ isPublished: false });
});

it('C18: finished sessions are counted without being read, and of too many only those are read that go', async () => {
  const connection = await openStore();
  const model = writeSessionModelOf(connection);
  await makeIndexes(model);
  const finished = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ _id: `${index}`, user_id: index % 10, path: '/file', storage_id: 1, has_draft: true, publishing_path: '', is_published: true },
    ...{ size: 1, data_url: '', expires_at: new Date(index + 1), upload_state: FINISHED },
  }));
  await model.insertMany(finished);
  const documentsRead = async () => Number((await connection.db?.admin().serverStatus())?.['metrics'].queryExecutor.scannedObjects);
  const before = await documentsRead();
  await createFinishedSessions(model, { ofUser: 2_000, ofAll: 2_000, lookEvery: 1 }).note(1);
  expect(await documentsRead()).toBe(before);
  await createFinishedSessions(model, { ofUser: 2_000, ofAll: 500, lookEvery: 1 }).note(1);
  const left = await model.find({}, { _id: 1 }).sort({ expires_at: 1 }).lean();
  expect([left.length, left[0]?._id]).toEqual([450, '550']);
  // Once to find them, and once to remove them; then what is left, here.
  expect((await documentsRead()) - before - left.length).toBeLessThanOrEqual(2 * 550);
});
