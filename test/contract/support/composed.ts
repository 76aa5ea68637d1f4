import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, makeTempDir, runCommand, waitFor } from '@wharf/harness';
import { parse } from 'yaml';
import { type Balancer, startBalancer } from './balancer.ts';
import { ensureCompose } from './compose-program.ts';
import { prepareImages, present } from './images.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const HEALTH = { test: ['CMD', 'bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/27017'], interval: '1s', start_period: '60s' };
/** The machine may have other work. */
const PATIENT = { start_period: '180s', timeout: '20s' };
const UP_WITHIN_MS = 300_000;
/** Long enough for a balancer that looks five times a second, and short enough for a test. */
export const DRAIN_SECONDS = 3;

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
  /** The answer of `docker compose <words>`. @throws when it fails */
  compose(...words: readonly string[]): Promise<string>;
  /** The name of the container of a service. */
  container(service: string): string;
  docker(...words: readonly string[]): Promise<string>;
  /** `http://address:port` of a service on a network that this machine reaches. */
  address(service: string, port: number): Promise<string>;
  healthy(service: string): Promise<void>;
  stop(): Promise<void>;
}

/** @throws when something that it is made of cannot be had: the runner has looked for the engine */
export async function startComposed(): Promise<Composed> {
  const { docker: client, base, store, nats } = await prepareImages();
  const program = present(await ensureCompose());
  const dir = await makeTempDir('compose');
  const secrets = join(dir.path, 'secrets');
  await mkdir(secrets, { mode: 0o700 });
  await command(process.execPath, ['deploy/compose/init.mjs', secrets]);
  const ports = await Promise.all(GATEWAYS.map(() => freePort()));
  const settings = { environment: { WHARF_DRAIN_SECONDS: String(DRAIN_SECONDS) }, healthcheck: PATIENT };
  const { build: _, ...another } = parse(await readFile(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), { merge: true }).services[
    'gateway-2'
  ];
  const overlay = {
    services: {
      ...Object.fromEntries(SERVICES.map((name) => [name, settings])),
      'gateway-3': {
        ...another,
        ports: [`127.0.0.1:${ports[2]}:5244`],
        environment: { ...another.environment, ...settings.environment },
        healthcheck: PATIENT,
      },
      ferretdb: { image: store.image, entrypoint: store.command.map((word) => word.replaceAll('$', '$$$$')), healthcheck: HEALTH },
      postgres: { image: nats, entrypoint: ['sleep', 'infinity'] },
    },
  };
  await writeFile(join(dir.path, 'overlay.json'), JSON.stringify(overlay));
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
  const files = ['-f', 'deploy/compose/compose.yaml', '-f', join(dir.path, 'overlay.json')];
  const compose: Composed['compose'] = (...words) =>
    command(program.path, ['-p', 'wharf-test', ...files, '--profile', 'ferretdb', ...words], env);
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
    await compose('up', '--detach', '--no-build', '--wait', '--wait-timeout', '240', ...SERVICES, 'nats', 'ferretdb');
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
  const backends = GATEWAYS.map(async (name, index) => ({ host: '127.0.0.1', port: Number(ports[index]), ops: await address(name, 9090) }));
  const balancer = await startBalancer(await Promise.all(backends));
  return {
    balancer,
    gateways: ports.map((port) => `http://127.0.0.1:${port}`),
    adminPassword: (await readFile(join(secrets, 'admin_password'), 'utf8')).trim(),
    ...{ compose, docker, container, address },
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

async function command(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args, { env: { ...env, PWD: ROOT }, withinMs: UP_WITHIN_MS });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim().slice(-2_000)}`);
  return stdout;
}
