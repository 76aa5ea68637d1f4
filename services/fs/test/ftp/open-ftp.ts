import { createEgress, createEgressPolicy } from '@wharf/egress';
import { onTestFinished } from 'vitest';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { ftpDriver } from '../../src/drivers/ftp/index.ts';

const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

/** The items of a storage without TLS. */
export function itemsOf(server: { port: number; username?: string; password?: string }): Record<string, unknown> {
  const { port, username = 'keeper', password = 'secret' } = server;
  return { address: `127.0.0.1:${port}`, encoding: 'utf-8', username, password, root_folder_path: '/root', encryption: 'none' };
}

/** Opens a storage until the test ends. */
export async function openFtp(
  items: Record<string, unknown>,
): Promise<StorageDriver & Required<Pick<StorageDriver, 'write' | 'makeDirectory' | 'remove' | 'rename'>>> {
  const driver = await ftpDriver.open(JSON.stringify(items), { egress });
  onTestFinished(() => driver.close());
  return driver as Required<StorageDriver>;
}
