import { call } from '../api/call.ts';
import { recall, remember } from '../kept.ts';
import type { Unfinished } from './upload-queue.ts';

/** Of each upload at the server, when its file was changed last: the server does not say, and names and sizes alone fit more files than one. */
const KEY = 'wharf.uploads';

function readKept(): Record<string, number> {
  try {
    const kept: unknown = JSON.parse(recall(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, number>) : {};
  } catch {
    return {};
  }
}

/** Where the browser takes no more the server compares the files. */
const keep = (kept: Readonly<Record<string, number>>): void => remember(KEY, JSON.stringify(kept));

/** Remembers when the file of an upload was changed last; undefined forgets it. */
export function rememberUpload(session: string, modifiedMs: number | undefined): void {
  const { [session]: _, ...others } = readKept();
  keep(modifiedMs === undefined ? others : { ...others, [session]: modifiedMs });
  hold(session, modifiedMs !== undefined);
}

/** Uploads of others who log in here are compared where they are forgotten; those that ran out would stay for ever. */
function forgetOthers(kept: Readonly<Record<string, number>>, isThere: (session: string) => boolean): void {
  const left = Object.entries(kept).filter(([session]) => isThere(session));
  if (left.length < Object.keys(kept).length) keep(Object.fromEntries(left));
}

/** The viewer's uploads that an earlier page began and no open one goes on with. */
export async function unfinishedUploads(): Promise<readonly Unfinished[]> {
  const found = await call('/api/fs/multipart/list', { page: 1, per_page: 200 });
  const kept = readKept();
  const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name));
  const there = new Set(found.content.map(({ upload_id }) => upload_id));
  if (found.total <= found.content.length)
    forgetOthers(kept, (session) => there.has(session) || held.has(lockOf(session)) || releases.has(session));
  return (
    found.content
      // An upload by tus has no parts.
      .filter(({ upload_id, chunk_size }) => chunk_size > 0 && !held.has(lockOf(upload_id)))
      .map(({ upload_id, path, size, received_bytes }) => ({
        ...{ session: upload_id, path, sizeBytes: size, receivedBytes: received_bytes },
        modifiedMs: kept[upload_id],
      }))
  );
}

const lockOf = (session: string) => `wharf.upload.${session}`;
const releases = new Map<string, () => void>();

/** Tells other tabs which uploads are on their way here. Browsers have locks for pages of safe origins only; elsewhere tabs do not know of each other. */
function hold(session: string, isHeld: boolean): void {
  if (!isHeld) {
    releases.get(session)?.();
    releases.delete(session);
  } else if (!releases.has(session)) {
    const held = new Promise<void>((resolve) => releases.set(session, resolve));
    void navigator.locks?.request(lockOf(session), () => held);
  }
}
