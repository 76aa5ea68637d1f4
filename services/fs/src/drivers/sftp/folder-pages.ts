import { AppError } from '@wharf/errors';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { RemoteName, SftpSession } from './client.ts';

/** More names than any folder in use has: a server that never ends its listing is not followed. */
const MAX_NAMES = 300_000;
/** An answer without a name counts as much: there is no good reason for it. */
const EMPTY_ANSWER = 10_000;

/** Counts the names of one folder. @returns to be called with each page; it throws AppError UNSUPPORTED_OPERATION: there are too many */
export function boundNames(): (page: readonly RemoteName[] | undefined) => void {
  let count = 0;
  return (page) => {
    count += page?.length || EMPTY_ANSWER;
    if (count > MAX_NAMES) throw new AppError('UNSUPPORTED_OPERATION', `the folder has more than ${MAX_NAMES} entries`);
  };
}

/** The names of a folder as the server sends them, anything may be in them. @throws RefusedRequest; AppError UNSUPPORTED_OPERATION: there are too many */
export async function* folderPages(session: SftpSession, place: string, signal?: AbortSignal): AsyncGenerator<RemoteName[], void> {
  const count = boundNames();
  const handle = await session.openFolder(place);
  try {
    for (;;) {
      if (signal) throwIfAborted(signal);
      const page = await session.readFolder(handle);
      if (page === undefined) return;
      count(page);
      yield page;
    }
  } finally {
    await session.close(handle);
  }
}
