import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, login } from '@wharf/harness';
import { startCluster } from '../../../e2e/support/cluster.ts';
import { servicePorts } from '../../../e2e/support/service-ports.ts';
import { type Passed, type StoreMeter, startStoreMeter } from './store-meter.ts';

export const ROLES = ['api-gateway', 'auth', 'admin', 'fs', 'downloader'] as const;
export type Role = (typeof ROLES)[number];

/** All services over one store and one bus, so many of each, and what each asks of the store. */
export interface ManyReplicas {
  readonly counts: Readonly<Record<Role, number>>;
  /** Of the gateways. */
  readonly bases: readonly string[];
  /** The administrator, at the first gateway. */
  readonly admin: Api;
  readonly adminPassword: string;
  /** The store itself, uncounted. */
  readonly storeUrl: string;
  /** What the replicas of each service asked since the last time. */
  take(): Readonly<Record<Role, ReadonlyMap<string, Passed>>>;
  stop(): Promise<void>;
}

/** @param engine address of a store to use in place of an embedded one */
export function startManyReplicas(counts: Readonly<Record<Role, number>>, engine: string | undefined): Promise<ManyReplicas> {
  return startCluster('scale', async ({ dir, env, adminPassword, start, stop }) => {
    const storeUrl = engine ?? env['MONGO_URL'] ?? '';
    const meters = new Map<Role, StoreMeter>();
    const stopAll = async () => {
      await stop();
      for (const meter of meters.values()) await meter.stop();
    };
    try {
      for (const role of ROLES) meters.set(role, await startStoreMeter(storeUrl));
      const meterOf = (role: Role) => {
        const meter = meters.get(role);
        if (!meter) throw new Error(`there is no meter for ${role}`);
        return meter;
      };
      const files = join(dir, 'files');
      await mkdir(files);
      const { addresses, own } = await servicePorts();
      const shared = {
        ...env,
        WHARF_FILES_DIR: files,
        WHARF_SCRATCH_DIR: join(dir, 'scratch'),
        WHARF_EGRESS_ALLOW: '127.0.0.1',
        ...addresses,
      };
      const bases: string[] = [];
      // The first of each takes the calls; the others do what a replica does by itself, and what a worker does.
      for (const role of ['auth', 'admin', 'fs', 'downloader', 'api-gateway'] as const) {
        const first = role === 'api-gateway' ? {} : own[role];
        for (let replica = 0; replica < counts[role]; replica += 1) {
          const program = await start(`services/${role}`, {
            ...shared,
            ...{ MONGO_URL: meterOf(role).url, WHARF_GRPC_PORT: '0', WHARF_DATA_PORT: '0', WHARF_HTTP_PORT: '0' },
            ...(replica === 0 && first),
          });
          if (role === 'api-gateway') bases.push(program.ready);
        }
      }
      return {
        ...{ counts, bases, adminPassword, storeUrl },
        admin: await login(bases[0] ?? '', 'admin', adminPassword),
        take: () => ({
          'api-gateway': meterOf('api-gateway').take(),
          auth: meterOf('auth').take(),
          admin: meterOf('admin').take(),
          fs: meterOf('fs').take(),
          downloader: meterOf('downloader').take(),
        }),
        stop: stopAll,
      };
    } catch (error) {
      for (const meter of meters.values()) await meter.stop();
      throw error;
    }
  });
}
