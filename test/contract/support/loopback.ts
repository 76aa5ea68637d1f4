import { runToEnd } from '@wharf/harness';
import type { Composed } from './composed.ts';

/** Stand for 127.0.0.0/24 of this machine, on the way between a container and it. Addresses of nobody (RFC 2544). */
const STAND_IN = '198.18.0.0/24';
const LOOPBACK = '127.0.0.0/24';
/** The engine's DNS, and the ports that our health checks ask. */
const OWN = ['-d', '127.0.0.11'];
const OPS_PORTS = '9090:9094';

/**
 * Makes this machine's loopback that of containers, until they end: a test's server at 127.0.0.2 is reached there at 127.0.0.2.
 *
 * @returns what takes it back from this machine
 */
export async function lendLoopback(composed: Composed, services: readonly string[]): Promise<() => Promise<void>> {
  const bridges = new Set<string>();
  for (const service of services) {
    const pid = (await composed.docker('inspect', '--format', '{{.State.Pid}}', composed.container(service))).trim();
    const inside = (...words: string[]) => runToEnd('nsenter', ['--target', pid, '--net', ...words]);
    await inside('sh', '-c', 'for f in /proc/sys/net/ipv4/conf/*/route_localnet; do echo 1 >$f; done');
    const nat = (...rule: string[]) => inside('iptables', '-w', '-t', 'nat', ...rule);
    await nat('-A', 'OUTPUT', ...OWN, '-j', 'RETURN');
    await nat('-A', 'OUTPUT', '-d', LOOPBACK, '-p', 'tcp', '--dport', OPS_PORTS, '-j', 'RETURN');
    await nat('-A', 'OUTPUT', '-d', LOOPBACK, '-j', 'NETMAP', '--to', STAND_IN);
    await nat('-A', 'POSTROUTING', '-s', '127.0.0.0/8', '-d', STAND_IN, '-j', 'MASQUERADE');
    const gateway = /via (\S+)/.exec(await inside('ip', 'route', 'show', 'default'))?.[1] ?? '';
    bridges.add(await bridgeOf(gateway));
  }
  const rules = [...bridges].map((bridge) => ['PREROUTING', '-i', bridge, '-d', STAND_IN, '-j', 'NETMAP', '--to', LOOPBACK]);
  for (const bridge of bridges) await runToEnd('sh', ['-c', 'echo 1 >/proc/sys/net/ipv4/conf/$1/route_localnet', 'sh', bridge]);
  for (const rule of rules) await runToEnd('iptables', ['-w', '-t', 'nat', '-A', ...rule]);
  return async () => {
    for (const rule of rules) await runToEnd('iptables', ['-w', '-t', 'nat', '-D', ...rule]);
  };
}

/** The interface of this machine that has the address. */
async function bridgeOf(address: string): Promise<string> {
  const line = (await runToEnd('ip', ['-o', 'addr'])).split('\n').find((each) => each.includes(` ${address}/`)) ?? '';
  return line.split(/\s+/)[1] ?? '';
}
