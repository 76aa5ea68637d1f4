import { readdir } from 'node:fs/promises';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { isAvailable, isMissing, startRcloneSftp } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, collect, digest, pattern, put, refuses, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { sftpDriver } from './index.ts';

const rclone = await startRcloneSftp();

describe.runIf(isAvailable('rclone', rclone))('on rclone serve sftp, which empties what is opened for writing', () => {
  if (isMissing(rclone)) return;
  afterAll(() => rclone.stop());

  it('there are no drafts, and files are written at once', async () => {
    const { host, port, username, password, folder } = rclone;
    const items = { address: `${host}:${port}`, username, password, root_folder_path: '/' };
    const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
    const driver = (await sftpDriver.open(JSON.stringify(items), { egress })) as Required<StorageDriver>;
    onTestFinished(() => driver.close());
    expect(driver.openDraft).toBeUndefined();
    expect(driver.traits.drafts).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
    const content = pattern(1_000_001);
    expect(await put(driver, '/d/a.bin', content)).toMatchObject({ sizeBytes: content.byteLength });
    expect(digest(await collect(await driver.read(at('/d/a.bin'))))).toBe(digest(content));
    await put(driver, '/d/b.bin', 'b', { overwrite: false });
    await refuses('ENTRY_EXISTS', put(driver, '/d/b.bin', 'c', { overwrite: false }));
    expect(await textOf(driver, '/d/b.bin')).toBe('b');
    // It keeps no times of access, by which a file is known again, and says that it sets them.
    await put(driver, '/d/a.bin', 'new', { beforePublish: async () => undefined });
    expect(await textOf(driver, '/d/a.bin')).toBe('new');
  });
});
