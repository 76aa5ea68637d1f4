import type { MessageKey } from '../i18n/i18n.ts';

interface RightGroup {
  readonly label: MessageKey;
  readonly rights: readonly { readonly bit: number; readonly label: MessageKey }[];
}

/** The bits of `permission` in words, as docs/permissions.md has them. */
export const RIGHT_GROUPS: readonly RightGroup[] = [
  {
    label: 'rightsChange',
    rights: [
      { bit: 3, label: 'rightWrite' },
      { bit: 4, label: 'rightRename' },
      { bit: 5, label: 'rightMove' },
      { bit: 6, label: 'rightCopy' },
      { bit: 7, label: 'rightRemove' },
      { bit: 2, label: 'rightOffline' },
    ],
  },
  {
    label: 'rightsSee',
    rights: [
      { bit: 0, label: 'rightHidden' },
      { bit: 1, label: 'rightNoPassword' },
      { bit: 12, label: 'rightArchives' },
      { bit: 13, label: 'rightUnpack' },
      { bit: 14, label: 'rightShare' },
      { bit: 15, label: 'rightShareId' },
    ],
  },
  {
    label: 'rightsPrograms',
    rights: [
      { bit: 8, label: 'rightDavRead' },
      { bit: 9, label: 'rightDavWrite' },
      { bit: 10, label: 'rightFtpRead' },
      { bit: 11, label: 'rightFtpWrite' },
    ],
  },
];

const ALL = 0xffff;
const bits = (...list: readonly number[]) => list.reduce((sum, bit) => sum | (1 << bit), 0);

/** What people are mostly given, the least first. */
export const ROLES: readonly { readonly permission: number; readonly label: MessageKey }[] = [
  { permission: 0, label: 'roleLook' },
  { permission: bits(3), label: 'roleAdd' },
  { permission: bits(3, 4, 5, 6, 7), label: 'roleChange' },
  { permission: ALL, label: 'roleAll' },
];

export const has = (permission: number, bit: number): boolean => (permission & (1 << bit)) !== 0;

/** What somebody may do, in a word where there is one. */
export function roleOf(permission: number): MessageKey {
  return ROLES.find((role) => role.permission === permission)?.label ?? 'roleOwn';
}
