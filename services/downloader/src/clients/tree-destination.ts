import { AppError } from '@wharf/errors';
import { childPath, type VirtualPath } from '@wharf/paths';
import type { WriteSession } from '@wharf/proto/fs-write';
import type { Peers, ServiceKit } from '@wharf/service-kit';
import type { Destination, Draft } from '../fetch/fetch-file.ts';
import { newScratchId, type Scratch, type ScratchFile } from '../fetch/scratch.ts';
import type { ByteWriter } from './byte-writer.ts';

/** Where files of one task go. */
export interface TreeDestinationOptions {
  readonly kit: { readonly peers: Pick<Peers, 'fsWrites'>; ownCall: ServiceKit['ownCall'] };
  readonly bytes: ByteWriter;
  /** For storages that take only whole files. */
  readonly scratch: Scratch;
  readonly userId: number;
  readonly directory: VirtualPath;
  readonly signal: AbortSignal;
  /** What waits in the scratch folder goes to its storage. */
  readonly onStoring: () => void;
  /** Whether a scratch file stays after its upload succeeded, or failed. Where the answer to a success was lost it goes. */
  readonly keepsScratch: boolean;
}

/** Room in the tree for the scratch file is claimed in steps of this size, and renewed this often. */
const HOLD_STEP_BYTES = 4 * 1024 * 1024;
const HOLD_EVERY_MS = 120_000;
/** Drafts have the ids of scratch files, whether they need one or not; the digits before the dash are the session's. */
const sessionIdOf = (draftId: string) => draftId.split('-', 1)[0] ?? '';

/** Files in a folder of the tree: in ranges where its storage takes them, else by way of the scratch folder. */
export function createTreeDestination(options: TreeDestinationOptions): Destination {
  const { kit, scratch, directory, userId } = options;
  const { fsWrites } = kit.peers;
  const find = async (id: string): Promise<WriteSession | undefined> => {
    try {
      return required((await fsWrites.resumeWrite({ id }, kit.ownCall())).session);
    } catch (error) {
      if (AppError.is(error, 'RECORD_NOT_FOUND')) return undefined;
      throw error;
    }
  };
  return {
    async begin({ name, sizeBytes, hasDigests }, note) {
      const draftId = newScratchId(sizeBytes, userId);
      await note(draftId);
      const file = { user_id: userId, path: childPath(directory, name), size: sizeBytes ?? 0, with_digests: hasDigests };
      const session = required((await fsWrites.openWrite({ id: sessionIdOf(draftId), ...file }, kit.ownCall())).session);
      if (session.takes_ranges) return rangedDraft(options, draftId, session);
      try {
        return scratchDraft(options, session, await scratch.begin(draftId));
      } catch (error) {
        await fsWrites.abortWrite({ id: session.id }, kit.ownCall());
        throw error;
      }
    },
    async resume(draftId) {
      const session = await find(sessionIdOf(draftId));
      const file = await scratch.resume(draftId);
      if (session && session.published_path !== '') {
        await file?.remove();
        return { ...rangedDraft(options, draftId, session), published: { sizeBytes: session.size } };
      }
      if (session?.takes_ranges) return rangedDraft(options, draftId, session);
      if (session && file) return scratchDraft(options, session, file);
      await file?.remove();
      // This also ends a session whose draft is gone or was never made.
      await fsWrites.abortWrite({ id: sessionIdOf(draftId) }, kit.ownCall());
      return undefined;
    },
    async drop(draftId) {
      await (await scratch.resume(draftId))?.remove();
      await fsWrites.abortWrite({ id: sessionIdOf(draftId) }, kit.ownCall());
    },
  };
}

function rangedDraft({ kit, bytes, signal }: TreeDestinationOptions, id: string, session: WriteSession): Draft {
  const { fsWrites } = kit.peers;
  const target = { id: session.id, dataUrl: session.data_url };
  return {
    id,
    sink: {
      partBytes: Math.max(1, session.part_bytes),
      write: (offsetBytes, content, stop) => bytes.writeRange(target, offsetBytes, content, stop),
      async sync() {
        await fsWrites.syncWrite({ id: session.id, size: 0 }, kit.ownCall());
      },
    },
    async commit({ sizeBytes, digests }) {
      await fsWrites.commitWrite({ id: session.id, size: sizeBytes, digests: { ...digests } }, { ...kit.ownCall(), signal });
    },
    async abort() {
      await fsWrites.abortWrite({ id: session.id }, kit.ownCall());
    },
    async release() {},
  };
}

function scratchDraft(options: TreeDestinationOptions, session: WriteSession, file: ScratchFile): Draft {
  const { kit, bytes, signal } = options;
  const { fsWrites } = kit.peers;
  let heldBytes = session.size;
  let heldAt = performance.now();
  /** Claims room in the tree for what comes into the scratch folder, step by step, and keeps it claimed. */
  const withRoom = async function* (content: AsyncIterable<Uint8Array>, offsetBytes: number) {
    let end = offsetBytes;
    for await (const chunk of content) {
      end += chunk.byteLength;
      if (end > heldBytes || performance.now() - heldAt > HOLD_EVERY_MS) {
        heldBytes = Math.max(heldBytes, end + HOLD_STEP_BYTES);
        heldAt = performance.now();
        await fsWrites.syncWrite({ id: session.id, size: end }, kit.ownCall());
      }
      yield chunk;
    }
  };
  return {
    id: file.id,
    sink: {
      partBytes: 1,
      write: (offsetBytes, content, stop) => file.sink.write(offsetBytes, withRoom(content, offsetBytes), stop),
      sync: () => file.sink.sync(),
    },
    async commit(expected) {
      await file.verify(expected);
      options.onStoring();
      await bytes.writeWhole({ id: session.id, dataUrl: session.data_url }, expected, file.read(), signal);
      await fsWrites.commitWrite({ id: session.id, size: expected.sizeBytes, digests: {} }, kit.ownCall());
      if (options.keepsScratch) await file.keep();
      else await file.remove();
    },
    async abort() {
      await file.remove();
      await fsWrites.abortWrite({ id: session.id }, kit.ownCall());
    },
    release: () => file.close(),
  };
}

function required(session: WriteSession | null | undefined): WriteSession {
  if (!session) throw new AppError('INTERNAL', 'internal error', { cause: new Error('fs answered no session') });
  return session;
}
