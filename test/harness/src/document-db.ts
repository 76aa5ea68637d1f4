import type { ContainerEngine } from './container-engine.ts';
import { importSystem } from './container-image.ts';
import { type DebianSystem, ensureSystem, startInSystem } from './debian-system.ts';
import type { Missing } from './required.ts';

/** A MongoDB-compatible server that is not ours: the FerretDB gateway on PostgreSQL with the DocumentDB extension, in a folder of its own. */
export interface DocumentDb {
  /** `mongodb://127.0.0.1:<port>/`, no login. */
  readonly url: string;
  /** Ends it; its data are gone. Safe to call twice. */
  stop(): Promise<void>;
}

/** The Go module of the gateway, in the release that belongs to DocumentDB 1.0 of Debian. */
const GATEWAY_MODULE = 'github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0';
const READY_WITHIN_MS = 90_000;

const SYSTEM: DebianSystem = {
  name: 'DocumentDB',
  folder: 'documentdb-1',
  suite: 'sid',
  packages: ['postgresql-18-documentdb'],
  needs: [['go', 'golang-go']],
  prepare: `GOBIN="$PWD/usr/local/bin" CGO_ENABLED=0 go install ${GATEWAY_MODULE}`,
};

/** Only the gateway listens on an address; it finds PostgreSQL by a socket in its own /tmp. Nothing is synced: the data end with the server. One that gave up, as for want of room, begins again. */
const serve = (address: string) => `
set -eu
pg=/usr/lib/postgresql/18/bin data=/tmp/data
[ -d $data ] || $pg/initdb --pgdata $data --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 >/dev/null
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
until $pg/postgres -D $data; do sleep 0.2; done &
until $pg/psql --host /tmp --username postgres --quiet --command 'CREATE EXTENSION IF NOT EXISTS documentdb CASCADE' >/dev/null 2>&1; do
  kill -0 $!
  sleep 0.2
done
exec ferretdb --postgresql-url='postgres://postgres@/postgres?host=/tmp' --listen-addr=${address} --debug-addr=- --telemetry=disable --state-dir=/tmp --no-auth --log-level=info
`;

/**
 * Starts the server on a free port of loopback. The first call on a machine makes its system, which takes some minutes and needs the permission
 * to install. Only root on Debian can do either.
 */
export async function startDocumentDb(): Promise<DocumentDb | Missing> {
  const problem = await ensureSystem(SYSTEM);
  if (problem !== undefined) return problem;
  const running = await startInSystem(SYSTEM, {
    user: 'postgres',
    script: serve('127.0.0.1:0'),
    readyLine: (line) => /Listening on TCP 127\.0\.0\.1:(\d+)/.exec(line)?.[1],
    readyWithinMs: READY_WITHIN_MS,
  });
  return { url: `mongodb://127.0.0.1:${running.ready}/`, stop: running.stop };
}

/** The same server as an image, for containers on a network of their own; it listens on port 27017. Its data outlive a crash of the container. */
export async function ensureDocumentDbImage(engine: ContainerEngine): Promise<{ image: string; command: readonly string[] } | Missing> {
  const image = await importSystem(engine, SYSTEM, 'wharf-test/documentdb:1', 'postgres');
  return typeof image === 'string' ? { image, command: ['bash', '-c', serve('0.0.0.0:27017')] } : image;
}
