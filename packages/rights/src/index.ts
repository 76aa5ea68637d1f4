export {
  ALL_PERMISSIONS,
  hasPermission,
  isAdmin,
  PERMISSION,
  PERMISSION_MEANINGS,
  type PermissionName,
  type Rights,
  ROLE,
} from './rights.ts';
export { usernameKeyOf } from './username-key.ts';
