import { access, mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { runCommand } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

const SIZE_BYTES = 64 * 1024 * 1024;
const WITHIN_MS = 60_000;

/** A disk of NTFS. */
export interface NtfsDisk {
  /** Where it is mounted. */
  readonly path: string;
  /** Unmounts and deletes it. */
  remove(): Promise<void>;
}

/** A disk that does not tell `A` from `a`. It lists every name in lower case. */
export function mountFoldingDisk(): Promise<NtfsDisk | Missing> {
  return mountNtfs('lowntfs-3g', ['-o', 'ignore_case']);
}

/** A disk that tells `A` from `a`, and finds folders and files by short names, too, where they have one. */
export async function mountShortNamesDisk(): Promise<(NtfsDisk & { giveShortName(path: string, name: string): Promise<void> }) | Missing> {
  const program = await ensureCommand('setfattr', 'attr');
  if (isMissing(program)) return program;
  const disk = await mountNtfs('ntfs-3g', []);
  if (isMissing(disk)) return disk;
  return {
    ...disk,
    async giveShortName(path, name) {
      const args = ['-n', 'system.ntfs_dos_name', '-v', name, path];
      const { code, stderr } = await runCommand(program.path, args, { withinMs: WITHIN_MS });
      if (code !== 0) throw new Error(`setfattr failed: ${stderr}`);
    },
  };
}

/** Mounts a new and empty NTFS in a file, in this process's own user space; needs root and `/dev/fuse`. */
async function mountNtfs(name: string, options: readonly string[]): Promise<NtfsDisk | Missing> {
  const format = await ensureCommand('mkntfs', 'ntfs-3g');
  if (isMissing(format)) return format;
  const program = await ensureCommand(name, 'ntfs-3g');
  if (isMissing(program)) return program;
  if (process.getuid?.() !== 0) return { missing: 'mounting needs root' };
  if (
    !(await access('/dev/fuse').then(
      () => true,
      () => false,
    ))
  )
    return { missing: 'there is no /dev/fuse' };
  const dir = await makeTempDir('folding');
  const [image, path] = [join(dir.path, 'image'), join(dir.path, 'disk')];
  await mkdir(path);
  await writeFile(image, '');
  await truncate(image, SIZE_BYTES);
  for (const [command, args] of [
    [format.path, ['-F', '-q', '-f', image]],
    [program.path, [image, path, ...options]],
  ] as const) {
    const { code, stderr } = await runCommand(command, args, { withinMs: WITHIN_MS });
    if (code === 0) continue;
    await dir.remove();
    return { missing: `${command} failed: ${stderr.trim()}` };
  }
  return {
    path,
    async remove() {
      const { code, stderr } = await runCommand('umount', [path], { withinMs: WITHIN_MS });
      if (code !== 0) throw new Error(`umount failed: ${stderr}`);
      await dir.remove();
    },
  };
}
