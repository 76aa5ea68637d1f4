import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, makeTempDir, runCommand } from '@wharf/harness';
import { expect, onTestFinished } from 'vitest';

/** Whether a small disk can be made here. */
export const mounts = isAvailable('mount', await findMount());

async function findMount(): Promise<object> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return { missing: 'only root can mount a small disk' };
  const { code, stderr } = await runCommand('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return code === 0 ? {} : { missing: stderr.trim() };
}

/** A folder of ours, and one that is filled, on a disk of 40 MiB, of which 2 are the reserve; it goes with the test. @param entries that it holds at most */
export async function makeDisk(entries = 10_000) {
  const dir = await makeTempDir('disk-reserve');
  onTestFinished(() => dir.remove());
  const { code, stderr } = await runCommand('mount', ['-t', 'tmpfs', '-o', `size=40m,nr_inodes=${entries}`, 'none', dir.path]);
  expect(code, stderr).toBe(0);
  onTestFinished(async () => void (await runCommand('umount', ['--lazy', dir.path])));
  const [own, filled] = ['own', 'filled'].map((name) => join(dir.path, name)) as [string, string];
  for (const folder of [own, filled]) await mkdir(folder);
  return { own, filled };
}
