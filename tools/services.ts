// `npm run services`: the five services as separate processes on this machine, and the store and the bus where none are named.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  commonKeys,
  configKey,
  connectStore,
  type DataDir,
  egressKeys,
  KEPT_FOR,
  openDataDir,
  prepareStore,
  readConfig,
  Secret,
  schemas,
} from '@wharf/service-kit';
import { holdBackup } from '@wharf/task-engine';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 9_500;
/** Leaves the engines, which end after the services, their time. */
const SERVICE_STOP_SECONDS = 9;
const LOOPBACK = '127.0.0.1';
/** Below those that the system gives to whoever asks for any: a free one of those may be taken before its service runs. */
const FREE_PORTS = { from: 12_000, to: 30_000 } as const;
/** More than one start takes. */
const PORTS_EACH = 16;
const GRPC_PORTS = { auth: 50_051, admin: 50_052, fs: 50_053, downloader: 50_054 } as const;
const DATA_PORT = 50_063;
const OPS_PORTS = { gateway: 9090, auth: 9091, admin: 9092, fs: 9093, downloader: 9094 } as const;

if (process.argv.length > 2) {
  console.error('usage: npm run services\n  It takes no arguments; what may be set is in the environment: docs/configuration.md');
  process.exit(2);
}
const IN_FILE = { mayBeInFile: true };
const config = readConfig(
  {
    dataDir: configKey('WHARF_DATA_DIR', schemas.text('./data'), 'Folder for everything Wharf keeps.'),
    filesDir: configKey('WHARF_FILES_DIR', schemas.optionalText, 'Folder that is mounted at /local on a first start.'),
    secret: configKey('WHARF_SECRET', schemas.optionalText, 'The secret that all keys are derived from.', IN_FILE),
    toolsDir: configKey('WHARF_TOOLS_DIR', schemas.optionalText, 'Folder that download tools download into.'),
    mongoUrl: configKey('MONGO_URL', schemas.optionalText, 'Address of the store; empty starts the embedded one.', IN_FILE),
    natsUrl: configKey('NATS_URL', schemas.optionalText, 'Address of the bus; empty starts the embedded one.', IN_FILE),
    // Zero in these means: any free port, for every service.
    grpcPort: configKey('WHARF_GRPC_PORT', schemas.optionalPort, 'Only 0 has a meaning here: free ports.'),
    dataPort: configKey('WHARF_DATA_PORT', schemas.optionalPort, 'Port of the data plane.'),
    opsPort: configKey('WHARF_OPS_PORT', schemas.optionalPort, 'Only 0 has a meaning here: free ports.'),
    httpHost: configKey('WHARF_HTTP_HOST', schemas.text(LOOPBACK), 'Address of the HTTP API.'),
    httpPort: configKey('WHARF_HTTP_PORT', schemas.port(5244), 'Port of the HTTP API.'),
    bind: commonKeys.bind,
    ...egressKeys,
  },
  process.env,
);

interface Part {
  readonly name: string;
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
}

const parts: Part[] = [];
let isStopping = false;

process.on('SIGTERM', () => void stop(0));
process.on('SIGINT', () => void stop(0));
try {
  await startAll();
  // `tools/run.mjs` waits for this before it builds the page.
  process.send?.('listening');
} catch (error) {
  console.error(`services: ${error instanceof Error ? error.message : String(error)}`);
  await stop(1);
}

async function startAll(): Promise<void> {
  const dataDir = await openDataDir(config.dataDir, config.secret === undefined ? undefined : new Secret(config.secret), {
    storeUrl: config.mongoUrl,
  });
  const copyAs = dataDir.copyAs === undefined ? [] : ['--copy-as', dataDir.copyAs];
  const mongoUrl =
    config.mongoUrl ??
    (await startEngine('embedded-mongo', ['--data-dir', dataDir.storeDir, '--kept-for', KEPT_FOR.join(','), ...copyAs], {}));
  const storeId = config.mongoUrl === undefined ? await prepareOwnStore(mongoUrl, dataDir) : undefined;
  const natsToken = randomBytes(24).toString('base64url');
  const natsAddress = config.natsUrl ?? (await startEngine('embedded-nats', ['--port', '0'], { WHARF_EMBEDDED_NATS_TOKEN: natsToken }));
  const natsUrl = config.natsUrl ?? natsAddress.replace('nats://', `nats://${natsToken}@`);

  const ports = await choosePorts();
  const environment = {
    WHARF_SECRET: dataDir.secret.reveal(),
    // What was in files is told by value.
    WHARF_SECRET_FILE: '',
    MONGO_URL_FILE: '',
    NATS_URL_FILE: '',
    MONGO_URL: mongoUrl,
    NATS_URL: natsUrl,
    WHARF_FILES_DIR: config.filesDir ?? join(dataDir.path, 'files'),
    WHARF_AUTH_ADDR: `${LOOPBACK}:${ports.auth}`,
    WHARF_ADMIN_ADDR: `${LOOPBACK}:${ports.admin}`,
    WHARF_FS_ADDR: `${LOOPBACK}:${ports.fs}`,
    WHARF_DOWNLOADER_ADDR: `${LOOPBACK}:${ports.downloader}`,
    WHARF_FS_DATA_URL: `http://${LOOPBACK}:${ports.data}`,
    WHARF_DATA_PORT: String(ports.data),
    WHARF_OWN_ADDRESSES: ownAddresses(ports).join(','),
    WHARF_SCRATCH_DIR: join(dataDir.path, 'scratch'),
    // All of them end together: nobody is left to turn to.
    WHARF_DRAIN_SECONDS: '0',
    WHARF_GRACE_SECONDS: String(SERVICE_STOP_SECONDS),
    WHARF_TOOLS_DIR: config.toolsDir ?? join(dataDir.path, 'downloads'),
  };
  const ops = (port: number) => ({ WHARF_OPS_PORT: String(port) });
  await startService('auth', { ...environment, WHARF_GRPC_PORT: String(ports.auth), ...ops(ports.ops.auth) });
  // A store of this machine is for this machine: its only fs keeps the index in a file. It would be too much for the embedded store.
  const search = config.mongoUrl === undefined ? { WHARF_SEARCH_DIR: join(dataDir.path, 'search') } : {};
  await startService('fs', {
    ...environment,
    ...search,
    WHARF_DATA_DIR: dataDir.path,
    WHARF_GRPC_PORT: String(ports.fs),
    ...ops(ports.ops.fs),
  });
  // After fs, which says what a first storage looks like.
  await startService('admin', { ...environment, WHARF_GRPC_PORT: String(ports.admin), ...ops(ports.ops.admin) });
  await startService('downloader', {
    ...environment,
    WHARF_DATA_DIR: dataDir.path,
    WHARF_GRPC_PORT: String(ports.downloader),
    ...ops(ports.ops.downloader),
  });
  if (storeId !== undefined) await dataDir.keepStoreId(storeId);
  await startService('api-gateway', { ...environment, WHARF_HTTP_PORT: String(ports.http), ...ops(ports.ops.gateway) });
}

