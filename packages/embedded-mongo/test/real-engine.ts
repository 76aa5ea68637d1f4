import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { freePort, isMissing, type Missing, makeTempDir, startDocumentDb, startProcess } from '@wharf/harness';
import { mongo } from 'mongoose';

/** A MongoDB-compatible server that is not ours. */
export interface RealEngine {
  readonly url: string;
  readonly kind: 'mongodb' | 'documentdb';
  stop(): Promise<void>;
}

/**
 * The engine that the embedded store is held against: the one at `WHARF_TEST_MONGODB_URL`, or a `mongod` on PATH, or FerretDB on DocumentDB.
 */
export async function openRealEngine(): Promise<RealEngine | Missing> {
  const given = process.env['WHARF_TEST_MONGODB_URL'];
  if (given !== undefined) return { url: given, kind: await kindOf(given), stop: async () => undefined };
  const mongod = await startMongod();
  if (mongod) return mongod;
  const documentDb = await startDocumentDb();
  return isMissing(documentDb) ? documentDb : { url: documentDb.url, kind: 'documentdb', stop: () => documentDb.stop() };
}

async function kindOf(url: string): Promise<RealEngine['kind']> {
  const client = await mongo.MongoClient.connect(url);
  try {
    return 'ferretdb' in (await client.db('admin').command({ buildInfo: 1 })) ? 'documentdb' : 'mongodb';
  } finally {
    await client.close();
  }
}

async function startMongod(): Promise<RealEngine | undefined> {
  const program = await findOnPath('mongod');
  if (program === undefined) return undefined;
  const dir = await makeTempDir('mongod');
  const port = await freePort();
  const running = await startProcess({
    name: 'mongod',
    command: program,
    args: ['--dbpath', dir.path, '--bind_ip', '127.0.0.1', '--port', String(port), '--setParameter', 'ttlMonitorSleepSecs=1'],
    ready: { line: (line) => (line.includes('Waiting for connections') ? true : undefined) },
  });
  return {
    url: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    kind: 'mongodb',
    stop: async () => {
      await running.stop();
      await dir.remove();
    },
  };
}

async function findOnPath(command: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, command);
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (folder !== '' && isProgram) return path;
  }
  return undefined;
}
