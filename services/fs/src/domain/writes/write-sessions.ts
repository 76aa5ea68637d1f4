import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { isWithin, parentPath, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { type Draft, isDraftId } from '../../driver-contract/draft.ts';
import { type Hashes, type HashName, supports } from '../../driver-contract/storage-driver.ts';
import { holdRoom } from '../changing/operations/claim-room.ts';
import type { Operation } from '../changing/operations/operation.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { type HeldClaim, withinClaim } from '../quota/quota.ts';
import { findEntry } from '../reading/get-entry.ts';
import { locate, locateIn, type Snapshot } from '../snapshot/snapshot.ts';
import { checkTarget } from './check-target.ts';
import { freeNames } from './free-names.ts';
import type { WriteSession, WriteSessionStore } from './write-session.ts';

/** A session goes after so long without use, in milliseconds. */
const IDLE_MS = 86_400_000;
/** A draft that nobody writes to is let go of, in milliseconds; the next write opens it again. */
const RELEASE_MS = 30_000;
/** Storages that share a mount path take turns; so many are tried. */
const MAX_TURNS = 1_000;
const DIGEST_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['md5', 32],
  ['sha1', 40],
  ['sha256', 64],
  ['sha512', 128],
]);
const DRIVER_HASHES: readonly HashName[] = ['md5', 'sha1', 'sha256'];

const NEVER = new AbortController().signal;

/** Digests by algorithm, in hexadecimal. */
export type Digests = Readonly<Record<string, string>>;

/** Files that other services bring into the tree, range by range. */
export interface WriteSessions {
  /**
   * Claims the announced size, which is held until the session ends, or for as long as quotas hold after it was last used.
   * What a failure may leave is found by the id.
   * @param id nobody's yet: 32 random hexadecimal digits. @param file.sizeBytes 0: not known.
   * @throws AppError PERMISSION_DENIED | UNSUPPORTED_OPERATION | NOT_A_DIRECTORY | MOUNT_NOT_FOUND | UNSAFE_PATH | QUOTA_EXCEEDED | INVALID_ARGUMENT |
   * RECORD_EXISTS: the id is another session's
   */
  open(id: string, userId: number, file: { readonly path: string; readonly sizeBytes: number }, signal: AbortSignal): Promise<WriteSession>;
  /** @throws AppError RECORD_NOT_FOUND, also when what it had written is gone */
  resume(id: string, signal: AbortSignal): Promise<WriteSession>;
  /**
   * Writes a range. Several may be written at a time. @throws AppError RECORD_NOT_FOUND | FAILED_PRECONDITION (it takes no ranges) |
   * QUOTA_EXCEEDED (before the first byte that has no room)
   */
  writeRange(id: string, offsetBytes: number, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Writes the whole file and publishes it, for a session that takes no ranges. @throws AppError CONTENT_CORRUPT | INVALID_ARGUMENT (another size) */
  writeWhole(
    id: string,
    file: { sizeBytes: number; digests: Digests },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  /** @param keptBytes of a session that takes no ranges: what its caller keeps until the file is whole. @throws AppError QUOTA_EXCEEDED */
  sync(id: string, keptBytes: number): Promise<void>;
  /** @throws AppError CONTENT_CORRUPT (another size or digest; the session stays) */
  commit(id: string, file: { sizeBytes: number; digests: Digests }, signal: AbortSignal): Promise<WriteSession>;
  abort(id: string): Promise<void>;
  /** Makes a folder that has no file. One that is there is success, and so is a storage that knows none. @throws AppError as open() */
  makeFolder(userId: number, path: string, signal: AbortSignal): Promise<void>;
  /** Takes away what nobody used for a day. */
  sweep(): Promise<void>;
  /** Lets go of every draft; they stay. */
  close(): Promise<void>;
}

export interface WriteSessionsOptions {
  readonly store: WriteSessionStore;
  /** The frame of what is done for a user, with the rights of now. */
  readonly operationOf: (userId: number, signal: AbortSignal) => Promise<Operation>;
  readonly currentSnapshot: () => Promise<Snapshot>;
  readonly clock: () => number;
  /** Of this replica's data plane; empty: any. */
  readonly dataUrl: string;
}

interface OpenDraft {
  readonly session: WriteSession;
  readonly operation: Operation;
  readonly draft: Draft;
}

interface InUse {
  readonly opening: Promise<OpenDraft>;
  /** Undefined until there is something to write. */
  claiming: Promise<HeldClaim> | undefined;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

export function createWriteSessions(options: WriteSessionsOptions): WriteSessions {
  const { store, clock } = options;
  /** Sessions in use, their draft open. */
  const inUse = new Map<string, InUse>();
  const expiry = () => new Date(clock() + IDLE_MS);

  const find = async (id: string): Promise<WriteSession> => {
    const session = await store.find(id);
    if (!session) throw gone();
    return session;
  };
  /** Whoever took over may have ended it while its content was stored, or verified and made durable. */
  const requireSession = (id: string) => async (): Promise<void> => void (await find(id));
  const openDraft = async (session: WriteSession, signal: AbortSignal): Promise<OpenDraft> => {
    const { operation, located } = await locateSession(options, session, signal);
    const driver = await located.mount.driver();
    if (!supports(driver, 'openDraft')) throw gone();
    try {
      return { session, operation, draft: await driver.openDraft(located.path, session.id, { create: false, signal }) };
    } catch (error) {
      throw AppError.is(error, 'ENTRY_NOT_FOUND') ? gone() : error;
    }
  };
  /** Lets go of a draft that is open here. */
  const release = async (id: string): Promise<void> => {
    const known = inUse.get(id);
    inUse.delete(id);
    clearTimeout(known?.timer);
    await known?.claiming?.then((claim) => claim.letGo()).catch(() => undefined);
    await known?.opening.then(({ draft }) => draft.close()).catch(() => undefined);
  };
  const use = async <Result>(id: string, run: (open: OpenDraft, held: InUse) => Promise<Result>): Promise<Result> => {
    let entry = inUse.get(id);
    if (!entry) {
      const opening = find(id).then((session) => {
        if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'this session takes no ranges');
        if (session.isPublished) throw gone();
        return openDraft(session, AbortSignal.timeout(RELEASE_MS));
      });
      entry = { opening, claiming: undefined, users: 0, timer: undefined };
      inUse.set(id, entry);
      opening.catch(() => inUse.delete(id));
    }
    const held = entry;
    clearTimeout(held.timer);
    held.users += 1;
    try {
      return await run(await held.opening, held);
    } finally {
      held.users -= 1;
      if (held.users === 0 && inUse.get(id) === held) {
        held.timer = setTimeout(() => void release(id), RELEASE_MS);
        held.timer.unref();
      }
    }
  };
  const published = async (session: WriteSession, operation: Operation, path: VirtualPath, sizeBytes: number): Promise<WriteSession> => {
    await store.markPublished(session.id, sizeBytes);
    await operation.snapshot.quotas.end(operation.actor, session.id, sizeBytes);
    operation.changes.entryChanged(path);
    return { ...session, publishingPath: path, isPublished: true, sizeBytes };
  };
  /** Takes away what a session has written, whatever its user may do by now. */
  const removeDraft = async (session: WriteSession, signal: AbortSignal): Promise<void> => {
    await release(session.id);
    if (!session.hasDraft || session.isPublished) return;
    try {
      const { mount, path } = locateIn(await options.currentSnapshot(), session.path, session.storageId);
      const driver = await mount.driver();
      if (!supports(driver, 'openDraft')) return;
      const draft = await driver.openDraft(path, session.id, { create: false, signal });
      await draft.discard();
    } catch (error) {
      // Of a storage that is gone nothing can be taken.
      if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'MOUNT_NOT_FOUND')) throw error;
    }
  };

