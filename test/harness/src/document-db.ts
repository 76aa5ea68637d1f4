import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { ensureCommand, INSTALL_HINT, mayInstall } from './debian-package.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';

/** A MongoDB-compatible server that is not ours: the FerretDB gateway on PostgreSQL with the DocumentDB extension, in a folder of its own. */
export interface DocumentDb {
  /** `mongodb://127.0.0.1:<port>/`, no login. */
  readonly url: string;
  /** Ends it; its data are gone. Safe to call twice. */
  stop(): Promise<void>;
}

/** The Go module of the gateway, in the release that belongs to DocumentDB 1.0 of Debian. */
const GATEWAY_MODULE = 'github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0';
/** A Debian system with both programs, kept for the next tests. The number is to be counted up with every change of what it is made of. */
const SYSTEM_DIR = '/var/cache/wharf-test/documentdb-1';
const LOCK_FILE = '/run/wharf-test-documentdb.lock';
const BUILD_WITHIN_MS = 15 * 60_000;
const READY_WITHIN_MS = 90_000;

/** Mounts and processes that end with the first of them, whatever ends it: nothing needs to be cleared away. */
const CONFINED = ['--mount', '--pid', '--ipc', '--fork', '--kill-child'];

/** `$1` is the folder, `$2` the mirror. What was begun and not finished is begun anew. */
const BUILD = `
set -e
if [ -d "$1" ]; then echo built; exit; fi
rm -rf --one-file-system "$1.new"
mkdir -p "$1.new"
debootstrap --variant=minbase sid "$1.new" "$2"
cd "$1.new"
GOBIN="$PWD/usr/local/bin" CGO_ENABLED=0 go install ${GATEWAY_MODULE}
cp /etc/resolv.conf etc/resolv.conf
printf '#!/bin/sh\\nexit 101\\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
mount -t proc proc proc
chroot . apt-get -q -o Acquire::Check-Valid-Until=false update
chroot . apt-get -q -y --no-install-recommends install postgresql-18-documentdb
chroot . apt-get clean
umount proc
mv "$1.new" "$1"
echo built
`;

/** `$1` is the folder, `$2` what runs in it. The data lie in memory and nothing is synced: they end with the server. */
const CONFINE = `
set -e
cd "$1"
mount -t proc proc proc
mount -t tmpfs -o mode=1777 tmpfs tmp
mount --rbind /dev dev
exec chroot . setpriv --reuid postgres --regid postgres --clear-groups bash -c "$2"
`;

/** Only the gateway listens on an address; it finds PostgreSQL by a socket in its own /tmp. */
const SERVE = `
set -eu
pg=/usr/lib/postgresql/18/bin data=/tmp/data
$pg/initdb --pgdata $data --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 >/dev/null
cat >>$data/postgresql.conf <<CONF
shared_preload_libraries = 'pg_cron, pg_documentdb_core, pg_documentdb'
cron.database_name = 'postgres'
cron.host = '/tmp'
documentdb.localhost_connection_string = 'host=/tmp'
listen_addresses = ''
unix_socket_directories = '/tmp'
max_connections = 200
fsync = off
CONF
$pg/postgres -D $data &
until $pg/psql --host /tmp --username postgres --quiet --command 'CREATE EXTENSION IF NOT EXISTS documentdb CASCADE' >/dev/null 2>&1; do
  kill -0 $!
  sleep 0.2
done
exec ferretdb --postgresql-url='postgres://postgres@/postgres?host=/tmp' --listen-addr=127.0.0.1:0 --debug-addr=- --telemetry=disable --state-dir=/tmp --no-auth --log-level=info
`;

/**
 * Starts the server on a free port of loopback. The first call on a machine makes its system, which takes some minutes and needs the permission
 * to install. Only root on Debian can do either.
 */
export async function startDocumentDb(): Promise<DocumentDb | Missing> {
  if (process.getuid?.() !== 0) return { missing: 'DocumentDB runs in a folder that only root can make its world' };
  const problem = await ensureSystem();
  if (problem) return problem;
  const running = await startProcess({
    name: 'DocumentDB',
    command: 'unshare',
    args: [...CONFINED, 'sh', '-c', CONFINE, 'sh', SYSTEM_DIR, SERVE],
    env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    ready: { line: (line) => /Listening on TCP 127\.0\.0\.1:(\d+)/.exec(line)?.[1] },
    readyWithinMs: READY_WITHIN_MS,
  });
  return {
    url: `mongodb://127.0.0.1:${running.ready}/`,
    async stop() {
      await running.kill('SIGTERM');
    },
  };
}

/** Parallel test files wait for the one that makes it. */
async function ensureSystem(): Promise<Missing | undefined> {
  if (await isThere(SYSTEM_DIR)) return undefined;
  if (!mayInstall()) return { missing: `DocumentDB is not in ${SYSTEM_DIR} (${INSTALL_HINT})` };
  for (const [command, packageName] of [
    ['debootstrap', 'debootstrap'],
    ['go', 'golang-go'],
  ] as const) {
    const found = await ensureCommand(command, packageName);
    if (isMissing(found)) return found;
  }
  const mirror = await debianMirror();
  if (mirror === undefined) return { missing: 'no Debian mirror is configured on this machine' };
  try {
    const building = await startProcess({
      name: 'the making of DocumentDB',
      command: 'unshare',
      args: [...CONFINED, 'flock', LOCK_FILE, 'sh', '-c', BUILD, 'sh', SYSTEM_DIR, mirror],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' },
      ready: { line: (line) => (line === 'built' ? true : undefined) },
      readyWithinMs: BUILD_WITHIN_MS,
    });
    await building.exited;
    return undefined;
  } catch (error) {
    return { missing: `DocumentDB cannot be made: ${error instanceof Error ? error.message.trim().split('\n').at(-1) : error}` };
  }
}

/** The archive this machine gets its own packages from. */
async function debianMirror(): Promise<string | undefined> {
  const sources = [
    { path: '/etc/apt/sources.list.d/debian.sources', pattern: /^URIs:\s*(\S+)/m },
    { path: '/etc/apt/sources.list', pattern: /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/m },
  ];
  for (const { path, pattern } of sources) {
    const found = (await isThere(path)) ? pattern.exec(await readFile(path, 'utf8'))?.[1] : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isThere(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}
