import { runCommand, runToEnd, waitFor } from '@wharf/harness';
import type { Composed } from './composed.ts';

/** Under which a service works, and has no room for much beside it. */
const TIGHT_MEMORY = '256m';
/** Processes that do nothing but take room; any of them is smaller than a service. */
const MOST_IDLERS = 16;
const FAKETIME_LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

/** Drops every packet between two containers of the network of the services. @returns what lets them pass again */
export async function cutPair(composed: Composed, one: string, other: string): Promise<() => Promise<void>> {
  const format = '{{(index .NetworkSettings.Networks "wharf-test_inner").IPAddress}}';
  const address = async (service: string) => (await composed.docker('inspect', '--format', format, composed.container(service))).trim();
  const [from, to] = [await address(one), await address(other)];
  const rules = [
    ['-s', from, '-d', to],
    ['-s', to, '-d', from],
  ];
  const change = async (action: '-I' | '-D') => {
    for (const rule of rules) {
      const { code, stderr } = await runCommand('iptables', ['-w', action, 'DOCKER-USER', ...rule, '-j', 'DROP']);
      if (code !== 0) throw new Error(`iptables: ${stderr}`);
    }
  };
  await change('-I');
  return () => change('-D');
}

/** Fills the disk that a folder lies on, as the container beside the store sees it (composed.ts). @returns what makes room again */
export async function fillDisk(composed: Composed, folder: string): Promise<() => Promise<void>> {
  const inside = (script: string) => composed.compose('exec', '-T', 'postgres', 'sh', '-c', script);
  await inside(`head -c 8G /dev/zero >${folder}/filler 2>/dev/null; true`);
  return async () => void (await inside(`rm ${folder}/filler`));
}

/** Makes a service anew whose clock goes wrong. @param offset as libfaketime takes it, such as `+10m`. @returns what makes it anew with the right time */
export async function shiftClock(composed: Composed, service: string, image: string, offset: string): Promise<() => Promise<void>> {
  const { docker } = composed.engine;
  const shifted = `wharf-test/faketime-${service}:1`;
  const lines = [
    `FROM ${image}`,
    'USER root',
    'RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libfaketime',
    'USER 10001:10001',
  ];
  await runToEnd('sh', ['-c', 'printf "%s\\n" "$3" | "$1" build -q -t "$2" -', 'sh', docker, shifted, lines.join('\n')]);
  await composed.change(service, { image: shifted, environment: { LD_PRELOAD: FAKETIME_LIBRARY, FAKETIME: offset } });
  return () => composed.change(service, {});
}

/** Takes the memory of a service's container until the kernel ends the service; the engine starts it again. @returns what gives the memory back */
export async function runOutOfMemory(composed: Composed, service: string): Promise<() => Promise<void>> {
  const container = composed.container(service);
  const limit = (memory: string) => composed.docker('update', '--memory', memory, '--memory-swap', memory, container);
  const restarts = async () => Number(await composed.docker('inspect', '--format', '{{.RestartCount}}', container));
  const before = await restarts();
  await limit(TIGHT_MEMORY);
  for (let idlers = 0; idlers < MOST_IDLERS && (await restarts()) === before; idlers += 1)
    await composed.docker('exec', '--detach', container, 'node', '-e', 'setInterval(() => {}, 1e6)').catch(() => undefined);
  await waitFor('the service to be ended for want of memory', async () => (await restarts()) > before, { withinMs: 30_000, everyMs: 200 });
  return async () => void (await limit('64g'));
}
