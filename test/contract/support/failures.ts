import { runCommand } from '@wharf/harness';
import type { Composed } from './composed.ts';

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
