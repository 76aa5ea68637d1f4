import { freePort } from '@wharf/harness';
import { type Cluster, startCluster } from './cluster.ts';

/** Two of each of admin, fs and the gateway over one store and one bus; the first gateway speaks to the first replicas, the second to the second. */
export interface Replicas extends Pick<Cluster, 'adminPassword' | 'killBus' | 'stop'> {
  readonly first: string;
  readonly second: string;
  /** A folder that all of them see. */
  readonly folder: string;
}

export function startReplicas(): Promise<Replicas> {
  return startCluster('replicas', async ({ dir, adminPassword, env, start, killBus, stop }) => {
    const [auth, downloader] = [await freePort(), await freePort()];
    const shared = { ...env, WHARF_AUTH_ADDR: `127.0.0.1:${auth}`, WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}` };
    await start('services/auth', { ...shared, WHARF_GRPC_PORT: String(auth) });
    const gateways: string[] = [];
    for (let replica = 0; replica < 2; replica += 1) {
      const [admin, fs, data] = [await freePort(), await freePort(), await freePort()];
      const own = {
        ...shared,
        WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
        WHARF_FS_ADDR: `127.0.0.1:${fs}`,
        WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      };
      await start('services/admin', { ...own, WHARF_GRPC_PORT: String(admin) });
      await start('services/fs', { ...own, WHARF_GRPC_PORT: String(fs), WHARF_DATA_PORT: String(data) });
      if (replica === 0) await start('services/downloader', { ...own, WHARF_GRPC_PORT: String(downloader) });
      gateways.push((await start('services/api-gateway', { ...own, WHARF_HTTP_PORT: '0' })).ready);
    }
    const [first = '', second = ''] = gateways;
    return { first, second, adminPassword, folder: dir, killBus, stop };
  });
}
