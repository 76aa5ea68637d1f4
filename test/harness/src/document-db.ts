import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { runCommand } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

/** A MongoDB-compatible server that is not ours: the FerretDB gateway on PostgreSQL with the DocumentDB extension, in a container. */
export interface DocumentDb {
  /** `mongodb://127.0.0.1:<port>/`, no login. */
  readonly url: string;
  /** Removes the container with its data; safe to call twice. The image and the container engine stay. */
  stop(): Promise<void>;
}

/** The Go module of the gateway, in the release that belongs to DocumentDB 1.0 of Debian. */
const GATEWAY_MODULE = 'github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0';
const BASE_IMAGE = 'wharf-test/debian-sid:1';
/** To be counted up with every change of what the image is made of. */
const IMAGE = 'wharf-test/documentdb:1';
const OWNER_LABEL = 'wharf-test-owner';
const PORT_INSIDE = 27017;

/** Debian's client; another `docker` on PATH may be an older or lesser one. */
const DOCKER = '/usr/bin/docker';
const ENGINE_LOCK = '/run/wharf-test-engine.lock';
const IMAGE_LOCK = '/run/wharf-test-documentdb.lock';

const ENGINE_WITHIN_MS = 60_000;
const BUILD_WITHIN_MS = 15 * 60_000;
const READY_WITHIN_MS = 90_000;

/** Runs under a lock, so that parallel test files start one engine: two in one network namespace take each other's bridge away. */
const START_ENGINE = `
${DOCKER} version >/dev/null 2>&1 && exit 0
setsid dockerd --storage-driver overlay2 >/var/log/wharf-test-dockerd.log 2>&1 </dev/null &
for try in $(seq 1 100); do
  ${DOCKER} version >/dev/null 2>&1 && exit 0
  sleep 0.5
done
tail -n 5 /var/log/wharf-test-dockerd.log >&2
exit 1
`;

/** Runs inside the container. The data lie in memory and nothing is synced: they end with the container. */
const SERVE = `#!/bin/bash
set -eu
pg=/usr/lib/postgresql/18/bin
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
chown postgres /data
as_postgres $pg/initdb --pgdata /data/pg --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 >/dev/null
cat >>/data/pg/postgresql.conf <<CONF
shared_preload_libraries = 'pg_cron, pg_documentdb_core, pg_documentdb'
cron.database_name = 'postgres'
listen_addresses = '127.0.0.1'
unix_socket_directories = '/tmp'
max_connections = 200
fsync = off
CONF
as_postgres $pg/postgres -D /data/pg &
until $pg/psql --host /tmp --username postgres --quiet --command 'CREATE EXTENSION IF NOT EXISTS documentdb CASCADE' >/dev/null 2>&1; do sleep 0.2; done
ferretdb --postgresql-url=postgres://postgres@127.0.0.1:5432/postgres --listen-addr=:${PORT_INSIDE} --debug-addr=- --telemetry=disable --state-dir=/tmp --no-auth --log-level=warn &
until (echo >/dev/tcp/127.0.0.1/${PORT_INSIDE}) 2>/dev/null; do sleep 0.1; done
touch /run/serving
wait -n
`;

const DOCKERFILE = `FROM ${BASE_IMAGE}
RUN printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d
RUN apt-get -o Acquire::Check-Valid-Until=false update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql-18-documentdb && rm -rf /var/lib/apt/lists/*
CMD ["serve"]
`;

/** Arguments: a work folder, the mirror. The base system is bootstrapped, since no image registry can be relied on. */
const BUILD = `
set -e
${DOCKER} image inspect ${IMAGE} >/dev/null 2>&1 && exit 0
cd "$1"
debootstrap --variant=minbase sid root "$2" >debootstrap.log 2>&1 || { tail -n 3 debootstrap.log >&2; exit 1; }
GOBIN="$1/root/usr/local/bin" CGO_ENABLED=0 go install ${GATEWAY_MODULE}
install -m 755 serve root/usr/local/bin/serve
tar -C root -c . | ${DOCKER} import - ${BASE_IMAGE} >/dev/null
${DOCKER} build -q -t ${IMAGE} context >/dev/null
`;

/**
 * Starts the server in a container on a free port of loopback. The first call on a machine makes the image, which takes some minutes.
 *
 * As root on Debian it installs the container engine and starts it when none is running; the engine is left running for the next tests.
 */
