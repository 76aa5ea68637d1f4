import { AppError } from '@wharf/errors';
import { MOUNT_ROOT, type MountPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { at, codeOf } from './conformance/driver-calls.ts';
import { decorate } from './decorate.ts';
import { type StorageDriver, supports } from './storage-driver.ts';
import { NoStorage, rootIsGone, saidOfPart, storageError } from './storage-error.ts';
import type { OfOthers, StorageLimits } from './with-limits.ts';

const LIMITS = { names: 4, reads: 4, writes: 4 };
const unused = () => Promise.reject(new Error('nobody asks for this'));

/** A driver that has nothing, around which is all there is in the service. @param root what a look at its root ends with @param listed the same of its listing */
function empty(
  root: AppError | undefined,
  limits: StorageLimits | OfOthers = LIMITS,
  listed = root,
  missing = storageError('ENTRY_NOT_FOUND'),
) {
  const looks: MountPath[] = [];
  const driver = {
    traits: { caseSensitive: true, keepsEmptyDirectories: true, hashes: [] },
    ...{ read: unused, close: unused },
    // biome-ignore lint/correctness/useYield: there is nothing to yield
    async *list() {
      if (listed) throw listed;
    },
    stat: async (path: MountPath) => {
      looks.push(path);
      if (root || path !== MOUNT_ROOT) throw root ?? missing;
      return { name: '', isDirectory: true, sizeBytes: 0, modifiedAt: new Date(0) };
    },
    remove: async (path: MountPath) => {
      if (path !== '/there') throw missing;
    },
    beginRemoval: async (paths: readonly MountPath[]) => paths.map((path) => (path === '/there' ? undefined : missing)),
  } as unknown as StorageDriver;
  return { driver: decorate(driver, limits), looks };
}

it.each([
  ['there', undefined, 'ENTRY_NOT_FOUND'],
  ['away', storageError('ENTRY_NOT_FOUND'), 'STORAGE_UNAVAILABLE'],
  ['not known', rootIsGone(), 'STORAGE_UNAVAILABLE'],
  ['closed to looks', storageError('PERMISSION_DENIED'), 'ENTRY_NOT_FOUND'],
] as const)('what is not there and was to be removed, while the root is %s', async (_, root, code) => {
  const { driver, looks } = empty(root);
  if (!supports(driver, 'remove') || !supports(driver, 'beginRemoval')) throw new Error('it cannot remove');
  await driver.remove(at('/there'), { recursive: true });
  expect(await driver.beginRemoval([at('/there')])).toEqual([undefined]);
  expect(looks).toEqual([]);
  expect(await codeOf(driver.remove(at('/gone'), { recursive: true }))).toBe(code);
  const answers = await driver.beginRemoval([at('/there'), at('/gone')]);
  expect(answers.map((answer) => (AppError.is(answer) ? answer.code : answer))).toEqual([undefined, code]);
  expect(new Set(looks)).toEqual(new Set([MOUNT_ROOT]));
});

it.each([
  ['there', undefined, undefined, 'ENTRY_NOT_FOUND'],
  ['missing', storageError('ENTRY_NOT_FOUND'), undefined, 'ENTRY_NOT_FOUND'],
  ['away below', rootIsGone(), undefined, 'STORAGE_UNAVAILABLE'],
  ['at a gateway that has no storage there', storageError('ENTRY_NOT_FOUND', new NoStorage()), undefined, 'STORAGE_UNAVAILABLE'],
  ['shown, and nothing of it can be listed', undefined, storageError('ENTRY_NOT_FOUND'), 'STORAGE_UNAVAILABLE'],
] as const)('the same of a storage that stands on others, while its root is %s', async (_, root, listed, code) => {
  const { driver } = empty(root, 'of others', listed, saidOfPart(storageError('ENTRY_NOT_FOUND')));
  if (!supports(driver, 'remove') || !supports(driver, 'beginRemoval')) throw new Error('it cannot remove');
  expect(await codeOf(driver.remove(at('/gone'), { recursive: true }))).toBe(code);
  expect(await driver.beginRemoval([at('/gone')])).toMatchObject([{ code }]);
});

it('a storage that stands on others is not listed where no gateway has said what is missing', async () => {
  const { driver } = empty(undefined, 'of others', storageError('STORAGE_UNAVAILABLE'));
  if (!supports(driver, 'remove') || !supports(driver, 'beginRemoval')) throw new Error('it cannot remove');
  expect(await codeOf(driver.remove(at('/gone'), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
  expect(await driver.beginRemoval([at('/gone')])).toMatchObject([{ code: 'ENTRY_NOT_FOUND' }]);
});
