import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort, makeTempDir, type RunningProcess } from '@wharf/harness';
import { startProgram } from './program.ts';

/** Two of each of admin, fs and the gateway over one store and one bus; the first gateway speaks to the first replicas, the second to the second. */
export interface Replicas {
  readonly first: string;
  readonly second: string;
  readonly adminPassword: string;
  /** A folder that all of them see. */
  readonly folder: string;
  /** Ends the bus for good, as a crash would. */
  killBus(): Promise<void>;
  stop(): Promise<void>;
}

export async function startReplicas(): Promise<Replicas> {
  const dir = await makeTempDir('replicas');
  const adminPassword = randomBytes(12).toString('base64url');
  const running: RunningProcess<string>[] = [];
  const start = async (program: string, env: Record<string, string>, args: string[] = []) => {
    const one = await startProgram(program, env, args);
    running.push(one);
    return one;
  };
  const stop = async () => {
    for (const one of running.toReversed()) await one.stop();
    await dir.remove();
  };
  try {
    const store = await start('packages/embedded-mongo', {}, ['--data-dir', join(dir.path, 'store')]);
    const natsToken = randomBytes(24).toString('base64url');
    const bus = await start('packages/embedded-nats', { WHARF_EMBEDDED_NATS_TOKEN: natsToken }, ['--port', '0']);
    const common = {
      WHARF_SECRET: randomBytes(32).toString('hex'),
      WHARF_ADMIN_PASSWORD: adminPassword,
      MONGO_URL: store.ready,
      NATS_URL: bus.ready.replace('nats://', `nats://${natsToken}@`),
      WHARF_OPS_PORT: '0',
    };
    const [auth, downloader] = [await freePort(), await freePort()];
    const shared = { ...common, WHARF_AUTH_ADDR: `127.0.0.1:${auth}`, WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}` };
    await start('services/auth', { ...shared, WHARF_GRPC_PORT: String(auth) });
    const gateways: string[] = [];
    for (let replica = 0; replica < 2; replica += 1) {
      const [admin, fs, data] = [await freePort(), await freePort(), await freePort()];
      const own = {
        ...shared,
        WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
        WHARF_FS_ADDR: `127.0.0.1:${fs}`,
        WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      };
      await start('services/admin', { ...own, WHARF_GRPC_PORT: String(admin) });
      await start('services/fs', { ...own, WHARF_GRPC_PORT: String(fs), WHARF_DATA_PORT: String(data) });
      if (replica === 0) await start('services/downloader', { ...own, WHARF_GRPC_PORT: String(downloader) });
      gateways.push((await start('services/api-gateway', { ...own, WHARF_HTTP_PORT: '0' })).ready);
    }
    const [first = '', second = ''] = gateways;
    return {
      ...{ first, second, adminPassword, folder: dir.path, stop },
      async killBus() {
        await bus.kill();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