  return {
    async open(id, userId, { path, sizeBytes }, signal) {
      if (!isDraftId(id)) throw new AppError('INVALID_ARGUMENT', 'the id of a write session has 32 hexadecimal digits');
      const operation = await options.operationOf(userId, signal);
      const wanted = parseVirtualPath(path);
      const located = await requireFile(operation, wanted);
      const driver = await located.mount.driver();
      const hasDraft = supports(driver, 'openDraft');
      const session: WriteSession = {
        id,
        userId,
        path: wanted,
        storageId: located.mount.storage._id,
        hasDraft,
        publishingPath: undefined,
        isPublished: false,
        sizeBytes,
        dataUrl: options.dataUrl,
        expiresAt: expiry(),
      };
      signal.throwIfAborted();
      // The row first: a draft without one would be found by nobody.
      await store.insert(session);
      const claim = await holdRoom(operation, id, sizeBytes).catch(async (error) => {
        await store.remove(id);
        throw error;
      });
      try {
        if (hasDraft) {
          // Not the caller's signal: when the caller dies, whoever takes over finds the draft by its id.
          const draft = await driver.openDraft(located.path, id, { create: true, signal: AbortSignal.timeout(RELEASE_MS) });
          await draft.close();
          // Whoever took over has ended it meanwhile.
          if (!(await store.find(id))) {
            await removeDraft(session, AbortSignal.timeout(RELEASE_MS));
            throw gone();
          }
        }
      } catch (error) {
        // What a storage that hangs makes yet is found by the row, which stays then.
        if (!AppError.is(error, 'DEADLINE_EXCEEDED') && !AppError.is(error, 'CANCELLED')) await this.abort(id).catch(() => undefined);
        await claim.release();
        throw error;
      }
      claim.letGo();
      return session;
    },
    async resume(id, signal) {
      const session = await find(id);
      await store.touch(id, expiry());
      if (session.isPublished) return session;
      if (session.hasDraft) {
        try {
          await use(id, async () => undefined);
        } catch (error) {
          if (!AppError.is(error, 'RECORD_NOT_FOUND')) throw error;
          const done = await publishedAlready(options, session, signal);
          if (done) return published(session, done.operation, done.path, done.sizeBytes);
          throw error;
        }
      }
      return session;
    },
    writeRange: (id, offsetBytes, content, signal) =>
      use(id, async (open, held) => {
        const claim = await claimOf(open, held);
        const bounded = claim.bytes === Number.POSITIVE_INFINITY ? content : withinClaim(content, claim, offsetBytes);
        await open.draft.write(offsetBytes, bounded, { signal });
      }),
    async writeWhole(id, { sizeBytes, digests }, content, signal) {
      const session = await find(id);
      if (session.isPublished) throw gone();
      const { operation, located } = await locateSession(options, session, signal);
      const driver = await located.mount.driver();
      if (!supports(driver, 'write')) throw new AppError('UNSUPPORTED_OPERATION', 'upload not supported');
      await heldDuring(operation, session, sizeBytes, async () => {
        for await (const { path, place } of freeNames(operation, session.path, located)) {
          await store.beginPublishing(id, path);
          const expectedHashes: Hashes = Object.fromEntries(
            DRIVER_HASHES.flatMap((name) => (digests[name] ? [[name, digests[name]]] : [])),
          );
          const entry = await driver.write(place.path, content, {
            ...{ overwrite: false, sizeBytes, expectedHashes, signal },
            beforePublish: requireSession(id),
          });
          return published(session, operation, path, entry.sizeBytes);
        }
        throw noName();
      });
    },
    async sync(id, keptBytes) {
      const session = await find(id);
      if (session.hasDraft) await use(id, ({ draft }) => draft.sync());
      else {
        const operation = await options.operationOf(session.userId, AbortSignal.timeout(RELEASE_MS));
        await heldDuring(operation, session, Math.max(session.sizeBytes, keptBytes), async () => session);
      }
      await store.touch(id, expiry());
    },
    async commit(id, file, signal) {
      const session = await find(id);
      if (session.isPublished) return session;
      if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'the content is missing');
      const done = session.publishingPath && (await publishedAlready(options, session, signal));
      if (done) {
        await removeDraft(session, signal).catch(() => undefined);
        return published(session, done.operation, done.path, done.sizeBytes);
      }
      // Held from before it is read to be verified.
      await use(id, async (open, held) => {
        await claimOf(open, held);
        await verify(open.draft, file, signal);
      });
      await release(id);
      const { operation, located } = await locateSession(options, session, signal);
      const driver = await located.mount.driver();
      if (!supports(driver, 'openDraft')) throw gone();
      return heldDuring(operation, session, file.sizeBytes, async () => {
        for await (const { path, place } of freeNames(operation, session.path, located)) {
          const draft = await driver.openDraft(place.path, id, { create: false, signal });
          await store.beginPublishing(id, path);
          try {
            const entry = await draft.publish({ overwrite: false, beforePublish: requireSession(id) });
            return await published(session, operation, path, entry.sizeBytes);
          } catch (error) {
            await draft.close();
            // Somebody took the name in between.
            if (!AppError.is(error, 'ENTRY_EXISTS')) throw error;
          }
        }
        throw noName();
      });
    },
    async abort(id) {
      const session = await store.find(id);
      if (!session) return;
      await removeDraft(session, AbortSignal.timeout(RELEASE_MS));
      await store.remove(id);
      // Of a user who is gone the claim runs out by itself.
      await options.operationOf(session.userId, AbortSignal.timeout(RELEASE_MS)).then(
        ({ snapshot, actor }) => snapshot.quotas.end(actor, id, 0),
        () => undefined,
      );
    },
    async makeFolder(userId, path, signal) {
      const operation = await options.operationOf(userId, signal);
      const wanted = parseVirtualPath(path);
      const located = await requireEntry(operation, wanted);
      // A mount, or what leads to one.
      if (operation.snapshot.table.isProtected(wanted)) return;
      const driver = await located.mount.driver();
      if (!supports(driver, 'makeDirectory')) return;
      await driver.makeDirectory(located.path, { signal });
      operation.changes.entryChanged(wanted);
    },
    async sweep() {
      // One that cannot be taken away must not stand in the way of others.
      for (const { id } of await store.findExpired(new Date(clock()))) await this.abort(id).catch(() => store.touch(id, expiry()));
    },
    async close() {
      await Promise.all([...inUse.keys()].map(release));
    },
  };
}

