import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, ensureKustomize, isAvailable } from '@wharf/harness';
import { Ajv } from 'ajv';
import * as apps from 'kubernetes-models/apps/v1';
import * as autoscaling from 'kubernetes-models/autoscaling/v2';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildOverlay, type Manifest, type NetworkPolicy, networkPolicy, selects, type Workload, workload } from './manifests.ts';
import { metricsIn } from './queries.ts';
import { mayConnect } from './reach.ts';

const SERVICES = ['api-gateway', 'auth', 'admin', 'fs', 'downloader'];
const OVERLAYS = ['single-node', 'production', 'production-without-keda', 'node-1.20'];
const STORES = ['single-node', 'node-1.20'];
/** The oldest version that manifests are for has no such kinds. */
const NEWER_KINDS = ['HorizontalPodAutoscaler', 'PodDisruptionBudget', 'ScaledObject'];

/** What is not the same when `try-node` tries an overlay... */
const OF_THE_TRY = ['image', 'WHARF_EGRESS_ALLOW'];
/** ... and of the store alone, which is another one there. */
const OF_ITS_STORE = [...OF_THE_TRY, 'args', 'startupProbe'];

type Model = new (data: never) => { validate(): void };
const MODELS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'apps/v1': apps,
  'autoscaling/v2': autoscaling,
  'networking.k8s.io/v1': networking,
  'policy/v1': policy,
  v1: core,
};

const found = await ensureKustomize();

