import { createHash, type Hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Hashes, HashName } from '../../driver-contract/storage-driver.ts';
import type { UploadSession } from './upload-session.ts';

/** Uploads whose hashes are under way in this process. */
const MAX_RUNNING = 1_000;

interface Running {
  /** Everything before it is in the hashes. */
  readonly atBytes: number;
  readonly hashes: ReadonlyMap<HashName, Hash>;
}

/** Hashes of whole files, as far as their bytes come through this process from the start on. */
export interface RunningHashes {
  /**
   * Passes a content on that begins at an offset.
   * @returns the content, and what takes it over once it is durable; until then nothing is kept of it
   */
  follow(
    session: UploadSession,
    offsetBytes: number,
    content: AsyncIterable<Uint8Array>,
  ): { content: AsyncIterable<Uint8Array>; keep(): void };
  /** Digests of the whole file; undefined where not all of it came in order. */
  digests(session: UploadSession): Hashes | undefined;
  forget(id: string): void;
}

export function createRunningHashes(): RunningHashes {
  const running = new LRUCache<string, Running>({ max: MAX_RUNNING });
  const namesOf = ({ upload }: UploadSession) => (['md5', 'sha1', 'sha256'] as const).filter((name) => upload.hashes[name] !== undefined);
  const at = (session: UploadSession, offsetBytes: number): Running | undefined => {
    const names = namesOf(session);
    if (names.length === 0) return undefined;
    if (offsetBytes === 0) return { atBytes: 0, hashes: new Map(names.map((name) => [name, createHash(name)])) };
    const known = running.get(session.id);
    return known?.atBytes === offsetBytes ? known : undefined;
  };
  return {
    follow(session, offsetBytes, content) {
      const before = at(session, offsetBytes);
      // What is written anew was in the hashes already: the file itself will be read.
      if ((running.get(session.id)?.atBytes ?? 0) > offsetBytes) running.delete(session.id);
      if (!before) return { content, keep: () => {} };
      const hashes = new Map([...before.hashes].map(([name, hash]) => [name, hash.copy()]));
      let passedBytes = 0;
      async function* hashed() {
        for await (const chunk of content) {
          for (const hash of hashes.values()) hash.update(chunk);
          passedBytes += chunk.byteLength;
          yield chunk;
        }
      }
      return { content: hashed(), keep: () => void running.set(session.id, { atBytes: offsetBytes + passedBytes, hashes }) };
    },
    digests(session) {
      const known = running.get(session.id);
      if (known?.atBytes !== session.sizeBytes) return undefined;
      return Object.fromEntries([...known.hashes].map(([name, hash]) => [name, hash.copy().digest('hex')]));
    },
    forget: (id) => void running.delete(id),
  };
}
