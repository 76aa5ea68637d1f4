import { ALL_PERMISSIONS, PERMISSION, type PermissionName } from '@wharf/rights';
import { actor, type MemoryTree, openTree } from './memory-tree.ts';
import { createTestDriver } from './test-drivers.ts';

/** How an operation that is not permitted is refused. */
export const DENIED = ['PERMISSION_DENIED', 'permission denied'];

/** Somebody with every permission but one. */
export const without = (name: PermissionName) => actor({ permission: ALL_PERMISSIONS & ~PERMISSION[name] });

/** Two storages that do things in steps of their own (`/a`, `/b`), and one that only reads and writes (`/p`). */
export async function openStorages(options: Parameters<typeof openTree>[0] = {}): Promise<MemoryTree> {
  const plain = createTestDriver('Plain', ['rename', 'copy']);
  return openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }, { mount_path: '/p', driver: 'Plain' }],
    ...options,
    drivers: [plain.definition, ...(options.drivers ?? [])],
  });
}
