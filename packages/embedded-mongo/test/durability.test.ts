import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeTempDir, type RunningProcess, startProcess, type TempDir } from '@wharf/harness';
import { mongo } from 'mongoose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedMongo } from '../src/index.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const ROUNDS = 5;
const WRITERS = 8;

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('durable');
});
afterEach(async () => {
  await dir.remove();
});

function startStore(path: string): Promise<RunningProcess<string>> {
  return startProcess({
    name: 'embedded store',
    command: process.execPath,
    args: [MAIN, '--data-dir', path],
    ready: { line: (line) => /^ready (\S+)$/.exec(line)?.[1] },
  });
}

/** An environment in which the thread of a store, once its file is open and in use, throws where nobody catches it: when there is a file `now`. */
async function endingThread() {
  const [fault, now] = [join(dir.path, 'fault.mjs'), join(dir.path, 'now')];
  await writeFile(
    fault,
    `import { existsSync } from 'node:fs';
    import { isMainThread } from 'node:worker_threads';
    const look = () => {
      if (existsSync(${JSON.stringify(now)})) throw new Error('of the thread');
    };
    if (!isMainThread) setInterval(look, 5);`,
  );
  return { now, env: { ...process.env, NODE_OPTIONS: `--import=${fault}` } };
}

describe('durability', () => {
  it('a process that exits without having stopped the store can open it again', async () => {
    const index = new URL('../src/index.ts', import.meta.url).href;
    const program = `
      import { startEmbeddedMongo } from ${JSON.stringify(index)};
      await startEmbeddedMongo({ dataDir: ${JSON.stringify(dir.path)} });
      process.stdout.write('ready\\n', () => process.exit(0));
    `;
    for (let time = 0; time < 2; time++) {
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
      expect({ time, status }, stderr).toEqual({ time, status: 0 });
    }
  });

  it('a store whose thread ends in an error that nobody caught can be opened again', async () => {
    const index = new URL('../src/index.ts', import.meta.url).href;
    const { now, env } = await endingThread();
    const program = `
      import { writeFileSync } from 'node:fs';
      import { startEmbeddedMongo } from ${JSON.stringify(index)};
      const store = await startEmbeddedMongo({ dataDir: ${JSON.stringify(join(dir.path, 'store'))} });
      writeFileSync(${JSON.stringify(now)}, '');
      const { message } = await store.failed;
      process.stdout.write(message, () => process.exit(3));
    `;
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8', env, timeout: 30_000 });
    expect(run, run.stderr).toMatchObject({ status: 3, stdout: 'the embedded store failed' });
    const again = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
    await again.stop();
  });

  it('a process whose store ends by itself ends, though whoever started it holds a channel to it', async () => {
    const { now, env } = await endingThread();
    const store = spawn(process.execPath, [MAIN, '--data-dir', join(dir.path, 'store')], {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      env,
    });
    const exited = once(store, 'exit');
    await once(store.stdout ?? store, 'data');
    await writeFile(now, '');
    expect(await exited).toEqual([1, null]);
  });

  it.each([1, 2])('a store whose disk fails when it is opened, and %i times when it is closed, can be opened again', async (times) => {
    const index = new URL('../src/index.ts', import.meta.url).href;
    const fault = join(dir.path, 'fault.mjs');
    await writeFile(
      fault,
      `import { DatabaseSync } from 'node:sqlite';
      import { isMainThread } from 'node:worker_threads';
      const { exec } = DatabaseSync.prototype;
      let left = ${times + 1};
      if (!isMainThread)
        DatabaseSync.prototype.exec = function (sql) {
          if (sql.includes('wal_checkpoint') && left-- > 0) throw new Error('disk I/O error');
          return exec.call(this, sql);
        };`,
    );
    const program = `
      import { startEmbeddedMongo } from ${JSON.stringify(index)};
      const store = await startEmbeddedMongo({ dataDir: ${JSON.stringify(join(dir.path, 'store'))} });
      await store.stop();
    `;
    const env = { ...process.env, NODE_OPTIONS: `--import=${fault}` };
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8', env, timeout: 30_000 });
    expect(run, run.stderr).toMatchObject({ status: 0 });
    const again = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
    await again.stop();
  });

  it(`every acknowledged write is there after kill -9, ${ROUNDS} times over`, async () => {
    const acknowledged = new Map<number, number>();
    let nextId = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const store = await startStore(dir.path);
      // Without the last the driver waits for ever where it writes to a connection that was cut a moment before, as its close() may.
      const options = { retryWrites: false, serverSelectionTimeoutMS: 2000, timeoutMS: 5000 };
      const client = new mongo.MongoClient(store.ready, options);
      const collection = client.db('test').collection<{ _id: number; revision: number; k: number }>('writes');
      await collection.createIndex({ k: 1 }, { unique: true });
      let isKilled = false;
      const writers = Array.from({ length: WRITERS }, async () => {
        while (!isKilled) {
          const _id = nextId++;
          try {
            await collection.insertOne({ _id, revision: 0, k: _id });
            acknowledged.set(_id, 0);
            await collection.updateOne({ _id }, { $inc: { revision: 1 } });
            acknowledged.set(_id, 1);
          } catch (error) {
            if (!isKilled) throw error;
          }
        }
      });
      const before = acknowledged.size;
      await expect.poll(() => acknowledged.size - before, { timeout: 20_000 }).toBeGreaterThan(150);
      isKilled = true;
      await store.kill('SIGKILL');
      await Promise.all(writers);
      await client.close();
    }
    const store = await startStore(dir.path);
    const client = await mongo.MongoClient.connect(store.ready);
    const collection = client.db('test').collection<{ _id: number; revision: number; k: number }>('writes');
    const found = new Map((await collection.find().toArray()).map((document) => [document._id, document.revision]));
    const lost = [...acknowledged].filter(([_id, revision]) => (found.get(_id) ?? -1) < revision);
    expect(lost).toEqual([]);
    expect(acknowledged.size).toBeGreaterThan(ROUNDS * 150);
    // The index tells the same as the documents.
    expect(await collection.countDocuments({ k: { $gte: 0 } })).toBe(found.size);
    await client.close();
    expect(await store.stop()).toEqual({ code: 0, signal: null });
  });

  it('what was written is there after a stop and a start', async () => {
    const documents = Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(n), list: [n, { n }] }));
    const first = await startEmbeddedMongo({ dataDir: dir.path });
    const writer = await mongo.MongoClient.connect(first.url);
    await writer.db('test').collection('a').createIndex({ 'list.n': 1 }, { sparse: true, name: 'by_list' });
    await writer.db('test').collection('a').insertMany(documents);
    const before = await writer.db('test').collection('a').find().sort({ n: 1 }).toArray();
    await writer.close();
    await first.stop();
    await first.stop();
    const second = await startEmbeddedMongo({ dataDir: dir.path });
    const reader = await mongo.MongoClient.connect(second.url);
    expect(await reader.db('test').collection('a').find().sort({ n: 1 }).toArray()).toEqual(before);
    expect((await reader.db('test').collection('a').indexes()).map(({ name }) => name)).toEqual(['_id_', 'by_list']);
    expect(await reader.db('test').collection('a').countDocuments({ 'list.n': 77 })).toBe(1);
    await reader.close();
    await second.stop();
  });
});

