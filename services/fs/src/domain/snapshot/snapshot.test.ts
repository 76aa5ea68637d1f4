import { expect, it } from 'vitest';
import { actor, openTree, vpath } from '../testing/memory-tree.ts';
import { refusal } from '../testing/refusal.ts';
import { locate, resolvePath } from './snapshot.ts';

it.each([
  ['/', '/x', '/x'],
  ['/', '', '/'],
  ['/home/me', '/', '/home/me'],
  ['/home/me', 'a//b/.', '/home/me/a/b'],
  ['/home/me', '\\a', '/home/me/a'],
])('for somebody at %s the path %j is %s', (basePath, raw, path) => {
  expect(resolvePath(actor({ basePath: vpath(basePath) }), raw)).toBe(path);
});

it.each(['..', '/../x', 'a/../../b', '\\..\\x', 'a/..'])('%j leaves the root and is refused', (raw) => {
  expect(refusal(() => resolvePath(actor({ basePath: vpath('/home') }), raw))).toEqual([
    'UNSAFE_PATH',
    'using relative path is not allowed',
  ]);
});

it.each(['/@s', '@s/abc/x', '//@s/'])('%j is a share, and there are none', (raw) => {
  expect(refusal(() => resolvePath(actor(), raw))).toEqual(['RECORD_NOT_FOUND', 'the share does not exist']);
});

it('only a path of that very name is a share', () => {
  expect(resolvePath(actor(), '/@sx')).toBe('/@sx');
});

it('a path without a storage is refused with the family’s texts', async () => {
  const empty = await openTree({ storages: [] });
  const some = await openTree({ storages: [{ mount_path: '/a' }] });
  const text = 'failed get storage: storage not found; ';
  expect(refusal(() => locate(empty.snapshot, vpath('/')))).toEqual(['MOUNT_NOT_FOUND', `${text}please add a storage first`]);
  expect(refusal(() => locate(empty.snapshot, vpath('/x')))).toEqual(['MOUNT_NOT_FOUND', `${text}rawPath: /x`]);
  expect(refusal(() => locate(some.snapshot, vpath('/')))).toEqual(['MOUNT_NOT_FOUND', `${text}rawPath: /`]);
});
