import { createEgress, createEgressPolicy } from '@wharf/egress';
import type { SshServer } from '@wharf/harness';
import { onTestFinished } from 'vitest';
import type { OpenContext } from '../../src/driver-contract/open-context.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { sftpDriver } from '../../src/drivers/sftp/index.ts';

const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

/** The items of a storage on that server, by password. */
export function itemsOf(server: Pick<SshServer, 'host' | 'port' | 'username' | 'password' | 'rootPath'>): Record<string, unknown> {
  return {
    address: `${server.host}:${server.port}`,
    username: server.username,
    password: server.password,
    root_folder_path: server.rootPath,
  };
}

/** Opens a storage until the test ends. */
export async function openSftp(items: Record<string, unknown>, context: Partial<OpenContext> = {}): Promise<Required<StorageDriver>> {
  const driver = await sftpDriver.open(JSON.stringify(items), { egress, ...context });
  onTestFinished(() => driver.close());
  return driver as Required<StorageDriver>;
}