describe.runIf(isAvailable('kustomize', found)).each(OVERLAYS)('the overlay %s', (overlay) => {
  let manifests: readonly Manifest[] = [];
  let workloads: readonly Workload[] = [];
  let policies: readonly NetworkPolicy[] = [];
  beforeAll(async () => {
    if (typeof found !== 'function') return;
    manifests = await buildOverlay(found, overlay);
    workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet').map((each) => workload.parse(each));
    policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map((each) => networkPolicy.parse(each));
  });
  const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind);
  const named = (name: string) => {
    const one = workloads.find(({ metadata }) => metadata.name === name);
    if (!one) throw new Error(`there is no ${name}`);
    return one;
  };

  it('has all services, and the store and the bus where it brings them', () => {
    const stores = STORES.includes(overlay) ? ['mongo', 'nats'] : [];
    expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual([...SERVICES, ...stores].sort());
  });

  it('is valid by the models of Kubernetes', () => {
    for (const manifest of manifests) {
      if (manifest.kind === 'ScaledObject') continue;
      const Model = MODELS[manifest.apiVersion]?.[manifest.kind] as Model | undefined;
      if (!Model) throw new Error(`there is no model of ${manifest.kind}`);
      expect(() => new Model(manifest as never).validate(), `${manifest.kind} ${manifest.metadata.name}`).not.toThrow();
    }
  });

  it('has no field that Kubernetes 1.20 did not know, in the kinds that it had', () => {
    let compared = 0;
    for (const manifest of manifests) {
      if (NEWER_KINDS.includes(manifest.kind)) continue;
      const problems = unknownTo120(manifest);
      expect(problems, `${manifest.kind} ${manifest.metadata.name}`).toEqual([]);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(25);
  });

  it('starts nothing that a node of Kubernetes 1.20 lacks, if it is for one', () => {
    if (overlay === 'node-1.20') expect(manifests.filter(({ kind }) => NEWER_KINDS.includes(kind))).toEqual([]);
    else expect(ofKind('PodDisruptionBudget').length).toBeGreaterThanOrEqual(SERVICES.length);
  });

  it('each workload is watched, bounded and confined', () => {
    for (const { metadata, spec } of workloads) {
      const pod = spec.template.spec;
      const { name } = metadata;
      expect(pod.automountServiceAccountToken, name).toBe(false);
      expect(pod.securityContext, name).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(Number(at(pod.securityContext, 'runAsUser')), name).toBeGreaterThan(0);
      for (const each of [...pod.initContainers, ...pod.containers]) {
        expect(each.securityContext, name).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(each.resources, name).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { cpu: expect.any(String), memory: expect.any(String) },
        });
        expect(each.image, name).toMatch(/:[^:]+$/);
        expect(each.image, name).not.toMatch(/:latest$/);
      }
      for (const each of pod.containers)
        for (const which of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const)
          expect(each[which], `${name} ${which}`).toBeDefined();
      expect(pod['hostNetwork'] ?? pod['hostPID'] ?? pod['hostIPC'], name).toBeUndefined();
      for (const volume of pod.volumes) expect(volume, name).not.toHaveProperty('hostPath');
    }
  });

  it('each service is asked over HTTP on its ops port, and the store counts for readiness alone', () => {
    for (const service of SERVICES) {
      const { startupProbe, readinessProbe, livenessProbe } = named(service).spec.template.spec.containers[0] ?? {};
      const ask = (path: string) => ({ httpGet: { path, port: 'ops' } });
      expect({ startupProbe, readinessProbe, livenessProbe }, service).toMatchObject({
        startupProbe: ask('/healthz'),
        readinessProbe: ask('/readyz'),
        livenessProbe: ask('/healthz'),
      });
    }
  });

  it('a service gets longer to end than it takes', () => {
    const settings = ofKind('ConfigMap')[0];
    const graceSeconds = Number(at(settings, 'data', 'WHARF_GRACE_SECONDS'));
    for (const service of SERVICES)
      expect(named(service).spec.template.spec.terminationGracePeriodSeconds, service).toBeGreaterThan(graceSeconds);
    expect(graceSeconds).toBeGreaterThan(Number(at(settings, 'data', 'WHARF_DRAIN_SECONDS')));
  });

  it('secrets are files of one Secret that is not in the manifests', () => {
    expect(ofKind('Secret')).toEqual([]);
    const settings = at(ofKind('ConfigMap')[0], 'data');
    for (const name of ['WHARF_SECRET_FILE', 'MONGO_URL_FILE', 'NATS_URL_FILE'])
      expect(at(settings, name), name).toMatch(/^\/run\/secrets\/wharf\//);
    for (const { spec } of workloads)
      for (const { env } of spec.template.spec.containers)
        for (const { name } of env) expect(name).not.toMatch(/(SECRET|PASSWORD|TOKEN|URL)$(?<!SELF_URL|PROXY_URL)/);
  });

  it('each workload has a budget of disruptions', () => {
    if (overlay === 'node-1.20') return;
    for (const { metadata, spec } of workloads) {
      const budgets = ofKind('PodDisruptionBudget').filter((budget) => {
        const matchLabels = at(budget, 'spec', 'selector', 'matchLabels');
        return selects({ matchLabels: matchLabels as Record<string, string>, matchExpressions: [] }, spec.template.metadata.labels);
      });
      expect(budgets, metadata.name).toHaveLength(1);
    }
  });

  it('whoever calls others finds a Service that leads to their port', () => {
    const settings = at(ofKind('ConfigMap')[0], 'data') as Record<string, string>;
    for (const [variable, service] of Object.entries({ AUTH: 'auth', ADMIN: 'admin', FS: 'fs', DOWNLOADER: 'downloader' })) {
      const [host, port] = settings[`WHARF_${variable}_ADDR`]?.split(':') ?? [];
      const target = ofKind('Service').find(({ metadata }) => metadata.name === host);
      expect(at(target, 'spec', 'clusterIP'), 'gRPC takes turns itself').toBe('None');
      expect(at(target, 'spec', 'ports', 0, 'port')).toBe(Number(port));
      expect(named(service).spec.template.spec.containers[0]?.ports).toContainEqual({ name: 'grpc', containerPort: Number(port) });
    }
  });

  it('who may reach whom', () => {
    const may = (from: string | Workload, to: string | Workload, port: number) => mayConnect(policies, from, to, port);
    const grpc = { auth: 50051, admin: 50052, fs: 50053, downloader: 50054 };
    for (const [service, port] of Object.entries(grpc)) {
      expect(may(named('api-gateway'), named(service), port), service).toBe(true);
      expect(may('203.0.113.9', named(service), port), `${service} from outside`).toBe(false);
    }
    expect(may('203.0.113.9', named('api-gateway'), 5244)).toBe(true);
    expect(may('203.0.113.9', named('fs'), 50063)).toBe(true);
    expect(may(named('downloader'), named('fs'), 50063)).toBe(true);
    expect(may(named('auth'), named('api-gateway'), 5244)).toBe(false);
    // The Internet: downloaders. Private addresses: fs. What a cloud tells its machines: nobody.
    for (const service of SERVICES) {
      const from = named(service);
      expect(may(from, '93.184.216.34', 443), `${service} to the Internet`).toBe(service === 'fs' || service === 'downloader');
      for (const address of ['10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd12::1'])
        expect(may(from, address, 445), `${service} to ${address}`).toBe(service === 'fs');
      for (const address of ['169.254.169.254', 'fe80::1']) expect(may(from, address, 80), `${service} to ${address}`).toBe(false);
    }
    if (!STORES.includes(overlay)) return;
    for (const service of SERVICES) {
      expect(may(named(service), named('mongo'), 27017), service).toBe(true);
      expect(may(named(service), named('nats'), 4222), service).toBe(true);
    }
    expect(may('203.0.113.9', named('mongo'), 27017)).toBe(false);
    expect(may(named('nats'), named('mongo'), 27017)).toBe(false);
    expect(may(named('mongo'), '93.184.216.34', 443)).toBe(false);
  });

  it.each([
    ['fs-data', '/d/local/one.bin /p/local/one.bin /api/fs/put /api/fs/form /api/fs/tus /api/fs/tus/an-upload'],
    [
      'fs-data',
      '/api/fs/multipart/init /api/fs/multipart/chunk /api/fs/multipart/complete /api/fs/multipart/status /api/fs/multipart/abort',
    ],
    // A list of uploads is no bytes: the data plane of fs has none.
    ['api-gateway', '/ /api/fs/list /api/fs/get /api/fs/multipart/list /api/auth/login /dav /assets/index.js'],
  ])('to %s lead %s', (service, paths) => {
    for (const path of paths.split(' ')) expect(targetOf(ofKind('Ingress')[0], path), path).toBe(service);
  });

  it('autoscalers have targets whose number nobody else says', () => {
    const scaled = [...ofKind('HorizontalPodAutoscaler'), ...ofKind('ScaledObject')].map((each) =>
      String(at(each, 'spec', 'scaleTargetRef', 'name')),
    );
    expect(scaled.sort()).toEqual(overlay.startsWith('production') ? ['api-gateway', 'downloader', 'fs'] : []);
    for (const name of scaled) expect(named(name).spec).not.toHaveProperty('replicas');
    for (const query of ofKind('ScaledObject').map((each) => String(at(each, 'spec', 'triggers', 0, 'metadata', 'query'))))
      expect(metricsIn(query)).toEqual([{ name: 'wharf_downloader_tasks', labels: ['kind', 'state'] }]);
  });
});

