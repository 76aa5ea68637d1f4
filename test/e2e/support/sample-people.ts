import type { Api } from '@wharf/harness';
import { ALL_WRITES, PERMISSION } from './people.ts';

/** People, a rule and a password of an app as somebody may have them, beside the sample tree. */
export async function writeSamplePeople(admin: Api): Promise<void> {
  const add = (username: string, permission: number, quota_bytes = 0, base_path = '/') =>
    admin.call('/api/admin/user/create', { username, password: 'a-good-password', base_path, role: 0, permission, quota_bytes });
  await add('Mira', ALL_WRITES);
  await add('Jonas', PERMISSION.write, 50_000_000_000, '/local/Summer');
  await add('Printer', 0, 0, '/local/Projects');
  await admin.call('/api/admin/meta/create', { path: '/local/Projects', read_users: [3], read_users_sub: true, password: '' });
  await admin.call('/api/me/app_password/create', { name: 'Backup of the laptop', protocols: ['webdav', 'sftp'] });
  await admin.call('/api/me/app_password/create', { name: 'Photo frame', protocols: ['webdav'], read_only: true, path: '/local/Summer' });
  await admin.call('/api/admin/setting/save', [
    { key: 'search_index', value: 'database' },
    { key: 'hide_storage_details_in_manage_page', value: 'false' },
  ]);
  await admin.call('/api/admin/index/build', {});
}
