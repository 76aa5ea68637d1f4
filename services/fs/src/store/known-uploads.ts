import { LRUCache } from 'lru-cache';
import type { UploadSession } from '../domain/uploads/upload-session.ts';

/** What all uploads that are known take, in bytes: some 80,000 parts. */
const MAX_KNOWN_BYTES = 8 * 1024 * 1024;
/** What one takes beside its texts and parts, a part of it, and a letter of its path and of what its client said of it. */
const [UPLOAD_BYTES, PART_BYTES, LETTER_BYTES] = [1_500, 100, 2];
/** Uploads of which it is known when they were changed last. */
const MAX_CHANGED = 10_000;

/** Uploads as they are in the store, in a process that alone changes them, and tells of each change. */
export interface KnownUploads {
  find(id: string): Promise<UploadSession | undefined>;
  /** Whether nothing has changed it since find() answered it. */
  isCurrent(session: UploadSession): boolean;
  /** Notes what a change that is done has made of it. */
  change(id: string, next: (session: UploadSession) => UploadSession): void;
  forget(id: string): void;
  /** Runs a change after which it is looked at anew. */
  changing<Result>(id: string, run: () => Promise<Result>): Promise<Result>;
}

/** @param look at the store */
export function createKnownUploads(look: (id: string) => Promise<UploadSession | undefined>): KnownUploads {
  const known = new LRUCache<string, UploadSession>({
    maxSize: MAX_KNOWN_BYTES,
    sizeCalculation: ({ path, upload: { parts, metadata } }) =>
      UPLOAD_BYTES + PART_BYTES * parts.size + LETTER_BYTES * (path.length + metadata.length),
  });
  let turn = 0;
  /** Whatever was read before is not relied upon. */
  let floor = 0;
  const changedAt = new Map<string, number>();
  const isSince = (id: string, began: number) => began >= floor && began >= (changedAt.get(id) ?? 0);
  const noteChange = (id: string) => {
    turn += 1;
    changedAt.set(id, turn);
    if (changedAt.size <= MAX_CHANGED) return;
    changedAt.clear();
    floor = turn;
  };
  const forget = (id: string) => {
    noteChange(id);
    known.delete(id);
  };
  return {
    async find(id) {
      const before = known.get(id);
      if (before) return before;
      const began = turn;
      const session = await look(id);
      // A look that a change has overtaken is answered, and not kept.
      if (session && !session.isPublished && isSince(id, began)) known.set(id, session);
      return session;
    },
    isCurrent: (session) => known.peek(session.id) === session,
    change(id, next) {
      const before = known.peek(id);
      noteChange(id);
      if (before) known.set(id, next(before));
    },
    forget,
    async changing(id, run) {
      forget(id);
      try {
        return await run();
      } finally {
        forget(id);
      }
    },
  };
}
