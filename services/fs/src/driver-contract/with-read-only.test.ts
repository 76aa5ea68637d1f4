import { MOUNT_ROOT, parseVirtualPath, relativeTo, VIRTUAL_ROOT } from '@wharf/paths';
import { expect, it } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { supports } from './storage-driver.ts';
import { withReadOnly } from './with-read-only.ts';

it('what changes a storage is absent, what looks at it works', async () => {
  const driver = await memoryDriver.open('');
  await driver.makeDirectory?.(relativeTo(VIRTUAL_ROOT, parseVirtualPath('/folder')));
  const readOnly = withReadOnly(driver);
  for (const operation of ['write', 'makeDirectory', 'remove', 'rename', 'copy', 'link', 'space'] as const) {
    expect(supports(readOnly, operation)).toBe(false);
  }
  expect(await Array.fromAsync(readOnly.list(MOUNT_ROOT))).toHaveLength(1);
  expect((await readOnly.listNames?.(MOUNT_ROOT, undefined))?.names).toEqual(['folder']);
});