function gone(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'there is no such write session');
}

function noName(): AppError {
  return new AppError('ENTRY_EXISTS', 'file exists');
}

/**
 * Does what needs the room of a session's file, which is held meanwhile and for a while afterwards; what is published ends the claim.
 * @throws AppError QUOTA_EXCEEDED
 */
async function heldDuring(
  operation: Operation,
  session: WriteSession,
  sizeBytes: number,
  run: () => Promise<WriteSession>,
): Promise<WriteSession> {
  const claim = await holdRoom(operation, session.id, sizeBytes);
  try {
    return await run();
  } finally {
    claim.letGo();
  }
}

/** The claim of a session that is in use here, over the announced size or what is there, whichever is more. @throws AppError QUOTA_EXCEEDED */
async function claimOf({ session, operation, draft }: OpenDraft, held: InUse): Promise<HeldClaim> {
  // For all who write to the session, as long as one does: no signal of one of them.
  held.claiming ??= draft.sizeBytes().then((bytes) => holdRoom(operation, session.id, Math.max(session.sizeBytes, bytes), NEVER));
  try {
    return await held.claiming;
  } catch (error) {
    held.claiming = undefined;
    throw error;
  }
}

/** What must hold for a file or a folder that is brought to `path`. */
async function requireEntry(operation: Operation, path: VirtualPath): Promise<Located<Mount>> {
  const { snapshot, actor } = operation;
  if (!isWithin(actor.basePath, path) || path === actor.basePath) throw new AppError('PERMISSION_DENIED', 'permission denied');
  const located = await checkTarget(operation, parentPath(path));
  snapshot.rules.requireEntry(actor, path, 'create');
  return locate(operation.snapshot, path, located);
}

