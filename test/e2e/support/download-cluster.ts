import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, login } from '@wharf/harness';
import { type Cluster, type Program, startCluster } from './cluster.ts';
import { servicePorts } from './service-ports.ts';

/** All services over one store and one bus, with as many downloaders as are started. */
export interface DownloadCluster extends Pick<Cluster, 'restartBus' | 'restartStore' | 'stop'> {
  /** The administrator. */
  readonly caller: Api;
  /** What `/local` has. */
  readonly filesDir: string;
  /** WHARF_TOOLS_DIR. */
  readonly toolsDir: string;
  /** The first one (index 0) takes the calls; the others are workers only. A process that ended may be started again under its index. */
  startDownloader(index: number): Promise<Program>;
}

export function startDownloadCluster(env: Readonly<Record<string, string>> = {}): Promise<DownloadCluster> {
  return startCluster('downloads', async (cluster) => {
    const { dir, start, restartBus, restartStore, stop } = cluster;
    const { addresses, own } = await servicePorts();
    const [filesDir, toolsDir] = [join(dir, 'files'), join(dir, 'downloads')];
    await mkdir(filesDir);
    const shared = {
      ...cluster.env,
      WHARF_FILES_DIR: filesDir,
      WHARF_SCRATCH_DIR: join(dir, 'scratch'),
      WHARF_TOOLS_DIR: toolsDir,
      WHARF_EGRESS_ALLOW: '127.0.0.1',
      ...addresses,
      ...env,
    };
    await start('services/auth', { ...shared, ...own.auth });
    await start('services/admin', { ...shared, ...own.admin });
    await start('services/fs', { ...shared, ...own.fs });
    const gateway = await start('services/api-gateway', { ...shared, WHARF_HTTP_PORT: '0' });
    return {
      caller: await login(gateway.ready, 'admin', cluster.adminPassword),
      ...{ filesDir, toolsDir, restartBus, restartStore, stop },
      startDownloader: (index) => start('services/downloader', { ...shared, WHARF_GRPC_PORT: '0', ...(index === 0 && own.downloader) }),
    };
  });
}
