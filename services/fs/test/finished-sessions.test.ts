import { randomBytes } from 'node:crypto';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { writeSessionModelOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { expect, it, onTestFinished } from 'vitest';
import { vpath } from '../src/domain/testing/memory-tree.ts';
import type { WriteSession } from '../src/domain/writes/write-session.ts';
import { createWriteSessionStore } from '../src/store/write-session-store.ts';

let expiresMs = 0;

function session(userId: number): WriteSession {
  expiresMs += 1;
  return {
    ...{ id: randomBytes(16).toString('hex'), userId, path: vpath('/file'), storageId: 1, hasDraft: true, publishingPath: undefined },
    ...{ isPublished: false, sizeBytes: 1, dataUrl: '', expiresAt: new Date(expiresMs) },
  };
}

it('C18: of files that have their names the newest sessions are kept, of each user and of all, and others as long as they are not finished', async () => {
  const dir = await makeTempDir('finished');
  const engine = await startEmbeddedMongo({ dataDir: dir.path });
  const connection = await connectStore(Object.assign(new URL(engine.url), { pathname: '/wharf' }).href);
  onTestFinished(async () => {
    await connection.close();
    await engine.stop();
    await dir.remove();
  });
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
