import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, httpRequest, makeTempDir, type RunningProcess, runCommand, startProcess, waitFor } from '@wharf/harness';
import { parse } from 'yaml';
import { type Balancer, startBalancer } from './balancer.ts';
import { ensureCompose } from './compose-program.ts';
import { prepareImages, present } from './images.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** Where the things are that containers run beside our own programs. */
const SUPPORT = import.meta.dirname;
const HEALTH = { test: ['CMD', 'bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/27017'], interval: '1s', start_period: '60s' };
/** The machine may have other work. */
const PATIENT = { start_period: '180s', timeout: '20s' };
const UP_WITHIN_MS = 300_000;
/** Long enough for a balancer that looks five times a second, and short enough for a test. */
export const DRAIN_SECONDS = 3;

const LOG_CHARACTERS = 64 * 1024 * 1024;

/** Room of the disks that tests fill. */
const FILES_BYTES = 256 * 1024 * 1024;
const DATA_BYTES = 2 * 1024 * 1024 * 1024;
const STORE_BYTES = 2 * 1024 * 1024 * 1024;
const OWNED = 'uid=10001,gid=10001,mode=0700';
const disk = (sizeBytes: number, options: string) => ({
  driver: 'local',
  driver_opts: { type: 'tmpfs', device: 'tmpfs', o: `size=${sizeBytes},${options}` },
});

const OPS_PORTS: Readonly<Record<string, number>> = { gateway: 9090, auth: 9091, admin: 9092, fs: 9093, downloader: 9094 };
const GATEWAYS = ['gateway-1', 'gateway-2', 'gateway-3'];
/** Of deploy/compose, and a third gateway. */
export const SERVICES = [...GATEWAYS, 'auth', 'admin', 'fs-1', 'fs-2', 'downloader-1', 'downloader-2'];
/** The containers of deploy/compose with the store of the profile `ferretdb` and one more gateway, as one project. */
export interface Composed {
  /** In front of the gateways. */
  readonly balancer: Balancer;
  /** Where the gateways are published; the same after restarts. */
  readonly gateways: readonly string[];
  readonly adminPassword: string;
  /** What runs them, and the image that ours stand on. */
  readonly engine: { readonly docker: string; readonly base: string };
  /** The answer of `docker compose <words>`. @throws when it fails */
  compose(...words: readonly string[]): Promise<string>;
  /** The name of the container of a service. */
  container(service: string): string;
  docker(...words: readonly string[]): Promise<string>;
  /** `http://address:port` of a service on a network that this machine reaches. */
  address(service: string, port: number): Promise<string>;
  healthy(service: string): Promise<void>;
  /** Makes the container of a service anew, with these settings of Compose instead of those of `change` before; ready afterwards. */
  change(service: string, settings: object): Promise<void>;
  /** What the services write, until they end. */
  followLogs(): Promise<RunningProcess<true>>;
  stop(): Promise<void>;
}

export interface ComposedOptions {
  /** What else these containers are, as a file of Compose has it; it comes after deploy/compose. */
  readonly services?: Readonly<Record<string, object>>;
  /** More replicas: the name of each, and of the service that it is like. */
  readonly replicas?: Readonly<Record<string, string>>;
}

