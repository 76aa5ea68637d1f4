import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Migration } from '../src/data-version.ts';
import {
  connectStore,
  deriveKeys,
  noteOfBackup,
  openDataDir,
  prepareStore,
  requireOwnSecret,
  Secret,
  type StoreConnection,
  seal,
} from '../src/index.ts';

let dir: TempDir;
let engine: EmbeddedMongo | undefined;
let store: StoreConnection;

beforeEach(async () => {
  dir = await makeTempDir('data');
});
afterEach(async () => {
  await stop();
  await dir.remove();
});

/** As a start of a process on the folder does it. */
async function start() {
  const dataDir = await openDataDir(dir.path, undefined);
  engine = await startEmbeddedMongo({ dataDir: dataDir.storeDir, copyAs: dataDir.copyAs });
  store = await connectStore(engine.url);
  return dataDir;
}
async function stop() {
  await store?.close();
  await engine?.stop();
  engine = undefined;
}
const addUser = () => store.collection('users').insertOne({ name: 'somebody' });
const textOf = (name: string) => readFile(join(dir.path, name), 'utf8');
const loseStore = () => rm(join(dir.path, 'store'), { recursive: true });

describe('the store of a data folder', () => {
  it('is known by its id once a first start has ended, and no other is accepted', async () => {
    const first = await start();
    const id = await prepareStore(store, first.note);
    await addUser();
    await first.keepStoreId(id);
    await stop();
    const again = await start();
    expect(await prepareStore(store, again.note)).toBe(id);
    await stop();

    await loseStore();
    const lost = await start();
    await expect(prepareStore(store, lost.note)).rejects.toThrow(/is empty: what was in it is lost.*by the one of a backup/);
    await addUser();
    await expect(prepareStore(store, lost.note)).rejects.toThrow(/is not the one that belongs to this data folder/);
    expect(await store.collection('installation').countDocuments()).toBe(0);
  });

  it('may still be empty after a first start that did not end', async () => {
    await start();
    await stop();
    const killed = await start();
    await prepareStore(store, killed.note);
    await stop();
    await loseStore();
    const again = await start();
    await again.keepStoreId(await prepareStore(store, again.note));
    expect(JSON.parse(await textOf('store.json'))).toEqual({ id: expect.any(String), version: 1 });
  });

  it('of the version that made no note is adopted, unless it is empty', async () => {
    await writeFile(join(dir.path, 'secret'), 'x'.repeat(64));
    await mkdir(join(dir.path, 'store'));
    const old = await start();
    await expect(prepareStore(store, old.note)).rejects.toThrow(/is empty/);
    await addUser();
    const id = await prepareStore(store, old.note);
    await old.keepStoreId(id);
    await stop();
    const again = await start();
    expect(await prepareStore(store, again.note)).toBe(id);
  });

  it('of a backup does not know what users have stored since, also of one that has no note', async () => {
    const first = await start();
    await first.keepStoreId(await prepareStore(store, first.note));
    await addUser();
    const known = () => store.collection('quota_ledgers').countDocuments();
    await store.collection('quota_ledgers').insertOne({ held_bytes: 1 });
    for (const lacksNote of [false, true]) {
      if (lacksNote) await rm(join(dir.path, 'store.json'));
      const note = await noteOfBackup(dir.path);
      await stop();
      await writeFile(join(dir.path, 'store.json'), note);
      const restored = await start();
      expect(restored.note).toMatchObject({ isBackup: true, isFirstStart: false });
      const id = await prepareStore(store, restored.note);
      expect(await known()).toBe(0);
      await restored.keepStoreId(id);
      await stop();
      const again = await start();
      await store.collection('quota_ledgers').insertOne({ held_bytes: 1 });
      await prepareStore(store, again.note);
      expect(await known()).toBe(1);
    }
  });

  it('is not guessed where the note cannot be read', async () => {
    await start();
    await writeFile(join(dir.path, 'store.json'), '');
    await expect(openDataDir(dir.path, undefined)).rejects.toThrow(/Restore it from a backup/);
  });
});

