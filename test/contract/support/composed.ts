import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, makeTempDir, runCommand, waitFor } from '@wharf/harness';
import { ensureCompose } from './compose-program.ts';
import { prepareImages, present } from './images.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const HEALTH = { test: ['CMD', 'bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/27017'], interval: '1s', start_period: '60s' };
const UP_WITHIN_MS = 300_000;
/** Long enough for a balancer that looks five times a second, and short enough for a test. */
export const DRAIN_SECONDS = 3;

/** The containers of deploy/compose with the store of the profile `ferretdb`, as one project. */
export interface Composed {
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
  const settings = { environment: { WHARF_DRAIN_SECONDS: String(DRAIN_SECONDS) } };
  const services = ['gateway-1', 'gateway-2', 'auth', 'admin', 'fs-1', 'fs-2', 'downloader-1', 'downloader-2'];
  const overlay = {
    services: {
      ...Object.fromEntries(services.map((name) => [name, settings])),
      ferretdb: { image: store.image, entrypoint: store.command.map((word) => word.replaceAll('$', '$$$$')), healthcheck: HEALTH },
      postgres: { image: nats, entrypoint: ['sleep', 'infinity'] },
    },
  };
  await writeFile(join(dir.path, 'overlay.json'), JSON.stringify(overlay));
  const ports = [await freePort(), await freePort()];
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
    await compose('down', '--volumes', '--timeout', '0');
    await dir.remove();
  };
  try {
    await compose('up', '--detach', '--no-build', '--wait', '--wait-timeout', '180', ...services, 'nats', 'ferretdb');
  } catch (error) {
    const log = await compose('logs', '--tail', '15').catch(String);
    await stop();
    throw new Error(`${error}\n${log}`, { cause: error });
  }
  return {
    gateways: ports.map((port) => `http://127.0.0.1:${port}`),
    adminPassword: (await readFile(join(secrets, 'admin_password'), 'utf8')).trim(),
    ...{ compose, docker, container, stop },
    async address(service, port) {
      const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
      const [ip] = (await docker('inspect', '--format', format, container(service))).trim().split(' ');
      return `http://${ip}:${port}`;
    },
    async healthy(service) {
      const format = '{{.State.Health.Status}}';
      const isHealthy = async () => (await docker('inspect', '--format', format, container(service))).trim() === 'healthy';
      await waitFor(`${service} to be healthy`, isHealthy, { withinMs: 60_000, everyMs: 200 });
    },
  };
}

async function command(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args, { env: { ...env, PWD: ROOT }, withinMs: UP_WITHIN_MS });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim().slice(-2_000)}`);
  return stdout;
}