/** @throws when something that it is made of cannot be had: the runner has looked for the engine */
export async function startComposed({ services = {}, replicas = {} }: ComposedOptions = {}): Promise<Composed> {
  const { docker: client, base, store, nats } = await prepareImages();
  const program = present(await ensureCompose());
  const dir = await makeTempDir('compose');
  const secrets = join(dir.path, 'secrets');
  await mkdir(secrets, { mode: 0o700 });
  await command(process.execPath, ['deploy/compose/init.mjs', secrets]);
  const ports = await Promise.all(GATEWAYS.map(() => freePort()));
  const opsPorts = await Promise.all(GATEWAYS.map(() => freePort()));
  const settings = { environment: { WHARF_DRAIN_SECONDS: String(DRAIN_SECONDS), WHARF_EGRESS_ALLOW: 'source' }, healthcheck: PATIENT };
  const written = parse(await readFile(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), { merge: true }).services;
  const replica = (name: string, like: string) => {
    const { build: _, ...same } = replicaOf(written[like], name, like);
    return { ...same, environment: { ...same.environment, ...settings.environment }, healthcheck: PATIENT };
  };
  const overlay = {
    services: {
      ...Object.fromEntries(SERVICES.map((name) => [name, settings])),
      // A container that is made anew may have another address; what is published stays.
      ...Object.fromEntries(GATEWAYS.map((name, index) => [name, { ...settings, ports: [`127.0.0.1:${opsPorts[index]}:9090`] }])),
      'gateway-3': { ...replica('gateway-3', 'gateway-2'), ports: [`127.0.0.1:${ports[2]}:5244`, `127.0.0.1:${opsPorts[2]}:9090`] },
      ...Object.fromEntries(Object.entries(replicas).map(([name, like]) => [name, replica(name, like)])),
      ferretdb: {
        image: store.image,
        entrypoint: store.command.map((word) => word.replaceAll('$', '$$$$')),
        healthcheck: HEALTH,
        volumes: ['store-disk:/tmp'],
      },
      // What lies in memory is there for as long as somebody has it mounted.
      postgres: { image: nats, entrypoint: ['sleep', 'infinity'], volumes: ['store-disk:/tmp', 'files:/files', 'fs-data:/data'] },
      source: {
        image: base,
        command: ['node', '/source.mjs'],
        volumes: [`${join(SUPPORT, 'source.mjs')}:/source.mjs:ro`],
        networks: ['tools'],
        read_only: true,
      },
    },
    volumes: {
      ...{ files: disk(FILES_BYTES, OWNED), 'fs-data': disk(DATA_BYTES, OWNED) },
      'store-disk': disk(STORE_BYTES, 'mode=1777'),
    },
  };
  const fileOf = async (name: string, content: object) => {
    await writeFile(join(dir.path, name), JSON.stringify(content));
    return ['-f', join(dir.path, name)];
  };
  const env = {
    ...process.env,
    ...{
      WHARF_TAG: 'test',
      WHARF_SECRETS: secrets,
      WHARF_PORT: String(ports[0]),
      WHARF_PORT_2: String(ports[1]),
      NATS_IMAGE: nats,
      TOOL_BASE: base,
    },
  };
  const files = [
    '-f',
    'deploy/compose/compose.yaml',
    ...(await fileOf('overlay.json', overlay)),
    ...(await fileOf('more.json', { services })),
  ];
  const composeArgs = ['-p', 'wharf-test', ...files, '--profile', 'ferretdb'];
  const compose: Composed['compose'] = (...words) => command(program.path, [...composeArgs, ...words], env);
  const docker: Composed['docker'] = (...words) => command(client, words);
  const container = (service: string) => `wharf-test-${service}-1`;
  const stop = async () => {
    await compose('kill').catch(() => undefined);
    // The engine may take a moment to let go of a network whose containers are gone.
    await waitFor('its networks to go', async () => (await compose('down', '--volumes', '--timeout', '0')) !== undefined, {
      withinMs: 60_000,
      everyMs: 1_000,
    });
    await dir.remove();
  };
  try {
    const all = [...SERVICES, ...Object.keys(replicas), 'nats', 'ferretdb', 'postgres', 'source'];
    await compose('up', '--detach', '--no-build', '--wait', '--wait-timeout', '240', ...all);
  } catch (error) {
    const log = await compose('logs', '--tail', '15').catch(String);
    await stop();
    throw new Error(`${error}\n${log}`, { cause: error });
  }
  const address: Composed['address'] = async (service, port) => {
    const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
    const [ip] = (await docker('inspect', '--format', format, container(service))).trim().split(' ');
    return `http://${ip}:${port}`;
  };
  const backends = ports.map((port, index) => ({ host: '127.0.0.1', port, ops: `http://127.0.0.1:${opsPorts[index]}` }));
  const balancer = await startBalancer(backends);
  return {
    balancer,
    gateways: ports.map((port) => `http://127.0.0.1:${port}`),
    adminPassword: (await readFile(join(secrets, 'admin_password'), 'utf8')).trim(),
    engine: { docker: client, base },
    ...{ compose, docker, container, address },
    async change(service, settings) {
      const changed = await fileOf('changed.json', { services: { [service]: settings } });
      await command(program.path, [...composeArgs, ...changed, 'up', '--detach', '--no-build', '--no-deps', service], env);
      // The engine looks at its health every ten seconds only.
      const ops = await address(service, OPS_PORTS[service.replace(/-\d+$/, '')] ?? 0);
      const isReady = () =>
        httpRequest(ops, { path: '/readyz' }).then(
          ({ status }) => status === 200,
          () => false,
        );
      await waitFor(`${service} to be ready`, isReady, { withinMs: 120_000, everyMs: 200 });
    },
    followLogs: () =>
      startProcess({
        name: 'the logs of the containers',
        command: program.path,
        args: [...composeArgs, 'logs', '--follow', '--no-color', ...SERVICES],
        env: { ...env, PWD: ROOT },
        cwd: ROOT,
        ready: { line: () => true },
        outputLimit: LOG_CHARACTERS,
      }),
    async stop() {
      await balancer.stop();
      await stop();
    },
    async healthy(service) {
      const format = '{{.State.Health.Status}}';
      const isHealthy = async () => (await docker('inspect', '--format', format, container(service))).trim() === 'healthy';
      await waitFor(`${service} to be healthy`, isHealthy, { withinMs: 120_000, everyMs: 200 });
    },
  };
}

interface ComposeService {
  readonly build?: unknown;
  readonly environment: Readonly<Record<string, string>>;
  readonly networks: readonly string[] | Readonly<Record<string, object>>;
}

/** The service under another name, reached by both names where it had one of its own alone. */
function replicaOf(service: ComposeService, name: string, like: string): ComposeService {
  const { networks, ...rest } = JSON.parse(JSON.stringify(service).replaceAll(`//${like}:`, `//${name}:`)) as ComposeService;
  const named = (all: readonly string[]) => Object.fromEntries(all.map((network) => [network, { aliases: [like] }]));
  return { ...rest, networks: Array.isArray(networks) ? named(networks) : networks };
}

async function command(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args, { env: { ...env, PWD: ROOT }, withinMs: UP_WITHIN_MS });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim().slice(-2_000)}`);
  return stdout;
}
