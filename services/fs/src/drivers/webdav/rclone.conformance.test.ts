import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, isMissing, startRcloneDav } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { at, collect, digest, namesIn, pattern, put, refuses, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { testEgress } from './testing/test-egress.ts';

const rclone = await startRcloneDav();

describe.runIf(isAvailable('rclone', rclone))('on rclone serve webdav', () => {
  if (isMissing(rclone)) return;
  afterAll(() => rclone.stop());

  async function opened() {
    const { url, username, password } = rclone as Exclude<typeof rclone, { missing: string }>;
    const items = { address: url, username, password, root_folder_path: '/' };
    const driver = await webdavDriver.open(JSON.stringify(items), { egress: testEgress() });
    onTestFinished(() => driver.close());
    return driver as Required<StorageDriver>;
  }

  it('files and folders are written, read in ranges, copied, moved and removed', async () => {
    const driver = await opened();
    const content = pattern(3_000_001);
    expect(await put(driver, '/d/ä +%2F#?.bin', content)).toMatchObject({ name: 'ä +%2F#?.bin', sizeBytes: content.byteLength });
    expect(digest(await collect(await driver.read(at('/d/ä +%2F#?.bin'))))).toBe(digest(content));
    const stretch = await collect(await driver.read(at('/d/ä +%2F#?.bin'), { offsetBytes: 1_000_000, lengthBytes: 10 }));
    expect(stretch).toEqual(content.subarray(1_000_000, 1_000_010));
    await refuses('IS_A_DIRECTORY', driver.read(at('/d')));
    await driver.copy(at('/d'), at('/e'), { overwrite: false });
    await put(driver, '/f', 'old');
    await refuses('ENTRY_EXISTS', put(driver, '/f', 'new', { overwrite: false }));
    await refuses('IS_A_DIRECTORY', put(driver, '/d', 'new'));
    await driver.rename(at('/e/ä +%2F#?.bin'), at('/f'), { overwrite: true });
    expect(digest(await readFile(path.join(rclone.folder, 'f')))).toBe(digest(content));
    await put(driver, '/f', 'new');
    expect(await textOf(driver, '/f')).toBe('new');
    await driver.remove(at('/d'), { recursive: true });
    await driver.remove(at('/e'), { recursive: false });
    expect(await namesIn(driver, '/')).toEqual(['f']);
  });

  it('a write whose source breaks leaves the old file, though the server would keep what came', async () => {
    const driver = await opened();
    await put(driver, '/kept', 'old');
    const broken = (async function* () {
      yield pattern(2_000_000);
      throw new Error('the source broke');
    })();
    await expect(driver.write(at('/kept'), broken, { overwrite: true })).rejects.toThrow('the source broke');
    expect(await textOf(driver, '/kept')).toBe('old');
    const names = async () => (await readdir(rclone.folder)).filter((name) => name.includes('.wharf-tmp'));
    await vi.waitFor(async () => expect(await names()).toEqual([]), { timeout: 30_000, interval: 50 });
  });
});
