import { randomUUID } from 'node:crypto';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { FakeAuth, FakeDownloader, FakeFs } from './peers.ts';
import { openReplica, type Replica, SECRET } from './replica.ts';

/** A store with the peers of admin, in which replicas are opened. */
export interface Installation {
  readonly fs: FakeFs;
  readonly auth: FakeAuth;
  readonly downloader: FakeDownloader;
  /** A folder of the test's own. */
  readonly dir: string;
  open(config?: { filesDir?: string }): Promise<Replica>;
  /** Closes all replicas, stops the store and starts it on the same data. */
  restartStore(): Promise<void>;
  /** Closes all replicas and goes on with an empty database and peers that know nothing. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openInstallation(): Promise<Installation> {
  const dir = await makeTempDir('admin');
  const startStore = (): Promise<EmbeddedMongo> => startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  let store = await startStore();
  let database = '';
  let connection: StoreConnection;
  let replicas: Replica[] = [];
  let fs: FakeFs;
  let auth: FakeAuth;
  let downloader: FakeDownloader;

  const url = () => Object.assign(new URL(store.url), { pathname: `/${database}` }).href;
  const connect = async () => {
    connection = await connectStore(url());
    fs = new FakeFs(modelsOf(connection), SECRET);
  };
  const closeClients = async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    replicas = [];
    await connection.close();
  };
  const connectEmpty = async () => {
    database = `admin-${randomUUID()}`;
    auth = new FakeAuth();
    downloader = new FakeDownloader();
    await connect();
  };
  await connectEmpty();

  return {
    get fs() {
      return fs;
    },
    get auth() {
      return auth;
    },
    get downloader() {
      return downloader;
    },
    dir: dir.path,
    async open(config) {
      const replica = await openReplica(url(), { fs, auth, downloader }, config);
      replicas.push(replica);
      return replica;
    },
    async restartStore() {
      await closeClients();
      await store.stop();
      store = await startStore();
      await connect();
    },
    async clear() {
      await closeClients();
      await connectEmpty();
    },
    async close() {
      await closeClients();
      await store.stop();
      await dir.remove();
    },
  };
}
