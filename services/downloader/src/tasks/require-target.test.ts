import { AppError, type ErrorCode } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { expect, it } from 'vitest';
import { downloadInput } from '../domain/download-input.ts';
import { createRequireTarget } from './require-target.ts';

const input = downloadInput.parse({
  ...{ url: 'sealed', tool: 'aria2', directory: '/in', mountPath: '/', innerPath: '/in', deletePolicy: 'delete_never' },
});
const bob = { id: 5, name: 'bob', role: ROLE.general };

/** @param code what fs answers; undefined: the right is there */
function ask(creator: typeof bob | undefined, code: ErrorCode | undefined): Promise<void> {
  const fsWrites = {
    async requireTarget(asked: unknown) {
      expect(asked).toEqual({ user_id: 5, path: '/in' });
      if (code) throw new AppError(code, 'as fs says');
      return {};
    },
  };
  const kit = { peers: { fsWrites }, ownCall: () => ({}) } as unknown as Parameters<typeof createRequireTarget>[0];
  return createRequireTarget(kit)({ input, creator, signal: new AbortController().signal });
}

it.each<ErrorCode | undefined>([undefined, 'UNSUPPORTED_OPERATION', 'STORAGE_UNAVAILABLE', 'DEADLINE_EXCEEDED', 'MOUNT_NOT_FOUND'])(
  'a download begins where fs answers %s: one that is away, or of an earlier version, ends none',
  async (code) => {
    await expect(ask(bob, code)).resolves.toBeUndefined();
  },
);

it('a download whose user may bring nothing to the folder any more, or that has none, does not begin', async () => {
  await expect(ask(bob, 'PERMISSION_DENIED')).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: 'as fs says' });
  await expect(ask(undefined, undefined)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});
