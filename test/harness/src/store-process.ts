import { fileURLToPath } from 'node:url';
import { startProcess } from './process.ts';
import { makeTempDir } from './temp-dir.ts';

const MAIN = fileURLToPath(new URL('../../../packages/embedded-mongo/src/main.ts', import.meta.url));

/** The embedded store as a process of its own, which can be away. */
export interface StoreProcess {
  /** The same after a restart. */
  readonly url: string;
  /** It takes connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** SIGKILL; its data stays. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Ends it, paused or not, and removes its data. */
  stop(): Promise<void>;
}

export async function startStoreProcess(): Promise<StoreProcess> {
  const dir = await makeTempDir('store-process');
  const start = () =>
    startProcess({
      name: 'embedded store',
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', MAIN, '--data-dir', dir.path],
      ready: { line: (line) => /^ready (\S+)$/.exec(line)?.[1] },
    });
  let running = await start();
  const url = running.ready;
  return {
    url,
    pause: () => void process.kill(running.pid, 'SIGSTOP'),
    resume: () => void process.kill(running.pid, 'SIGCONT'),
    async kill() {
      await running.kill();
    },
    async restart() {
      await running.kill();
      running = await start();
    },
    async stop() {
      await running.kill();
      await dir.remove();
    },
  };
}
