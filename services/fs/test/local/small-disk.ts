import { mkdir } from 'node:fs/promises';
import { isAvailable, runCommand } from '@wharf/harness';
import { expect, onTestFinished } from 'vitest';

/** Whether tests may have file systems of their own here. */
export const mounts = isAvailable('mount', await findMount());

async function findMount(): Promise<object> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return { missing: 'only root can mount a small disk' };
  const { code, stderr } = await runCommand('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return code === 0 ? {} : { missing: stderr.trim() };
}

/** A file system of its own, so small that it fills up. Unmounted after the test. @param entries that it holds at most */
export async function mountSmallDisk(place: string, sizeMb: number, entries?: number): Promise<void> {
  await mkdir(place, { recursive: true });
  const size = `size=${sizeMb}m${entries === undefined ? '' : `,nr_inodes=${entries}`}`;
  const { code, stderr } = await runCommand('mount', ['-t', 'tmpfs', '-o', size, 'none', place]);
  expect(code, stderr).toBe(0);
  onTestFinished(async () => {
    await runCommand('umount', ['--lazy', place]);
  });
}
