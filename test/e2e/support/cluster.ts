import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort, makeTempDir, type RunningProcess } from '@wharf/harness';
import { startProgram } from './program.ts';

export type Program = RunningProcess<string>;

/** One store and one bus in a folder of their own, and whatever services are started over them. */
export interface Cluster {
  readonly dir: string;
  readonly adminPassword: string;
  /** What every service gets of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** A program by its folder, with nothing in its environment but what is given. */
  start(program: string, env: Readonly<Record<string, string>>, args?: readonly string[]): Promise<Program>;
  /** Ends the bus as a crash would, for good. */
  killBus(): Promise<void>;
  /** As crashes would end them; they come back where they were. */
  restartBus(): Promise<void>;
  restartStore(): Promise<void>;
  /** What all of them wrote at last, also those that were killed. */
  lastLines(): string;
  /** Ends all, the last first, and removes the folder. */
  stop(): Promise<void>;
}

/** Of each program. */
const LAST_LINES = 10;

/** @param populate starts the services; where it fails, all that was started ends. */
export async function startCluster<T>(name: string, populate: (cluster: Cluster) => Promise<T>): Promise<T> {
  const dir = await makeTempDir(name);
  const running: Program[] = [];
  const start: Cluster['start'] = async (program, env, args) => {
    const one = await startProgram(program, env, args);
    running.push(one);
    return one;
  };
  const lastLines = () => running.flatMap((one) => one.output().trimEnd().split('\n').slice(-LAST_LINES)).join('\n');
  const stop = async () => {
    for (const one of running.toReversed()) await one.stop();
    await dir.remove();
  };
  try {
    const natsToken = randomBytes(24).toString('base64url');
    const natsPort = String(await freePort());
    const startStore = () => start('packages/embedded-mongo', {}, ['--data-dir', join(dir.path, 'store')]);
    const startBus = () => start('packages/embedded-nats', { WHARF_EMBEDDED_NATS_TOKEN: natsToken }, ['--port', natsPort]);
    let store = await startStore();
    let bus = await startBus();
    const adminPassword = randomBytes(12).toString('base64url');
    return await populate({
      ...{ dir: dir.path, adminPassword, start, lastLines, stop },
      env: {
        WHARF_SECRET: randomBytes(32).toString('hex'),
        WHARF_ADMIN_PASSWORD: adminPassword,
        MONGO_URL: store.ready,
        NATS_URL: bus.ready.replace('nats://', `nats://${natsToken}@`),
        WHARF_OPS_PORT: '0',
        // Whoever stops these waits for ten seconds.
        WHARF_DRAIN_SECONDS: '0',
        WHARF_GRACE_SECONDS: '9',
      },
      async killBus() {
        await bus.kill();
      },
      async restartBus() {
        await bus.kill();
        bus = await startBus();
      },
      async restartStore() {
        await store.kill();
        store = await startStore();
      },
    });
  } catch (error) {
    await stop();
    throw error;
  }
}