describe('the secret of a data folder', () => {
  const lose = () => rm(join(dir.path, 'secret'));

  it('is made by a first start, and no other one in its place once that has ended', async () => {
    await openDataDir(dir.path, undefined);
    await lose();
    const { secret, keepStoreId } = await openDataDir(dir.path, undefined);
    await keepStoreId('store');
    await lose();
    await expect(openDataDir(dir.path, undefined)).rejects.toThrow(/secret is missing\. Restore it from a backup.*--new-secret/);
    expect((await openDataDir(dir.path, secret)).secret).toBe(secret);
    await writeFile(join(dir.path, 'secret'), `${secret.reveal()}\n`);
    expect((await openDataDir(dir.path, undefined)).secret.reveal()).toBe(secret.reveal());
  });

  it('is made for a store elsewhere that nobody uses yet, and for no other one', async () => {
    await start();
    const other = await makeTempDir('other');
    try {
      await openDataDir(other.path, undefined, { storeUrl: engine?.url });
      await rm(join(other.path, 'secret'));
      await store.collection('users').insertOne({ username: 'admin' });
      await expect(openDataDir(other.path, undefined, { storeUrl: engine?.url })).rejects.toThrow(/secret is missing/);
    } finally {
      await other.remove();
    }
  });

  it('is no new one where a version without a note has left a store', async () => {
    await mkdir(join(dir.path, 'store'));
    await expect(openDataDir(dir.path, undefined)).rejects.toThrow(/secret is missing/);
  });

  it('is the one with which the store was written', async () => {
    const { secret } = await start();
    const other = new Secret('another secret of more than 32 letters');
    await requireOwnSecret(store, other);
    await store
      .collection<{ _id: string }>('permanent_tokens')
      .insertOne({ _id: 'permanent', ...{ sealed: seal(deriveKeys(secret).atRest, 'token') } });
    await requireOwnSecret(store, secret);
    await expect(requireOwnSecret(store, other)).rejects.toThrow(/is not the one with which this store was written. Start with that one/);
    await requireOwnSecret(store, secret, { isLost: true });
    await requireOwnSecret(store, secret);
    await requireOwnSecret(store, other, { isLost: true });
    // Auth seals another token by the other secret.
    expect(await store.collection('permanent_tokens').countDocuments()).toBe(0);
  });
});

describe('data', () => {
  const ran: string[] = [];
  const migration = (to: number, name: string): Migration => ({
    to,
    async run(connection) {
      ran.push(name);
      await connection.collection('users').updateMany({ version: to - 1 }, { $set: { version: to } });
    },
  });
  const migrations = [migration(2, 'two'), migration(3, 'three')];
  beforeEach(() => {
    ran.length = 0;
  });

  it('that does not say its version is brought to this one step by step, and once', async () => {
    await start();
    await store.collection('users').insertOne({ version: 1 });
    await Promise.all([1, 2, 3].map(() => prepareStore(store, undefined, migrations)));
    expect(await store.collection('users').findOne({})).toMatchObject({ version: 3 });
    expect(await store.collection('installation').find().toArray()).toMatchObject([{ version: 3 }]);
    ran.length = 0;
    await prepareStore(store, undefined, migrations);
    expect(ran).toEqual([]);
  });

  it('that is new is of the newest version', async () => {
    await start();
    await prepareStore(store, undefined, migrations);
    expect(ran).toEqual([]);
    expect(await store.collection('installation').find().toArray()).toMatchObject([{ version: 3 }]);
  });

  it('of a newer version is refused, saying what to do', async () => {
    const { path } = await start();
    await prepareStore(store, undefined, migrations);
    await expect(prepareStore(store)).rejects.toThrow(
      /of version 3, written by a newer Wharf.*knows versions up to 1.*Start the newer one/,
    );
    await writeFile(join(path, 'store.json'), JSON.stringify({ id: 'a', version: 2 }));
    await expect(openDataDir(path, undefined)).rejects.toThrow(/of version 2, written by a newer Wharf/);
  });

  it('of an older version has the embedded store copied first', async () => {
    const { path } = await start();
    await stop();
    await writeFile(join(path, 'store.json'), JSON.stringify({ id: null, version: 0 }));
    const { copyAs } = await start();
    expect(copyAs).toBe('before-data-1');
    expect((await readFile(join(path, 'store', `store.${copyAs}.sqlite`))).length).toBeGreaterThan(0);
  });
});
