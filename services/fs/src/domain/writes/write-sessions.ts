import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { baseName, childPath, type EntryName, isEntryName, isWithin, parentPath, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import type { Draft } from '../../driver-contract/draft.ts';
import { type Hashes, type HashName, supports } from '../../driver-contract/storage-driver.ts';
import { findEntry } from '../get-entry.ts';
import type { Located } from '../mount-table.ts';
import type { Mount } from '../mounts.ts';
import { claimRoom } from '../operations/claim-room.ts';
import type { Operation } from '../operations/operation.ts';
import { locate } from '../tree.ts';
import { checkTarget } from './check-target.ts';
import type { WriteSession, WriteSessionStore } from './write-session.ts';

/** A session goes after so long without use, in milliseconds. */
const IDLE_MS = 86_400_000;
/** A draft that nobody writes to is let go of, in milliseconds; the next write opens it again. */
const RELEASE_MS = 30_000;
/** A name that is taken gets a number; so many are tried. */
const MAX_NAMES = 1_000;
const MAX_NAME_BYTES = 255;
const DIGEST_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['md5', 32],
  ['sha1', 40],
  ['sha256', 64],
  ['sha512', 128],
]);
const DRIVER_HASHES: readonly HashName[] = ['md5', 'sha1', 'sha256'];

/** Digests by algorithm, in hexadecimal. */
export type Digests = Readonly<Record<string, string>>;

