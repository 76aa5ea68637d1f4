import { freePort } from '@wharf/harness';
import { type Cluster, type Program, startCluster } from './cluster.ts';

/** Two of each of admin, fs and the gateway over one store and one bus; the first gateway speaks to the first replicas, the second to the second. */
export interface Replicas extends Pick<Cluster, 'adminPassword' | 'killBus' | 'restartStore' | 'lastLines' | 'stop'> {
  readonly first: string;
  readonly second: string;
  /** A folder that all of them see. */
  readonly folder: string;
  pidOf(service: Restarted, replica: 0 | 1): number;
  /** Ends one as a crash would; it comes back where it was. */
  restart(service: Restarted, replica: 0 | 1): Promise<void>;
}

type Restarted = 'fs' | 'api-gateway';

/** @param gatewayEnv what the gateways get of their environment beside the rest */
export function startReplicas(gatewayEnv: Readonly<Record<string, string>> = {}): Promise<Replicas> {
  return startCluster('replicas', async ({ dir, adminPassword, env, start, killBus, restartStore, lastLines, stop }) => {
    const [auth, downloader] = [await freePort(), await freePort()];
    const shared = { ...env, WHARF_AUTH_ADDR: `127.0.0.1:${auth}`, WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}` };
    await start('services/auth', { ...shared, WHARF_GRPC_PORT: String(auth) });
    const running = new Map<string, { program: Program; again: () => Promise<Program> }>();
    const run = async (service: Restarted, replica: number, serviceEnv: Readonly<Record<string, string>>): Promise<string> => {
      const again = () => start(`services/${service}`, serviceEnv);
      const program = await again();
      running.set(`${service} ${replica}`, { program, again });
      return program.ready;
    };
    const get = (service: Restarted, replica: number) => {
      const one = running.get(`${service} ${replica}`);
      if (!one) throw new Error(`there is no ${service} ${replica}`);
      return one;
    };
    const gateways: string[] = [];
    for (let replica = 0; replica < 2; replica += 1) {
      const [admin, fs, data, http] = [await freePort(), await freePort(), await freePort(), await freePort()];
      const own = {
        ...shared,
        WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
        WHARF_FS_ADDR: `127.0.0.1:${fs}`,
        WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      };
      await start('services/admin', { ...own, WHARF_GRPC_PORT: String(admin) });
      await run('fs', replica, { ...own, WHARF_GRPC_PORT: String(fs), WHARF_DATA_PORT: String(data) });
      if (replica === 0) await start('services/downloader', { ...own, WHARF_GRPC_PORT: String(downloader) });
      gateways.push(await run('api-gateway', replica, { ...own, ...gatewayEnv, WHARF_HTTP_PORT: String(http) }));
    }
    const [first = '', second = ''] = gateways;
    return {
      ...{ first, second, adminPassword, folder: dir, killBus, restartStore, lastLines, stop },
      pidOf: (service, replica) => get(service, replica).program.pid,
      async restart(service, replica) {
        const one = get(service, replica);
        await one.program.kill();
        // One that loses the store while it starts ends, and its supervisor begins it again.
        one.program = await one.again().catch(one.again);
      },
    };
  });
}