async function requireFile(operation: Operation, path: VirtualPath): Promise<Located<Mount>> {
  const located = await requireEntry(operation, path);
  if (operation.snapshot.table.isProtected(path)) throw new AppError('IS_A_DIRECTORY', 'a storage is mounted there');
  return located;
}

/** The place of a session in the storage that it was opened in, with the rights its user has now. @throws AppError as open() */
async function locateSession(
  options: WriteSessionsOptions,
  session: WriteSession,
  signal: AbortSignal,
): Promise<{ operation: Operation; located: Located<Mount> }> {
  const operation = await options.operationOf(session.userId, signal);
  await requireFile(operation, session.path);
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const located = locate(operation.snapshot, session.path);
    if (located.mount.storage._id === session.storageId) return { operation, located };
  }
  throw new AppError('STORAGE_UNAVAILABLE', 'the storage that the file was brought to is gone');
}

/** A session that was ended between its file's getting its name and the note of it. */
async function publishedAlready(
  options: WriteSessionsOptions,
  session: WriteSession,
  signal: AbortSignal,
): Promise<{ operation: Operation; path: VirtualPath; sizeBytes: number } | undefined> {
  const path = session.publishingPath;
  if (!path) return undefined;
  const { operation, located } = await locateSession(options, session, signal);
  const driver = await located.mount.driver();
  if (supports(driver, 'openDraft') && session.hasDraft) {
    try {
      const draft = await driver.openDraft(located.path, session.id, { create: false, signal });
      await draft.close();
      return undefined;
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    }
  }
  const entry = await findEntry(operation.snapshot, path, locate(operation.snapshot, path, located), signal);
  return entry && !entry.isDirectory ? { operation, path, sizeBytes: entry.sizeBytes } : undefined;
}

/** @throws AppError CONTENT_CORRUPT */
async function verify(draft: Draft, file: { sizeBytes: number; digests: Digests }, signal: AbortSignal): Promise<void> {
  if ((await draft.sizeBytes()) !== file.sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the file does not have the announced size');
  const wanted = Object.entries(file.digests).map(([algorithm, digest]) => {
    if (digest.length !== DIGEST_LENGTHS.get(algorithm)) throw new AppError('INVALID_ARGUMENT', `${algorithm} is no digest that is known`);
    return { algorithm, digest: digest.toLowerCase(), hash: createHash(algorithm) };
  });
  if (wanted.length === 0) return;
  for await (const chunk of draft.read({ signal })) for (const { hash } of wanted) hash.update(chunk);
  for (const { algorithm, digest, hash } of wanted)
    if (hash.digest('hex') !== digest) throw new AppError('CONTENT_CORRUPT', `the file does not have the announced ${algorithm} digest`);
}