/** Where nothing that people name may lead, beside what each service knows of its peers. */
function ownAddresses({ http, ops }: Ports): string[] {
  return [...config.ownAddresses, `${config.httpHost}:${http}`, ...Object.values(ops).map((port) => `${config.bind}:${port}`)];
}

async function prepareOwnStore(url: string, { note }: DataDir): Promise<string> {
  const store = await connectStore(url);
  try {
    const storeId = await prepareStore(store, note);
    if (note.isBackup)
      console.log(`services: this data folder is a backup: its open tasks are paused (${await holdBackup(store)}); resume or cancel them`);
    return storeId;
  } finally {
    await store.close();
  }
}

type Ports = Awaited<ReturnType<typeof choosePorts>>;

/** Services must know each other's ports before the first of them runs, so free ones are looked for here. */
async function choosePorts() {
  const count = FREE_PORTS.to - FREE_PORTS.from;
  // Others that start at the same time look elsewhere: what is free now is taken only when its service runs.
  let last = process.pid * PORTS_EACH;
  const free = async (host: string): Promise<number> => {
    for (;;) {
      last += 1;
      const port = FREE_PORTS.from + (last % count);
      if (await isFree(port, host)) return port;
    }
  };
  const each = async <Name extends string>(standard: Readonly<Record<Name, number>>, isAnyFree: boolean, host: string) => {
    const ports: Record<Name, number> = { ...standard };
    if (isAnyFree) for (const name in ports) ports[name] = await free(host);
    return ports;
  };
  return {
    ...(await each(GRPC_PORTS, config.grpcPort === 0, LOOPBACK)),
    ...(await each({ data: config.dataPort ?? DATA_PORT }, config.dataPort === 0 || (config.grpcPort === 0 && !config.dataPort), LOOPBACK)),
    ...(await each({ http: config.httpPort }, config.httpPort === 0, config.httpHost)),
    ops: await each(OPS_PORTS, config.opsPort === 0, config.bind),
  };
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

/** Starts the store or the bus and answers the address from its line `ready <url>`. */
async function startEngine(name: string, args: readonly string[], environment: Record<string, string>): Promise<string> {
  let address = '';
  await start(name, [`packages/${name}/src/main.ts`, ...args], environment, (child, ready) =>
    onLines(child, (line) => {
      if (!line.startsWith('ready ')) return console.log(line);
      address = line.slice('ready '.length).trim();
      ready();
    }),
  );
  return address;
}

/** A service tells us when it answers: what it logs of that depends on `WHARF_LOG_LEVEL`. */
async function startService(name: string, environment: Record<string, string>): Promise<void> {
  await start(name, [`services/${name}/src/main.ts`], environment, (child, ready) => {
    onLines(child, (line) => console.log(line));
    child.once('message', ready);
  });
}

function onLines({ stdout }: ChildProcess, take: (line: string) => void): void {
  if (!stdout) throw new Error('a process has no output');
  createInterface({ input: stdout }).on('line', take);
}

/** Starts a process; resolves when `listen` has heard that it is ready. */
function start(
  name: string,
  args: readonly string[],
  environment: Record<string, string>,
  listen: (child: ChildProcess, ready: () => void) => void,
): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  parts.push({ name, child, exited });
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`${name} was not ready within ${START_LIMIT_MS} ms`)), START_LIMIT_MS);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      reject(new Error(`${name} ended with ${signal ?? code} before it was ready`));
      if (isStopping) return;
      console.error(`services: ${name} ended with ${signal ?? code}; stopping the others`);
      void stop(1);
    });
    listen(child, () => {
      clearTimeout(limit);
      resolve();
    });
  });
}

/** Ends services before the bus and the store: the other way round from how they started. */
async function stop(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const force = setTimeout(() => {
    for (const { child } of parts) child.kill('SIGKILL');
    process.exit(1);
  }, STOP_LIMIT_MS);
  const engines = parts.filter(({ name }) => name.startsWith('embedded-'));
  const services = parts.filter((part) => !engines.includes(part));
  for (const group of [services, engines]) {
    for (const { child } of group) {
      child.kill('SIGTERM');
      // An open channel would keep a process alive that listens for its end.
      if (child.connected) child.disconnect();
    }
    await Promise.all(group.filter(({ child }) => child.exitCode === null && child.signalCode === null).map(({ exited }) => exited));
  }
  clearTimeout(force);
  process.exit(code);
}
