import { join } from 'node:path';
import type { Kustomize } from '@wharf/harness';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const FOLDER = join(import.meta.dirname, '../../deploy/kubernetes/overlays');

const labels = z.record(z.string(), z.string());
const selector = z.object({
  matchLabels: labels.default({}),
  matchExpressions: z.array(z.object({ key: z.string(), operator: z.literal('In'), values: z.array(z.string()) })).default([]),
});
export type Selector = z.output<typeof selector>;

const probe = z.looseObject({});
const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  startupProbe: probe.optional(),
  readinessProbe: probe.optional(),
  livenessProbe: probe.optional(),
  resources: z.object({ requests: labels, limits: labels }).optional(),
  securityContext: z.looseObject({}).optional(),
});
const pod = z.looseObject({
  automountServiceAccountToken: z.boolean().optional(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.looseObject({}).optional(),
  initContainers: z.array(container).default([]),
  containers: z.array(container),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
});
export const workload = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.object({ metadata: z.looseObject({ labels }), spec: pod }) }),
});
export type Workload = z.output<typeof workload>;

const peer = z.object({
  podSelector: selector.optional(),
  namespaceSelector: z.looseObject({}).optional(),
  ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
});
const port = z.object({ protocol: z.string(), port: z.union([z.string(), z.number()]) });
export const networkPolicy = z.object({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.object({
    podSelector: selector,
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
    ingress: z.array(z.object({ from: z.array(peer).optional(), ports: z.array(port).optional() })).default([]),
    egress: z.array(z.object({ to: z.array(peer).optional(), ports: z.array(port).optional() })).default([]),
  }),
});
export type NetworkPolicy = z.output<typeof networkPolicy>;
export type Peer = z.output<typeof peer>;

const object = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
export type Manifest = z.output<typeof object>;

/** What an overlay is built to, in the order in which Kustomize writes it. */
export async function buildOverlay(build: Kustomize, name: string): Promise<readonly Manifest[]> {
  return parseAllDocuments(await build(join(FOLDER, name))).map((document) => object.parse(document.toJS()));
}

/** Whether a selector takes a pod with these labels. */
export function selects({ matchLabels, matchExpressions }: Selector, of: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => of[name] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(of[key] ?? ''))
  );
}
