import { expect, it } from 'vitest';
import { ALL_PERMISSIONS, hasPermission, PERMISSION, ROLE } from './rights.ts';

it('bits have the values that clients know', () => {
  expect(PERMISSION).toMatchObject({
    see_hides: 1,
    write: 8,
    delete: 128,
    webdav_read: 256,
    read_archives: 4096,
    customize_share_id: 32768,
  });
  expect(ALL_PERMISSIONS).toBe(65_535);
});

it('the admin passes without a bit, everybody else needs it', () => {
  expect(hasPermission({ role: ROLE.admin, permission: 0 }, 'write')).toBe(true);
  expect(hasPermission({ role: ROLE.general, permission: ALL_PERMISSIONS & ~PERMISSION.write }, 'write')).toBe(false);
  expect(hasPermission({ role: ROLE.guest, permission: PERMISSION.write }, 'write')).toBe(true);
});
