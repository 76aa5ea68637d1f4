import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ensureCommand,
  freePort,
  httpRequest,
  isMissing,
  makeTempDir,
  type RunningProcess,
  runCommand,
  startProcess,
} from '@wharf/harness';
import type { Fixture } from './fixture.ts';

/** Its modules are fetched the first time. */
const BUILD_WITHIN_MS = 300_000;

/** A process, or several under one, that is measured. */
export interface Server {
  readonly name: string;
  /** Origin. */
  readonly base: string;
  /** Where each process tree begins that is its own. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

export function startExpress(): Promise<Server> {
  return startNode('express', new URL('./peers/express-server.ts', import.meta.url), []);
}

export function startBareNode({ filesDir, uploadsDir }: Fixture): Promise<Server> {
  return startNode('node', new URL('./peers/node-server.ts', import.meta.url), [filesDir, uploadsDir]);
}

async function startNode(name: string, file: URL, args: readonly string[]): Promise<Server> {
  const running = await startProcess({
    name,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', fileURLToPath(file), ...args],
    env: { PATH: process.env['PATH'], NODE_ENV: 'production' },
    ready: { line: (line) => (line.startsWith('ready ') ? line.slice('ready '.length) : undefined) },
  });
  return serverOf(name, running.ready, running);
}

/** nginx as one process over the same files, and WebDAV's PUT where it was built in. Undefined, and said, where there is none. */
export async function startNginx({ filesDir, uploadsDir }: Fixture): Promise<Server | undefined> {
  const program = await ensureCommand('nginx', 'nginx');
  if (isMissing(program)) return without('nginx', program.missing);
  const dir = await makeTempDir('nginx');
  const port = await freePort();
  const config = join(dir.path, 'nginx.conf');
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir.path}/${kind};`).join(' ');
  await writeFile(
    config,
    `${user} daemon off; master_process off; pid ${dir.path}/nginx.pid; error_log stderr;
events { worker_connections 512; }
http {
  ${temps}
  access_log off; sendfile on; keepalive_requests 100000000; client_max_body_size 0; default_type application/octet-stream;
  server {
    listen 127.0.0.1:${port};
    location / { root ${filesDir}; }
    location /uploads/ { alias ${uploadsDir}/; dav_methods PUT; client_body_temp_path ${uploadsDir}; }
  }
}
`,
  );
  const running = await startProcess({
    name: 'nginx',
    command: program.path,
    args: ['-c', config, '-p', dir.path, '-e', 'stderr'],
    ready: { probe: () => answers(`http://127.0.0.1:${port}`, '/small.bin') },
  });
  return serverOf('nginx', `http://127.0.0.1:${port}`, running, () => dir.remove());
}

/** `rclone serve http` over the same files. Undefined, and said, where there is none. */
export async function startRclone({ filesDir }: Fixture): Promise<Server | undefined> {
  const program = await ensureCommand('rclone', 'rclone');
  if (isMissing(program)) return without('rclone', program.missing);
  const port = await freePort();
  const running = await startProcess({
    name: 'rclone',
    command: program.path,
    args: ['serve', 'http', filesDir, '--addr', `127.0.0.1:${port}`, '--read-only', '--config', '/dev/null'],
    ready: { probe: () => answers(`http://127.0.0.1:${port}`, '/small.bin') },
  });
  return serverOf('rclone', `http://127.0.0.1:${port}`, running);
}

/** tusd's handler over a folder of its own, built of its Go module where Go is. Undefined, and said, where it cannot be. */
export async function startTusd({ uploadsDir }: Fixture): Promise<Server | undefined> {
  const program = await ensureCommand('go', 'golang-go');
  if (isMissing(program)) return without('tusd', program.missing);
  const dir = await makeTempDir('tusd');
  const source = fileURLToPath(new URL('./peers/tusd/', import.meta.url));
  const binary = join(dir.path, 'tusd');
  const built = await runCommand('env', ['-C', source, 'CGO_ENABLED=0', program.path, 'build', '-o', binary, '.'], {
    withinMs: BUILD_WITHIN_MS,
  });
  if (built.code !== 0) {
    await dir.remove();
    return without('tusd', `it cannot be built: ${built.stderr.trim().split('\n').at(-1)}`);
  }
  const running = await startProcess({
    name: 'tusd',
    command: binary,
    args: [uploadsDir],
    ready: { line: (line) => (line.startsWith('ready ') ? line.slice('ready '.length) : undefined) },
  });
  return serverOf('tusd', running.ready, running, () => dir.remove());
}

function serverOf(name: string, base: string, running: RunningProcess<unknown>, afterwards?: () => Promise<void>): Server {
  return {
    name,
    base,
    pids: () => [running.pid],
    async stop() {
      await running.stop();
      await afterwards?.();
    },
  };
}

function without(name: string, reason: string): undefined {
  console.error(`without ${name}: ${reason}`);
}

async function answers(base: string, path: string): Promise<true | undefined> {
  const { status } = await httpRequest(base, { path, idleTimeoutMs: 1000 });
  return status === 200 || undefined;
}
