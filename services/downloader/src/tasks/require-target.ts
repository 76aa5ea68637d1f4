import { AppError } from '@wharf/errors';
import type { Peers, ServiceKit } from '@wharf/service-kit';
import type { DownloadTaskOptions } from './download-tasks.ts';

/**
 * Asks fs whether somebody may still have files brought to a folder. Only that right is asked for: a storage that is away is met by the transfer, which
 * waits for it, and an fs of an earlier version does not know the question.
 */
export function createRequireTarget(kit: {
  readonly peers: Pick<Peers, 'fsWrites'>;
  readonly ownCall: ServiceKit['ownCall'];
}): DownloadTaskOptions['requireTarget'] {
  return async ({ input, creator, signal }) => {
    if (!creator) throw new AppError('PERMISSION_DENIED', 'permission denied');
    const asked = { user_id: creator.id, path: input.directory };
    await kit.peers.fsWrites.requireTarget(asked, { ...kit.ownCall(), signal }).catch((error: unknown) => {
      if (AppError.is(error, 'PERMISSION_DENIED')) throw error;
    });
  };
}
