import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { at } from './api.ts';
import { httpRequest } from './http.ts';
import { type ExitStatus, startProcess } from './process.ts';
import { PROGRAM_VARIABLES, programFlags } from './program-flags.ts';
import { makeTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** What a process needs of our environment; the rest (WHARF_*, MONGO_URL, NATS_URL) is only what the test says. */
const INHERITED = [...['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'], ...PROGRAM_VARIABLES];

export interface WharfOptions {
  /** Added to the environment; `undefined` removes a variable that would be set. */
  env?: Readonly<Record<string, string | undefined>>;
  /** What stands behind the program on its command line. */
  args?: readonly string[];
  /** The working directory, default the project's root; the five services have that whatever is said here. */
  cwd?: string;
  /** Default: a folder of its own, deleted by `stop`. */
  dataDir?: string;
  /** Default: a folder of its own, deleted by `stop`. */
  filesDir?: string;
}

/** Wharf as a black box. */
export interface Wharf {
  /** `http://127.0.0.1:<port>`; the same after a restart. */
  readonly base: string;
  readonly dataDir: string;
  readonly filesDir: string;
  readonly adminPassword: string;
  /** The address that it sees its clients on this machine come from. */
  readonly seesClientsAt: string;
  readonly pid: number;
  /** All that was written to stdout and stderr (the last MiB of each start). */
  log(): string;
  /** SIGTERM, waits for the end, deletes the folders it made. Answers how it ended. Safe to call twice. */
  stop(): Promise<ExitStatus>;
  /** SIGKILL to all of its processes. The folders stay, for `restart`. */
  kill(): Promise<ExitStatus>;
  /** Ends it by SIGTERM if it runs and starts it again with the same folders, secrets and port. `env` is added for good, `args` are for this start. */
  restart(options?: { env?: Readonly<Record<string, string | undefined>>; args?: readonly string[] }): Promise<void>;
}

/** Everything in one process. */
export function startStandalone(options: WharfOptions = {}): Promise<Wharf> {
  return startWharf('services/standalone/src/main.ts', {}, options);
}

/** The five services under their supervisor; ports other than the gateway's are left to them as well. */
export function startServices(options: WharfOptions = {}): Promise<Wharf> {
  return startWharf('tools/services.ts', { WHARF_GRPC_PORT: '0', WHARF_DATA_PORT: '0' }, options);
}

/** @param program path from the project's root, or absolute. @param ports what else the shape listens on. */
export async function startWharf(program: string, ports: Record<string, string>, options: WharfOptions): Promise<Wharf> {
  const dataDir = await makeTempDir('data');
  const filesDir = await makeTempDir('files');
  const adminPassword = options.env?.['WHARF_ADMIN_PASSWORD'] ?? randomBytes(12).toString('base64url');
  let env: Record<string, string | undefined> = {
    ...Object.fromEntries(INHERITED.map((key) => [key, process.env[key]])),
    ...ports,
    WHARF_HTTP_PORT: '0',
    WHARF_OPS_PORT: '0',
    WHARF_DATA_DIR: options.dataDir ?? dataDir.path,
    WHARF_FILES_DIR: options.filesDir ?? filesDir.path,
    WHARF_ADMIN_PASSWORD: adminPassword,
    WHARF_SECRET: randomBytes(32).toString('hex'),
    ...options.env,
  };
  const start = (args: readonly string[] = []) =>
    startProcess({
      name: program,
      command: process.execPath,
      args: [...programFlags(), resolve(ROOT, program), ...args],
      cwd: options.cwd ?? ROOT,
      env,
      ready: { line: readBase },
      readyWithinMs: 60_000,
      stopWithinMs: 15_000,
    });
  const remove = async () => {
    await dataDir.remove();
    await filesDir.remove();
  };
  let running = await start(options.args).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  let earlierLog = '';
  const base = running.ready;
  env = { ...env, WHARF_HTTP_PORT: new URL(base).port };
  return {
    base,
    dataDir: options.dataDir ?? dataDir.path,
    filesDir: options.filesDir ?? filesDir.path,
    adminPassword,
    seesClientsAt: '127.0.0.1',
    get pid() {
      return running.pid;
    },
    log: () => earlierLog + running.output(),
    async stop() {
      const status = await running.stop();
      await remove();
      return status;
    },
    kill: () => running.kill(),
    async restart(again = {}) {
      await running.stop();
      earlierLog += running.output();
      env = { ...env, ...again.env };
      running = await start(again.args);
    },
  };
}

/**
 * The gateway says in its log where it listens: a JSON line with `msg` "listening" and `url`. Other listeners say the same of theirs; the gateway is
 * the one that answers `GET /ping` with `pong`.
 */
async function readBase(line: string): Promise<string | undefined> {
  const url = parseListening(line);
  if (url === undefined) return undefined;
  return waitFor('pong', () => answersPong(url).then((answers) => answers && url), { withinMs: 5000, everyMs: 100 }).catch(() => undefined);
}

async function answersPong(base: string): Promise<boolean> {
  const answer = await httpRequest(base, { path: '/ping', idleTimeoutMs: 1000 });
  return answer.status === 200 && answer.text().trim() === 'pong';
}

/** The origin that a line of the log says somebody listens on, if it says so; a wildcard address is reached by loopback. */
export function parseListening(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  const url = at(record, 'url');
  if (at(record, 'msg') !== 'listening' || typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'http:') return undefined;
  return `http://${hostname === '0.0.0.0' || hostname === '[::]' ? '127.0.0.1' : hostname}:${port || '80'}`;
}
