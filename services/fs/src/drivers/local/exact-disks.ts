import fs from 'node:fs';

/**
 * File systems of Linux, as `statfs` tells their types (linux/magic.h), in which an entry has the one name that its folder lists, and none has folders that it does
 * not list: ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, tmpfs, ramfs. Others may have short names (NTFS) or snapshots (ZFS, NFS, Ceph), overlayfs those of what is below it.
 */
const EXACT_TYPES: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x01021994, 0x858458f6]);

/** Whether a folder lies in one. Blocks. */
export function isOnExactDisk(folder: string): boolean {
  return process.platform === 'linux' && EXACT_TYPES.has(fs.statfsSync(folder).type);
}
