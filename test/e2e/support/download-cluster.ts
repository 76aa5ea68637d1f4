import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, freePort, login, makeTempDir, type RunningProcess } from '@wharf/harness';
import { startProgram } from './program.ts';

type Program = RunningProcess<string>;

/** All services over one store and one bus, with as many downloaders as are started. */
export interface DownloadCluster {
  /** The administrator. */
  readonly caller: Api;
  /** What `/local` has. */
  readonly filesDir: string;
  /** WHARF_TOOLS_DIR. */
  readonly toolsDir: string;
  /** The first one (index 0) takes the calls; the others are workers only. A process that ended may be started again under its index. */
  startDownloader(index: number): Promise<Program>;
  /** As crashes would end them; they come back where they were. */
  restartBus(): Promise<void>;
  restartStore(): Promise<void>;
  stop(): Promise<void>;
}

export async function startDownloadCluster(env: Readonly<Record<string, string>> = {}): Promise<DownloadCluster> {
  const dir = await makeTempDir('downloads');
  const running: Program[] = [];
  const start = async (program: string, own: Record<string, string>, args: readonly string[] = []) => {
    const one = await startProgram(program, own, args);
    running.push(one);
    return one;
  };
  const stop = async () => {
    for (const one of running.toReversed()) await one.stop();
    await dir.remove();
  };
  try {
    const storeArgs = ['--data-dir', join(dir.path, 'store')];
    let store = await start('packages/embedded-mongo', {}, storeArgs);
    const natsToken = randomBytes(24).toString('base64url');
    const natsEnv = { WHARF_EMBEDDED_NATS_TOKEN: natsToken };
    const natsArgs = ['--port', String(await freePort())];
    let bus = await start('packages/embedded-nats', natsEnv, natsArgs);
    const [auth, admin, fs, data, downloader] = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
    const [filesDir, toolsDir] = [join(dir.path, 'files'), join(dir.path, 'downloads')];
    await mkdir(filesDir);
    const adminPassword = randomBytes(12).toString('base64url');
    const shared = {
      WHARF_SECRET: randomBytes(32).toString('hex'),
      WHARF_ADMIN_PASSWORD: adminPassword,
      WHARF_FILES_DIR: filesDir,
      WHARF_SCRATCH_DIR: join(dir.path, 'scratch'),
      WHARF_TOOLS_DIR: toolsDir,
      WHARF_EGRESS_ALLOW: '127.0.0.1',
      MONGO_URL: store.ready,
      NATS_URL: bus.ready.replace('nats://', `nats://${natsToken}@`),
      WHARF_OPS_PORT: '0',
      WHARF_AUTH_ADDR: `127.0.0.1:${auth}`,
      WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
      WHARF_FS_ADDR: `127.0.0.1:${fs}`,
      WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}`,
      ...env,
    };
    await start('services/auth', { ...shared, WHARF_GRPC_PORT: String(auth) });
    await start('services/admin', { ...shared, WHARF_GRPC_PORT: String(admin) });
    await start('services/fs', { ...shared, WHARF_GRPC_PORT: String(fs), WHARF_DATA_PORT: String(data) });
    const gateway = await start('services/api-gateway', { ...shared, WHARF_HTTP_PORT: '0' });
    return {
      caller: await login(gateway.ready, 'admin', adminPassword),
      ...{ filesDir, toolsDir, stop },
      startDownloader: (index) => start('services/downloader', { ...shared, WHARF_GRPC_PORT: index === 0 ? String(downloader) : '0' }),
      async restartBus() {
        await bus.kill();
        bus = await start('packages/embedded-nats', natsEnv, natsArgs);
      },
      async restartStore() {
        await store.kill();
        store = await start('packages/embedded-mongo', {}, storeArgs);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
