import { ensureCommand } from './debian-package.ts';
import { runCommand, startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';

/** A container engine that answers at `DOCKER_HOST`. */
export interface ContainerEngine {
  /** Its command line client; BuildKit is on. */
  readonly docker: string;
  /** Ends the daemon when it was started here; one that was there before goes on. Safe to call twice. */
  stop(): Promise<void>;
}

/** Where the engine listens unless the environment says otherwise: nobody starts a second one beside it. */
const SOCKET = 'unix:///var/run/docker.sock';
/** Images and what builds keep stay there for the next tests. */
const STATE_DIR = '/var/cache/wharf-test/docker';
/** Debian's client first: another one on PATH may have no BuildKit. */
const CLIENTS = ['/usr/bin/docker', 'docker'];
const READY_WITHIN_MS = 60_000;

/**
 * The engine of this machine, or one that is started here: for root on Debian with the permission to install. Its daemon listens on a socket
 * of this machine alone.
 */
export async function startContainerEngine(): Promise<ContainerEngine | Missing> {
  const own = await answeringClient();
  if (own !== undefined) return { docker: own, stop: async () => undefined };
  if (process.env['DOCKER_HOST']) return { missing: `no container engine answers at DOCKER_HOST (${process.env['DOCKER_HOST']})` };
  for (const [command, packageName] of [
    ['dockerd', 'docker.io'],
    ['iptables', 'iptables'],
  ] as const) {
    const found = await ensureCommand(command, packageName);
    if (isMissing(found)) return found;
  }
  try {
    const daemon = await startProcess({
      name: 'dockerd',
      command: 'dockerd',
      args: [
        '--host',
        SOCKET,
        '--data-root',
        `${STATE_DIR}/data`,
        '--exec-root',
        '/run/wharf-test-docker',
        '--pidfile',
        '/run/wharf-test-docker.pid',
      ],
      ready: { probe: async () => ((await answeringClient()) === undefined ? undefined : true) },
      readyWithinMs: READY_WITHIN_MS,
      stopWithinMs: READY_WITHIN_MS,
    });
    const docker = (await answeringClient()) ?? 'docker';
    return { docker, stop: async () => void (await daemon.stop()) };
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim().split('\n').at(-1) : error;
    return { missing: `no container engine can be started here: ${reason}` };
  }
}

async function answeringClient(): Promise<string | undefined> {
  for (const client of CLIENTS) {
    const answer = await runCommand(client, ['version', '--format', '{{.Server.Version}}'], { withinMs: 10_000 }).catch(() => undefined);
    if (answer?.code === 0) return client;
  }
  return undefined;
}
