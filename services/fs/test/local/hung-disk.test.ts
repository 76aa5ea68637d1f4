import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isAvailable, isMissing, makeTempDir, mountFoldingDisk, runCommand } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeTogether } from '../../src/domain/changing/small-files.ts';
import { at } from '../../src/driver-contract/conformance/driver-calls.ts';
import { DiskPool } from '../../src/drivers/local/disk-pool.ts';
import { type LocalStorage, openLocal } from './open-local.ts';

const served = await mountFoldingDisk();
if (isAvailable('folding-disk', served)) await served.remove();

describe.runIf(isAvailable('folding-disk', served))('a disk that hangs', () => {
  /** A disk that hangs in the kernel from the call of `hang` on until it goes on, at the latest at the end of the test. */
  async function mounted() {
    const disk = await mountFoldingDisk();
    if (isMissing(disk)) throw new Error(disk.missing);
    onTestFinished(() => disk.remove());
    const { stdout } = await runCommand('pgrep', ['-f', `lowntfs-3g ${path.dirname(disk.path)}/`]);
    const [server] = stdout.trim().split('\n').map(Number);
    if (!server) throw new Error('nobody serves the disk');
    const goOn = () => void process.kill(server, 'SIGCONT');
    const hang = () => {
      onTestFinished(goOn);
      process.kill(server, 'SIGSTOP');
    };
    return { root: disk.path, hang, goOn };
  }

  it('a copy whose caller has left is not waited for without end', async () => {
    const { root, hang } = await mounted();
    await writeFile(path.join(root, 'file'), 'text');
    const pool = new DiskPool(
      { rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined },
      50,
    );
    onTestFinished(() => pool.close());
    await pool.start(undefined);
    hang();
    const gone = new AbortController();
    const copied = pool.call('copy', [at('/file'), at('/copy'), false], gone.signal);
    // It goes to its thread at the end of this turn.
    await setImmediate();
    await setImmediate();
    gone.abort();
    await expect(copied).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('small files that are stored elsewhere in the same moment wait for nothing', async () => {
    const { root, hang, goOn } = await mounted();
    const dir = await makeTempDir('well');
    onTestFinished(() => dir.remove());
    const [hung, well] = [await openLocal(root), await openLocal(dir.path)];
    hang();
    const how = { content: Buffer.from('text'), overwrite: false, mayPublishUntil: async () => Number.MAX_VALUE };
    const storeIn = (driver: LocalStorage) =>
      Array.from({ length: 40 }, (_, index) => writeTogether(driver, { file: at(`/file ${index}`), ...how }, {}));
    let areStored = false;
    const late = Promise.all(storeIn(hung)).then((entries) => {
      areStored = true;
      return entries;
    });
    expect(await Promise.all(storeIn(well))).toHaveLength(40);
    expect(areStored).toBe(false);
    goOn();
    expect(await late).toHaveLength(40);
  });
});
