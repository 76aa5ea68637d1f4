import { chmod, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, makeTempDir, mountFoldingDisk, type NtfsDisk, startSshServer } from '@wharf/harness';
import { afterAll, onTestFinished } from 'vitest';
import { type DriverDefinition, defineDriver } from '../../src/driver-contract/define-driver.ts';
import { localConfigSchema, localSettings } from '../../src/drivers/local/config.ts';
import { localDriver } from '../../src/drivers/local/index.ts';
import { sftpDriver } from '../../src/drivers/sftp/index.ts';
import { itemsOf } from '../sftp/open-sftp.ts';
import { foldNames, openHere } from './folding-double.ts';

/** A kind of disk on which `SECRET` leads to what is called `secret`. */
interface Folding {
  readonly title: string;
  /** As such a disk needs it. */
  readonly driver: DriverDefinition;
  /** Names are listed as they were given. */
  readonly keepsSpelling: boolean;
  /** What beside the folder configures the storage. */
  readonly items: Record<string, unknown>;
  /** An empty folder on it, for one test. */
  makeFolder(): Promise<string>;
}

const doubled: Folding = {
  title: 'a double of a disk that folds names',
  driver: defineDriver({
    name: localDriver.name,
    label: localDriver.label,
    config: localDriver.config,
    configSchema: localConfigSchema,
    open: (config, options) => openHere(localSettings(config), options),
  }),
  keepsSpelling: true,
  items: {},
  async makeFolder() {
    const dir = await makeTempDir('folding');
    onTestFinished(() => dir.remove());
    foldNames(dir.path);
    return dir.path;
  },
};

/** The disks to hold Local to: a double, and a real one where it can be had. */
export async function foldingDisks(): Promise<readonly Folding[]> {
  const disk = await mountFoldingDisk();
  if (!isAvailable('folding-disk', disk)) return [doubled];
  afterAll(() => disk.remove());
  return [doubled, realDisk(disk)];
}

/** SSH servers that serve such a disk, where they can be had. */
export async function foldingServers(): Promise<readonly Folding[]> {
  const disk = await mountFoldingDisk();
  if (!isAvailable('folding-disk', disk)) return [];
  afterAll(() => disk.remove());
  // The server's user goes through it.
  await chmod(path.dirname(disk.path), 0o755);
  const server = await startSshServer();
  if (!isAvailable('sshd', server)) return [];
  afterAll(() => server.stop());
  return [{ ...realDisk(disk), title: 'OpenSSH on lowntfs-3g', driver: sftpDriver, items: itemsOf(server) }];
}

function realDisk(disk: NtfsDisk): Folding {
  return {
    title: 'lowntfs-3g, which lists names in lower case',
    driver: localDriver,
    keepsSpelling: false,
    items: {},
    async makeFolder() {
      const made = await mkdtemp(path.join(disk.path, 'test-'));
      return path.join(disk.path, path.basename(made).toLowerCase());
    },
  };
}
