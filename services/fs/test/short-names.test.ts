import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, isMissing, mountShortNamesDisk, startSshServer } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { bytesOf, mpath, textOf } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { decorate } from '../src/driver-contract/decorate.ts';
import type { StorageDriver } from '../src/driver-contract/storage-driver.ts';
import { sftpDriver } from '../src/drivers/sftp/index.ts';
import { openLocal } from './local/open-local.ts';
import { itemsOf, openSftp } from './sftp/open-sftp.ts';

const disk = await mountShortNamesDisk();
const server = await startSshServer();
const openRemote = async (folder: string) => {
  if (isMissing(server)) throw new Error(server.missing);
  return decorate(await openSftp({ ...itemsOf(server), root_folder_path: folder }), sftpDriver.limits);
};
const code = async (call: Promise<unknown>) => (await refusalOf(call))[0];

describe.runIf(isAvailable('folding-disk', disk))('NTFS as Windows formats it', () => {
  if (isMissing(disk)) return;
  afterAll(async () => {
    if (!isMissing(server)) await server.stop();
    await disk.remove();
  });

  const drivers: { name: string; open(folder: string): Promise<StorageDriver> }[] = [{ name: 'Local', open: openLocal }];
  if (isAvailable('sshd', server)) drivers.push({ name: 'Sftp', open: openRemote });
  describe.each(drivers)('by $name', ({ name, open }) => {
    const openFolder = async (): Promise<{ folder: string; driver: Required<StorageDriver> }> => {
      await chmod(path.dirname(disk.path), 0o755);
      const folder = path.join(disk.path, name);
      await mkdir(path.join(folder, 'Secret Folder'), { recursive: true });
      await writeFile(path.join(folder, 'Secret Folder/plan'), 'text');
      await disk.giveShortName(path.join(folder, 'Secret Folder'), 'SECRET~1');
      const driver = (await open(folder)) as Required<StorageDriver>;
      onTestFinished(() => driver.close());
      return { folder, driver };
    };

    it('has an entry under its long name only, and makes nothing under its short one', async () => {
      const { folder, driver } = await openFolder();
      expect(await readFile(path.join(folder, 'SECRET~1/plan'), 'utf8')).toBe('text');
      expect(await textOf(await driver.read(mpath('/Secret Folder/plan')))).toBe('text');
      for (const short of ['/SECRET~1', '/SECRET~1/plan', '/SECRET~1/none'].map(mpath)) {
        expect(await code(driver.stat(short))).toBe('ENTRY_NOT_FOUND');
        expect(await code(driver.read(short))).toBe('ENTRY_NOT_FOUND');
        expect(await code(Array.fromAsync(driver.list(short)))).toBe('ENTRY_NOT_FOUND');
        expect(await code(driver.remove(short, { recursive: true }))).toMatch(/^(ENTRY_NOT_FOUND|FAILED_PRECONDITION)$/);
        expect(await code(driver.rename(short, mpath('/mine'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
        expect(await code(driver.copy(short, mpath('/mine'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
        expect(await code(driver.write(short, bytesOf('changed'), { overwrite: true }))).toBe('ENTRY_EXISTS');
        expect(await code(driver.makeDirectory(short))).toBe('ENTRY_EXISTS');
        expect(await code(driver.openDraft(mpath(`${short}/new`), '0'.repeat(32), { create: true }))).toBe('ENTRY_EXISTS');
      }
      await driver.write(mpath('/other'), bytesOf('x'), { overwrite: true });
      for (const place of ['rename', 'copy'] as const)
        expect(await code(driver[place](mpath('/other'), mpath('/SECRET~1/plan'), { overwrite: true }))).toMatch(
          /^ENTRY_(EXISTS|NOT_FOUND)$/,
        );
      expect((await readdir(folder, { recursive: true })).sort()).toEqual(['Secret Folder', 'Secret Folder/plan', 'other']);
      expect(await readFile(path.join(folder, 'Secret Folder/plan'), 'utf8')).toBe('text');
    });

    it('has names of that form which are listed', async () => {
      const { folder, driver } = await openFolder();
      await driver.makeDirectory(mpath('/MINE~1'));
      await driver.write(mpath('/MINE~1/$own~1.txt'), bytesOf('own'), { overwrite: false });
      await driver.rename(mpath('/MINE~1/$own~1.txt'), mpath('/MINE~1/.snapshot'), { overwrite: false });
      expect((await driver.stat(mpath('/MINE~1/.snapshot'))).sizeBytes).toBe(3);
      expect(await readFile(path.join(folder, 'MINE~1/.snapshot'), 'utf8')).toBe('own');
      await driver.remove(mpath('/MINE~1'), { recursive: true });
      expect(await code(driver.stat(mpath('/MINE~1')))).toBe('ENTRY_NOT_FOUND');
    });

    it('does not show the files of the file system itself', async () => {
      const driver = await open(disk.path);
      onTestFinished(() => driver.close());
      expect((await readFile(path.join(disk.path, '$MFT'))).includes(Buffer.from('Secret Folder', 'utf16le'))).toBe(true);
      expect(await code(driver.read(mpath('/$MFT')))).toBe('ENTRY_NOT_FOUND');
    });
  });
});
