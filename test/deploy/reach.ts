import { BlockList, isIP } from 'node:net';
import { type NetworkPolicy, type Peer, selects, type Workload } from './manifests.ts';

/** An end of a connection: a pod of ours, or an address outside of the namespace. */
export type End = Workload | string;

/** Whether the policies let a connection through: what it leaves must let it out, and what it reaches must let it in. */
export function mayConnect(policies: readonly NetworkPolicy[], from: End, to: End, port: number): boolean {
  return allows(policies, 'Egress', from, to, port, to) && allows(policies, 'Ingress', to, from, port, to);
}

function allows(policies: readonly NetworkPolicy[], type: 'Ingress' | 'Egress', at: End, other: End, port: number, target: End): boolean {
  if (typeof at === 'string') return true;
  const own = policies.filter(({ spec }) => spec.policyTypes.includes(type) && selects(spec.podSelector, labelsOf(at)));
  if (own.length === 0) return true;
  const rules = own.flatMap(({ spec }) =>
    type === 'Egress'
      ? spec.egress.map(({ to, ports }) => ({ peers: to, ports }))
      : spec.ingress.map(({ from, ports }) => ({ peers: from, ports })),
  );
  return rules.some(
    ({ peers, ports }) =>
      (peers === undefined || peers.some((peer) => isPeer(peer, other))) &&
      (ports === undefined || ports.some((each) => portOf(each.port, target) === port)),
  );
}

function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, end: End): boolean {
  if (typeof end === 'string') return ipBlock !== undefined && isWithin(end, [ipBlock.cidr]) && !isWithin(end, ipBlock.except);
  // Pods of whatever namespace, ours included.
  if (namespaceSelector !== undefined) return true;
  return podSelector !== undefined && selects(podSelector, labelsOf(end));
}

function isWithin(address: string, ranges: readonly string[]): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits = ''] = range.split('/');
    // A list takes an IPv4 address for an IPv6 one, and `::/0` for both.
    if (isIP(net) === isIP(address)) list.addSubnet(net, Number(bits), family);
  }
  return list.check(address, family);
}

/** A port by its name is the target's. */
function portOf(port: string | number, target: End): number | undefined {
  if (typeof port === 'number' || typeof target === 'string') return Number(port);
  return target.spec.template.spec.containers.flatMap(({ ports }) => ports).find(({ name }) => name === port)?.containerPort;
}

const labelsOf = ({ spec }: Workload) => spec.template.metadata.labels;