it.runIf(isAvailable('kustomize', found))(
  'try-node applies the overlay node-1.20 but for images, the store, an address that is allowed, and volumes',
  async () => {
    if (typeof found !== 'function') return;
    const [tried, overlay] = await Promise.all([buildOverlay(found, '../try'), buildOverlay(found, 'node-1.20')]);
    const volumes = tried.filter(({ kind }) => kind === 'PersistentVolume');
    expect(volumes).toHaveLength(5);
    for (const volume of volumes) expect(() => new core.PersistentVolume(volume as never).validate()).not.toThrow();
    const inCommon = (manifests: readonly Manifest[]) =>
      manifests
        .filter(({ kind }) => kind !== 'PersistentVolume')
        .map((manifest) => {
          const differs = manifest.kind === 'StatefulSet' && manifest.metadata.name === 'mongo' ? OF_ITS_STORE : OF_THE_TRY;
          const text = JSON.stringify(manifest, (key, value: unknown) => (differs.includes(key) ? undefined : value));
          // The name of a config map ends with the hash of what is in it.
          return JSON.parse(text.replace(/"wharf-\w{10}"/, '"wharf"'));
        });
    expect(inCommon(tried)).toEqual(inCommon(overlay));
  },
);

/** The service that an Ingress leads a path to: an exact rule before the others, then the longest one. */
function targetOf(ingress: unknown, path: string): unknown {
  const rules = at(ingress, 'spec', 'rules', 0, 'http', 'paths');
  const matching = (Array.isArray(rules) ? rules : []).filter((rule) => {
    const own = String(at(rule, 'path'));
    return at(rule, 'pathType') === 'Exact' ? path === own : path === own || path.startsWith(own.endsWith('/') ? own : `${own}/`);
  });
  const weight = (rule: unknown) => (at(rule, 'pathType') === 'Exact' ? Number.POSITIVE_INFINITY : String(at(rule, 'path')).length);
  const [best] = matching.sort((one, other) => weight(other) - weight(one));
  return at(best, 'backend', 'service', 'name');
}

const schemas: { definitions: Record<string, object> } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'kubernetes/schemas-1.20.json'), 'utf8'),
  (_key, value: unknown) => strict(value),
);
const ajv = new Ajv({
  strict: false,
  formats: { 'int-or-string': true, int32: true, int64: true, double: true, byte: true, 'date-time': true },
});
ajv.addSchema(schemas, 'kubernetes');

/** An object with declared fields has no others; what is written as a number or as a text may be either. */
function strict(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (at(value, 'format') === 'int-or-string') return { type: ['integer', 'string'] };
  return at(value, 'type') === 'object' && at(value, 'properties') !== undefined ? { ...value, additionalProperties: false } : value;
}

/** What is wrong with a manifest by the schemas of Kubernetes 1.20. */
function unknownTo120({ apiVersion, kind, ...rest }: Manifest): string[] {
  const group = apiVersion === 'v1' ? 'core.v1' : apiVersion.replace('.k8s.io', '').replace('/', '.');
  const valid = ajv.validate({ $ref: `kubernetes#/definitions/io.k8s.api.${group}.${kind}` }, { apiVersion, kind, ...rest });
  return valid ? [] : (ajv.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

it('a field that is misspelt, and a value of another type, are found', () => {
  const manifest = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec: { ports: [{ port: 'http' }], selectors: {} } };
  expect(unknownTo120(manifest).length).toBeGreaterThan(0);
  expect(unknownTo120({ ...manifest, spec: { ports: [{ port: 80, targetPort: 'http' }] } } as Manifest)).toEqual([]);
});
