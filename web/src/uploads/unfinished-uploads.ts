import { call } from '../api/call.ts';
import type { Unfinished } from './upload-queue.ts';

/** The viewer's uploads that an earlier page began and no open one goes on with. */
export async function unfinishedUploads(): Promise<readonly Unfinished[]> {
  const found = await call('/api/fs/multipart/list', { page: 1, per_page: 200 });
  const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name));
  return (
    found.content
      // An upload by tus has no parts.
      .filter(({ upload_id, chunk_size }) => chunk_size > 0 && !held.has(lockOf(upload_id)))
      .map(({ upload_id, path, size, received_bytes, modified }) => ({
        ...{ session: upload_id, path, sizeBytes: size, receivedBytes: received_bytes },
        modifiedMs: modified === '' ? undefined : Date.parse(modified),
      }))
  );
}

const lockOf = (session: string) => `wharf.upload.${session}`;
const releases = new Map<string, () => void>();

/** Tells other tabs which uploads are on their way here. Browsers have locks for pages of safe origins only; elsewhere tabs do not know of each other. */
export function holdUpload(session: string, isHeld: boolean): void {
  if (!isHeld) {
    releases.get(session)?.();
    releases.delete(session);
  } else if (!releases.has(session)) {
    const held = new Promise<void>((resolve) => releases.set(session, resolve));
    void navigator.locks?.request(lockOf(session), () => held);
  }
}