export async function startDocumentDb(): Promise<DocumentDb | Missing> {
  const problem = (await ensureEngine()) ?? (await ensureImage());
  if (problem) return problem;
  await removeAbandoned();
  const started = await runCommand(DOCKER, [
    ...['run', '--detach', '--init', '--label', `${OWNER_LABEL}=${process.pid}`, '--tmpfs', '/data'],
    ...['--publish', `127.0.0.1::${PORT_INSIDE}`, IMAGE],
  ]);
  const id = started.stdout.trim();
  if (started.code !== 0) return { missing: `the DocumentDB container does not start: ${lastLine(started.stderr)}` };
  const stop = async () => {
    await runCommand(DOCKER, ['rm', '--force', '--volumes', id]);
  };
  try {
    const port = await waitFor('the DocumentDB container', () => servingPort(id), { withinMs: READY_WITHIN_MS, everyMs: 200 });
    return { url: `mongodb://127.0.0.1:${port}/`, stop };
  } catch (error) {
    const { stderr, stdout } = await runCommand(DOCKER, ['logs', '--tail', '20', id]);
    await stop();
    throw new Error(`DocumentDB does not come up:\n${stdout}${stderr}`, { cause: error });
  }
}

async function ensureEngine(): Promise<Missing | undefined> {
  const isRunning = async () => (await runCommand(DOCKER, ['version']).catch(() => ({ code: 1 }))).code === 0;
  if (await isRunning()) return undefined;
  if (process.getuid?.() !== 0) return { missing: 'no container engine is running, and only root can start one' };
  for (const [command, packageName] of [
    ['dockerd', 'docker.io'],
    ['iptables', 'iptables'],
  ] as const) {
    const found = await ensureCommand(command, packageName);
    if (isMissing(found)) return found;
  }
  // -o: the daemon that the script leaves behind must not keep the lock.
  const started = await runCommand('flock', ['-o', ENGINE_LOCK, 'sh', '-c', START_ENGINE], { withinMs: ENGINE_WITHIN_MS });
  return started.code === 0 ? undefined : { missing: `the container engine does not start: ${lastLine(started.stderr)}` };
}

async function ensureImage(): Promise<Missing | undefined> {
  const known = await runCommand(DOCKER, ['image', 'inspect', IMAGE]);
  if (known.code === 0) return undefined;
  if (process.getuid?.() !== 0) return { missing: 'the DocumentDB image is not there, and only root can make it' };
  const bootstrap = await ensureCommand('debootstrap', 'debootstrap');
  if (isMissing(bootstrap)) return bootstrap;
  const go = await ensureCommand('go', 'golang-go');
  if (isMissing(go)) return go;
  const mirror = await debianMirror();
  if (mirror === undefined) return { missing: 'no Debian mirror is configured on this machine' };
  const dir = await makeTempDir('documentdb');
  try {
    const context = join(dir.path, 'context');
    await mkdir(context);
    await writeFile(join(context, 'Dockerfile'), DOCKERFILE);
    await writeFile(join(dir.path, 'serve'), SERVE);
    await chmod(dir.path, 0o755);
    const built = await runCommand('flock', ['-o', IMAGE_LOCK, 'sh', '-c', BUILD, 'sh', dir.path, mirror], { withinMs: BUILD_WITHIN_MS });
    return built.code === 0 ? undefined : { missing: `the DocumentDB image cannot be made: ${lastLine(built.stderr)}` };
  } finally {
    await dir.remove();
  }
}

/** The archive this machine gets its own packages from. */
async function debianMirror(): Promise<string | undefined> {
  const sources = [
    { path: '/etc/apt/sources.list.d/debian.sources', pattern: /^URIs:\s*(\S+)/m },
    { path: '/etc/apt/sources.list', pattern: /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/m },
  ];
  for (const { path, pattern } of sources) {
    const isThere = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    const found = isThere ? pattern.exec(await readFile(path, 'utf8'))?.[1] : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The port on this machine, once the server inside answers there. */
async function servingPort(id: string): Promise<number | undefined> {
  const serving = await runCommand(DOCKER, ['exec', id, 'test', '-e', '/run/serving']);
  if (serving.code !== 0) return undefined;
  const { stdout } = await runCommand(DOCKER, ['port', id, `${PORT_INSIDE}/tcp`]);
  const port = Number(/:(\d+)\s*$/.exec(stdout.trim())?.[1]);
  const socket = createConnection({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return port;
  } finally {
    socket.destroy();
  }
}

/** Containers of test runs that were killed. */
async function removeAbandoned(): Promise<void> {
  const { stdout } = await runCommand(DOCKER, [
    'ps',
    '--all',
    '--filter',
    `label=${OWNER_LABEL}`,
    '--format',
    `{{.ID}} {{.Label "${OWNER_LABEL}"}}`,
  ]);
  for (const line of stdout.split('\n')) {
    const [id, owner] = line.split(' ');
    if (id && owner && !isAlive(Number(owner))) await runCommand(DOCKER, ['rm', '--force', '--volumes', id]);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
