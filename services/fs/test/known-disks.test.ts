import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, runCommand } from '@wharf/harness';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { rememberDisks } from '../src/domain/mounts/known-disks.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { diskNotesIn } from '../src/store/disk-notes.ts';
import { codeOf } from './local/open-local.ts';
import { mountSmallDisk, mounts } from './local/small-disk.ts';

let data: string;
let root: string;

beforeEach(async () => {
  const dir = await makeTempDir('disks');
  onTestFinished(() => dir.remove());
  [data, root] = [join(dir.path, 'data'), join(dir.path, 'disk/photos')];
  for (const folder of [data, root]) await mkdir(folder, { recursive: true });
});

/** As a process that starts. */
async function open(): Promise<void> {
  const driver = await rememberDisks(localDriver, diskNotesIn(data)).open(JSON.stringify({ root_folder_path: root }));
  await driver.close();
}

it.skipIf(!mounts)(
  'a storage whose disk was there at an earlier start is not opened while it is away, until somebody says so',
  async () => {
    await mountSmallDisk(join(root, '..'), 2);
    await mkdir(root);
    await open();
    await runCommand('umount', [join(root, '..')]);
    const refusal = open();
    await expect(refusal).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: expect.stringContaining('is not there. Mount it'),
    });
    expect(await readdir(root)).toEqual([]);
    await mountSmallDisk(join(root, '..'), 2);
    await mkdir(root);
    await open();
    await runCommand('umount', [join(root, '..')]);
    await rm(join(data, 'disks.json'));
    await open();
  },
);

it.skipIf(!mounts)('a disk that is mounted nearer to the root by now is there', async () => {
  const above = join(root, '..');
  await mountSmallDisk(above, 2);
  await mkdir(root);
  await open();
  await runCommand('umount', [above]);
  expect(await codeOf(open())).toBe('FAILED_PRECONDITION');
  await mountSmallDisk(root, 2);
  await open();
  expect(JSON.parse(await readFile(join(data, 'disks.json'), 'utf8'))).toEqual({ [root]: root });
});

it.skipIf(!mounts)('folders of many storages that are opened at once are noted, each', async () => {
  await mountSmallDisk(root, 2);
  const roots = Array.from({ length: 20 }, (_, index) => join(root, `${index}`));
  for (const each of roots) await mkdir(each);
  const driver = rememberDisks(localDriver, diskNotesIn(data));
  await Promise.all(roots.map(async (each) => (await driver.open(JSON.stringify({ root_folder_path: each }))).close()));
  expect(Object.keys(JSON.parse(await readFile(join(data, 'disks.json'), 'utf8'))).sort()).toEqual(roots.sort());
});

it('a root on the disk of the machine is noted nowhere, and damaged notes tell nothing', async () => {
  await open();
  expect(await readdir(data)).toEqual([]);
  for (const text of ['', '{', '[]', '{"a":1}', 'null']) {
    await writeFile(join(data, 'disks.json'), text);
    expect(await codeOf(open())).toBe('done');
  }
});
