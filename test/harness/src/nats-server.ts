import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

export interface NatsServer {
  /** `nats://127.0.0.1:<port>`; the same after a restart. */
  readonly url: string;
  /** What a client must present. */
  readonly token: string;
  /** Ends the server for good; safe to call twice. */
  stop(): Promise<void>;
  /** Ends the server and starts one on the same port. */
  restart(): Promise<void>;
}

/** Starts a nats-server on a free port of loopback that asks for a token. Its limits are the defaults (1 MiB payloads). */
export async function startNatsServer(): Promise<NatsServer | Missing> {
  const program = await ensureCommand('nats-server', 'nats-server');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('nats');
  const token = randomBytes(16).toString('hex');
  const config = join(dir.path, 'nats.conf');
  await writeFile(config, `authorization { token: "${token}" }\n`, { mode: 0o600 });
  const start = (port: number) =>
    startProcess({
      name: 'nats-server',
      command: program.path,
      args: ['-c', config, '-a', '127.0.0.1', '-p', String(port)],
      ready: { line: (line) => Number(/Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1]) || undefined },
    });
  let running = await start(-1);
  const port = running.ready;
  return {
    url: `nats://127.0.0.1:${port}`,
    token,
    async stop() {
      await running.stop();
      await dir.remove();
    },
    async restart() {
      await running.stop();
      running = await start(port);
    },
  };
}