describe('the data directory', () => {
  it('belongs to one process: a second one is refused and told what to do', async () => {
    const store = await startStore(dir.path);
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('in use by another process; stop that process'),
    });
    await store.kill('SIGKILL');
    const next = await startEmbeddedMongo({ dataDir: dir.path });
    await next.stop();
  });

  it('belongs to one store within a process, too', async () => {
    const store = await startEmbeddedMongo({ dataDir: dir.path });
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    // The refused one must not have taken the first one's lock away.
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    const client = await mongo.MongoClient.connect(store.url);
    await client.db('test').collection('a').insertOne({ a: 1 });
    await client.close();
    await store.stop();
  });

  it('is private: 0700, and 0600 for what is in it', async () => {
    const path = join(dir.path, 'new', 'store');
    const store = await startEmbeddedMongo({ dataDir: path });
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    for (const name of ['store.sqlite', 'store.sqlite-wal', 'store.sock']) expect((await stat(join(path, name))).mode & 0o777).toBe(0o600);
    await store.stop();
  });

  it('with a long path has its socket elsewhere, in a private folder', async () => {
    const path = join(dir.path, 'x'.repeat(100));
    const store = await startEmbeddedMongo({ dataDir: path });
    const socket = decodeURIComponent(/mongodb:\/\/([^/]+)\//.exec(store.url)?.[1] ?? '');
    expect(socket.startsWith(dir.path)).toBe(false);
    expect((await stat(join(socket, '..'))).mode & 0o777).toBe(0o700);
    const client = await mongo.MongoClient.connect(store.url);
    await client.db('test').command({ ping: 1 });
    await client.close();
    await store.stop();
  });

  it('with a file that is no database is refused', async () => {
    await writeFile(join(dir.path, 'store.sqlite'), 'this is something else, and long enough to be looked at as a header'.repeat(20));
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });

  it("with another program's database is refused", async () => {
    const { DatabaseSync } = await import('node:sqlite');
    const foreign = new DatabaseSync(join(dir.path, 'store.sqlite'));
    foreign.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');
    foreign.close();
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('another program'),
    });
  });

  it('of another layout is refused', async () => {
    await (await startEmbeddedMongo({ dataDir: dir.path })).stop();
    const { DatabaseSync } = await import('node:sqlite');
    const later = new DatabaseSync(join(dir.path, 'store.sqlite'));
    later.exec('PRAGMA user_version = 99');
    later.close();
    await expect(startEmbeddedMongo({ dataDir: dir.path })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('layout 99'),
    });
  });
});

it('a disk that is full, with what the process prints on it, ends nothing', async () => {
  // A limit on the size of files ends a write as a full disk does.
  const limited = `trap '' XFSZ; ulimit -f 2048; exec "$0" --disable-warning=ExperimentalWarning "$1" --data-dir "$2" 2>/dev/full`;
  const store = spawn('/bin/sh', ['-c', limited, process.execPath, MAIN, dir.path], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(store, 'exit');
  try {
    const [ready] = await once(createInterface({ input: store.stdout }), 'line');
    const client = await mongo.MongoClient.connect(String(ready).replace('ready ', ''));
    try {
      const things = client.db('test').collection<{ _id: number; text?: string }>('things');
      await things.insertOne({ _id: 0 });
      for (let id = 1; await fits(things.insertOne({ _id: id, text: 'x'.repeat(100_000) })); id++);
      // What was printed has left, or not.
      expect(await fits(things.insertOne({ _id: -1, text: 'x'.repeat(1_000_000) }))).toBe(false);
      expect(await things.findOne({ _id: 0 })).toEqual({ _id: 0 });
    } finally {
      await client.close();
    }
    store.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    store.kill('SIGKILL');
  }

  async function fits(written: Promise<unknown>): Promise<boolean> {
    return written.then(
      () => true,
      () => false,
    );
  }
});
