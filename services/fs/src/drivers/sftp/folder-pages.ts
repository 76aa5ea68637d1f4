import { boundNames } from '../../driver-contract/bound-names.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { RemoteName, SftpSession } from './client.ts';

/** The names of a folder as the server sends them, anything may be in them. @throws RefusedRequest; AppError UNSUPPORTED_OPERATION: there are too many */
export async function* folderPages(session: SftpSession, place: string, signal?: AbortSignal): AsyncGenerator<RemoteName[], void> {
  const count = boundNames();
  const handle = await session.openFolder(place);
  try {
    for (;;) {
      if (signal) throwIfAborted(signal);
      const page = await session.readFolder(handle);
      if (page === undefined) return;
      count(page.length);
      yield page;
    }
  } finally {
    await session.close(handle);
  }
}