/** Files that other services bring into the tree, range by range. */
export interface WriteSessions {
  /** @throws AppError PERMISSION_DENIED | UNSUPPORTED_OPERATION | NOT_A_DIRECTORY | MOUNT_NOT_FOUND | UNSAFE_PATH */
  open(userId: number, path: string, signal: AbortSignal): Promise<WriteSession>;
  /** @throws AppError RECORD_NOT_FOUND, also when what it had written is gone */
  resume(id: string, signal: AbortSignal): Promise<WriteSession>;
  /** Writes a range. Several may be written at a time. @throws AppError RECORD_NOT_FOUND | FAILED_PRECONDITION (it takes no ranges) */
  writeRange(id: string, offsetBytes: number, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Writes the whole file and publishes it, for a session that takes no ranges. @throws AppError CONTENT_CORRUPT | INVALID_ARGUMENT (another size) */
  writeWhole(
    id: string,
    file: { sizeBytes: number; digests: Digests },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  sync(id: string): Promise<void>;
  /** @throws AppError CONTENT_CORRUPT (another size or digest; the session stays) */
  commit(id: string, file: { sizeBytes: number; digests: Digests }, signal: AbortSignal): Promise<WriteSession>;
  abort(id: string): Promise<void>;
  /** Takes away what nobody used for a day. */
  sweep(): Promise<void>;
  /** Lets go of every draft; they stay. */
  close(): Promise<void>;
}

export interface WriteSessionsOptions {
  readonly store: WriteSessionStore;
  /** The frame of what is done for a user, with the rights that he has now. */
  readonly operationOf: (userId: number, signal: AbortSignal) => Promise<Operation>;
  readonly clock: () => number;
  /** Of this replica's data plane; empty: any. */
  readonly dataUrl: string;
}

interface OpenDraft {
  readonly session: WriteSession;
  readonly draft: Draft;
}

export function createWriteSessions(options: WriteSessionsOptions): WriteSessions {
  const { store, clock } = options;
  /** Sessions in use, their draft open. */
  const inUse = new Map<string, { readonly opening: Promise<OpenDraft>; users: number; timer: NodeJS.Timeout | undefined }>();
  const expiry = () => new Date(clock() + IDLE_MS);

  const find = async (id: string): Promise<WriteSession> => {
    const session = await store.find(id);
    if (!session) throw gone();
    return session;
  };
  const openDraft = async (session: WriteSession, signal: AbortSignal): Promise<OpenDraft> => {
    const { located } = await locateSession(options, session, signal);
    const driver = await located.mount.driver();
    if (!supports(driver, 'openDraft')) throw gone();
    try {
      return { session, draft: await driver.openDraft(located.path, session.id, { create: false, signal }) };
    } catch (error) {
      throw AppError.is(error, 'ENTRY_NOT_FOUND') ? gone() : error;
    }
  };
  /** Lets go of a draft that is open here. */
  const release = async (id: string): Promise<void> => {
    const known = inUse.get(id);
    inUse.delete(id);
    clearTimeout(known?.timer);
    await known?.opening.then(({ draft }) => draft.close()).catch(() => undefined);
  };
  const use = async <Result>(id: string, run: (open: OpenDraft) => Promise<Result>): Promise<Result> => {
    let entry = inUse.get(id);
    if (!entry) {
      const opening = find(id).then((session) => {
        if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'this session takes no ranges');
        if (session.isPublished) throw gone();
        return openDraft(session, AbortSignal.timeout(RELEASE_MS));
      });
      entry = { opening, users: 0, timer: undefined };
      inUse.set(id, entry);
      opening.catch(() => inUse.delete(id));
    }
    const held = entry;
    clearTimeout(held.timer);
    held.users += 1;
    try {
      return await run(await held.opening);
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
    operation.changes.entryChanged(path);
    return { ...session, publishingPath: path, isPublished: true, sizeBytes };
  };
  const remove = async (session: WriteSession, signal: AbortSignal): Promise<void> => {
    await release(session.id);
    if (session.hasDraft && !session.isPublished) {
      const { draft } = await openDraft(session, signal);
      await draft.discard();
    }
  };

  return {
    async open(userId, path, signal) {
      const operation = await options.operationOf(userId, signal);
      const wanted = parseVirtualPath(path);
      const located = await requireFile(operation, wanted);
      const driver = await located.mount.driver();
      const id = randomBytes(16).toString('hex');
      const hasDraft = supports(driver, 'openDraft');
      const session: WriteSession = {
        id,
        userId,
        path: wanted,
        storageId: located.mount.storage._id,
        hasDraft,
        publishingPath: undefined,
        isPublished: false,
        sizeBytes: 0,
        dataUrl: options.dataUrl,
        expiresAt: expiry(),
      };
      // The row first: a draft without one would be found by nobody.
      await store.insert(session);
      if (hasDraft) {
        const draft = await driver.openDraft(located.path, id, { create: true, signal });
        await draft.close();
      }
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
      use(id, async ({ draft }) => {
        await draft.write(offsetBytes, content, { signal });
      }),
    async writeWhole(id, { sizeBytes, digests }, content, signal) {
      const session = await find(id);
      if (session.isPublished) throw gone();
      const { operation, located } = await locateSession(options, session, signal);
      const driver = await located.mount.driver();
      if (!supports(driver, 'write')) throw new AppError('UNSUPPORTED_OPERATION', 'upload not supported');
      await withClaim(operation, sizeBytes, async () => {
        for await (const { path, place } of freeNames(operation, session.path, located)) {
          await store.beginPublishing(id, path);
          const expectedHashes: Hashes = Object.fromEntries(
            DRIVER_HASHES.flatMap((name) => (digests[name] ? [[name, digests[name]]] : [])),
          );
          const entry = await driver.write(place.path, content, { overwrite: false, sizeBytes, expectedHashes, signal });
          return published(session, operation, path, entry.sizeBytes);
        }
        throw noName();
      });
    },
    async sync(id) {
      await use(id, ({ draft }) => draft.sync());
      await store.touch(id, expiry());
    },
    async commit(id, file, signal) {
      const session = await find(id);
      if (session.isPublished) return session;
      if (!session.hasDraft) throw new AppError('FAILED_PRECONDITION', 'the content is missing');
      const done = session.publishingPath && (await publishedAlready(options, session, signal));
      if (done) {
        await remove(session, signal).catch(() => undefined);
        return published(session, done.operation, done.path, done.sizeBytes);
      }
      await use(id, ({ draft }) => verify(draft, file, signal));
      await release(id);
      const { operation, located } = await locateSession(options, session, signal);
      const driver = await located.mount.driver();
      if (!supports(driver, 'openDraft')) throw gone();
      return withClaim(operation, file.sizeBytes, async () => {
        for await (const { path, place } of freeNames(operation, session.path, located)) {
          const draft = await driver.openDraft(place.path, id, { create: false, signal });
          await store.beginPublishing(id, path);
          try {
            const entry = await draft.publish({ overwrite: false });
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
      try {
        await remove(session, AbortSignal.timeout(RELEASE_MS));
      } catch (error) {
        if (!AppError.is(error, 'RECORD_NOT_FOUND')) throw error;
      }
      await store.remove(id);
    },
    async sweep() {
      for (const { id } of await store.findExpired(new Date(clock()))) await this.abort(id).catch(() => undefined);
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

/** Gives a file its name within the quota of its user; until then it is in nobody's tree. @throws AppError QUOTA_EXCEEDED */
async function withClaim(operation: Operation, sizeBytes: number, publish: () => Promise<WriteSession>): Promise<WriteSession> {
  const claim = await claimRoom(operation, sizeBytes);
  try {
    const session = await publish();
    await claim.settle(session.sizeBytes);
    return session;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** What must hold for a file that is brought to `path`. */
async function requireFile(operation: Operation, path: VirtualPath): Promise<Located<Mount>> {
  const { tree, actor } = operation;
  if (!isWithin(actor.basePath, path) || path === actor.basePath) throw new AppError('PERMISSION_DENIED', 'permission denied');
  const located = await checkTarget(operation, parentPath(path));
  tree.rules.requireEntry(actor, path, 'create');
  if (tree.table.isProtected(path)) throw new AppError('IS_A_DIRECTORY', 'a storage is mounted there');
  return locateBeside(operation, path, located);
}

function locateBeside({ tree }: Operation, path: VirtualPath, beside: Located<Mount>): Located<Mount> {
  return locate(tree, path, beside);
}

/** The place of a session in the storage that it was opened in, for its user as he is now. @throws AppError as open() */
async function locateSession(
  options: WriteSessionsOptions,
  session: WriteSession,
  signal: AbortSignal,
): Promise<{ operation: Operation; located: Located<Mount> }> {
  const operation = await options.operationOf(session.userId, signal);
  await requireFile(operation, session.path);
  // Storages that share a mount path take turns.
  for (let turn = 0; turn < MAX_NAMES; turn++) {
    const located = locate(operation.tree, session.path);
    if (located.mount.storage._id === session.storageId) return { operation, located };
  }
  throw new AppError('STORAGE_UNAVAILABLE', 'the storage that the file was brought to is gone');
}

/** The wanted name and those with a number, as far as they are free. */
async function* freeNames(
  operation: Operation,
  wanted: VirtualPath,
  beside: Located<Mount>,
): AsyncGenerator<{ path: VirtualPath; place: Located<Mount> }, void> {
  const name = baseName(wanted);
  if (name === undefined) return;
  const directory = parentPath(wanted);
  for (let number = 0; number < MAX_NAMES; number++) {
    const path = number === 0 ? wanted : childPath(directory, numberedName(name, number));
    const place = locateBeside(operation, path, beside);
    if (!(await findEntry(operation.tree, path, place, operation.signal))) yield { path, place };
  }
}

/** `film (1).mkv`; a name that would become too long loses characters before the number. */
function numberedName(name: EntryName, number: number): EntryName {
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const suffix = ` (${number})${extension}`;
  const characters = [...name.slice(0, name.length - extension.length)];
  while (Buffer.byteLength(characters.join('') + suffix) > MAX_NAME_BYTES && characters.length > 1) characters.pop();
  const numbered = characters.join('') + suffix;
  return isEntryName(numbered) ? numbered : name;
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
  const entry = await findEntry(operation.tree, path, locateBeside(operation, path, located), signal);
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
