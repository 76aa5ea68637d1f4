import { AppError } from '@wharf/errors';
import { createGate, createPace, ownText } from '@wharf/pace';
import { type EntryName, isEntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath } from '@wharf/paths';
import { beginEach, giveDoomedName, removeDoomed, type ServerFolder } from '../../driver-contract/begin-each.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type Asked, type Call, Calls } from '../../driver-contract/calls.ts';
import { asOneListing, type ListingRoom } from '../../driver-contract/listing-room.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { childPlace, isOneName, MAX_PLACE_LENGTH } from '../../driver-contract/remote-places.ts';
import { createSeenFolders } from '../../driver-contract/seen-folders.ts';
import type {
  ByteRange,
  CallOptions,
  DriverTraits,
  Entry,
  FileContent,
  PlaceOptions,
  RemoveOptions,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { Lost, rootIsGone, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { TempFiles } from '../../driver-contract/temp-files.ts';
import { checkReachable, checkUnreserved, isDoomedName, isReservedName } from '../../driver-contract/temp-names.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';
import { isWorthAsking } from '../../driver-contract/worth-asking.ts';
import { type Features, FtpSession, LEAVE_MS } from './client.ts';
import { isRefusal, toAppError } from './errors.ts';
import { FtpReader } from './file-content.ts';
import { KeptEntries, readFolder } from './folder.ts';
import { type RemoteEntry, toTimeVal } from './listing.ts';
import { kindOf, look, orRefused } from './look.ts';
import { OwnChanges } from './own-changes.ts';
import { checkFree, moveOrThrow, type Names, publishFile, removeFolder, replace } from './publish-file.ts';
import { refuseFolding } from './refuse-folding.ts';
import { RemoteRoot } from './remote-root.ts';
import { checkStored, sendContent } from './send-content.ts';
import { type Lane, SessionPool } from './session-pool.ts';
import type { FtpSettings } from './settings.ts';

interface Parts {
  readonly settings: FtpSettings;
  readonly calls: Calls;
  readonly pool: SessionPool;
  readonly changes: OwnChanges;
  readonly temps: TempFiles;
  readonly root: RemoteRoot;
  readonly room: ListingRoom;
}

/** Of several entries that begin to go: others have sessions too. */
const PARALLEL_REMOVALS = 2;
/** What the name of a folder that is to be removed takes beside its text while it waits, in bytes. */
const FOLDER_BYTES = 64;

/** A folder of an FTP server. README tells the whole. */
export class FtpDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #settings: FtpSettings;
  readonly #root: RemoteRoot;
  readonly #calls: Calls;
  readonly #pool: SessionPool;
  readonly #temps: TempFiles;
  readonly #changes: OwnChanges;
  readonly #seen = createSeenFolders<MountPath>();
  readonly #dooming = createGate(1);
  readonly #room: ListingRoom;

  private constructor({ settings, calls, pool, changes, temps, root, room }: Parts, features: Features) {
    this.#settings = settings;
    this.#changes = changes;
    this.#room = room;
    this.#calls = calls;
    this.#pool = pool;
    this.#temps = temps;
    this.#root = root;
    this.traits = {
      caseSensitive: true,
      keepsEmptyDirectories: true,
      modTimeStepMs: features.mfmt ? 1000 : undefined,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: false,
      copiesFolders: false,
      removesStepwise: true,
    };
  }

  /**
   * @param silentMs as `ControlConnection` has it
   * @throws AppError STORAGE_LOGIN_FAILED | FAILED_PRECONDITION: no such folder; as the contract
   */
  static async open(settings: FtpSettings, context: OpenContext, silentMs?: number): Promise<FtpDriver> {
    const calls = new Calls(toAppError);
    const root = new RemoteRoot(settings.rootPlace);
    let temps: TempFiles | undefined;
    const { egress, listingRoom } = context;
    const certificate = settings.tls?.certificate;
    const trust = certificate === undefined ? undefined : egress.trustBeside(certificate);
    const pool = new SessionPool(
      async () => {
        const session = await FtpSession.connect({ settings, egress, trust, silentMs, signal: calls.connecting });
        temps?.removeLeft();
        return session;
      },
      (work) => calls.track(work),
      `${settings.host}:${settings.port}`,
    );
    const changes = new OwnChanges();
    const onBack = <Result>(work: (session: FtpSession) => Promise<Result>) => withSession(pool, 'back', undefined, work);
    const files = new TempFiles(
      {
        placeOf: (folder, name) => childPlace(root.place(folder), name),
        async remove(place) {
          const tryOnce = () => withSession(pool, 'names', undefined, (session) => removeOurs(session, place));
          // The first session may have broken without our knowing yet.
          await tryOnce().catch((error: unknown) => (isRefusal(error) ? undefined : tryOnce()));
        },
        removeAside: (place) => onBack((session) => removeOurs(session, place)),
        isRefusal,
        isThere: (place) => onBack(async (session) => (await kindOf(session, place)) !== undefined),
        move: (from, to) => onBack((session) => moveOrThrow(session, from, to)),
        alone: (path, work) => changes.alone(path, () => work().finally(() => changes.changed(path))),
        folders: {
          make: (place) => onBack(async (session) => void (await session.ask('MKD', place))),
          remove: (place) => onBack(async (session) => void (await session.ask('RMD', place))),
          async *namesIn(place) {
            const folder = await onBack((session) =>
              readFolder(session, settings, place, calls.connecting, () => new KeptEntries(listingRoom)),
            );
            try {
              for (const { name } of folder.values()) yield name;
            } finally {
              folder.leave();
            }
          },
        },
        warn: context.warn,
      },
      calls,
    );
    temps = files;
    try {
      return await calls.run({ signal: context.signal }, ({ signal }) =>
        withSession(pool, 'names', signal, async (session) => {
          if ((await orRefused(session.ask('CWD', settings.rootPlace))) === undefined) {
            throw new AppError('FAILED_PRECONDITION', `root folder ${settings.rootPlace} not exists`);
          }
          await refuseFolding(session, settings, root, listingRoom, signal);
          const driver = new FtpDriver({ settings, calls, pool, changes, temps: files, root, room: listingRoom }, session.features);
          calls.track(driver.#sweepRoot());
          return driver;
        }),
      );
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal }, async (session, call) => this.#entry(path, await this.#look(session, path, call.signal)));
  }

  async *list(directory: MountPath, { signal }: CallOptions = {}): AsyncGenerator<Entry, void> {
    checkReachable(directory);
    const folder = await this.#onNames({ signal }, async (session, call) => {
      const kind = await kindOf(session, this.#root.place(directory));
      if (kind !== 'folder') throw storageError(kind === undefined ? 'ENTRY_NOT_FOUND' : 'NOT_A_DIRECTORY');
      return readFolder(session, this.#settings, this.#root.place(directory), call.signal, () => new KeptEntries(this.#room));
    });
    this.#temps.removeLeft();
    using listed = new NameSet();
    const left = this.#temps.asides.gather(directory);
    // A folder may have nothing that is shown: nobody's turn would come in between.
    const pace = createPace(signal);
    try {
      for (const entry of folder.drain()) {
        throwIfAborted(signal);
        await pace.step();
        if (isReservedName(entry.name)) {
          left.add(entry.name);
          const removeAll = entry.isDirectory && isDoomedName(entry.name) ? (place: string) => this.#removeDoomed(place) : undefined;
          this.#temps.sweep(directory, entry.name, entry.modifiedAt.getTime(), removeAll);
        } else if (isEntryName(entry.name) && !entry.isLink) {
          listed.add(entry.name);
          yield entry;
        }
      }
    } finally {
      folder.leave();
    }
    const isListed = (name: EntryName) => !listed.add(name);
    yield* this.#temps.asides.bringLeft(directory, left, isListed, (path) => this.stat(path, { signal }), signal);
  }

  async read(path: MountPath, range?: ByteRange, { signal }: CallOptions = {}): Promise<FileContent> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    const opened = await this.#calls.run(
      { signal },
      async (call) => {
        const lease = await this.#pool.take('reads', call.signal);
        const { session } = lease;
        const letGo = endIfSilent(session, call.signal);
        try {
          throwIfAborted(call.signal);
          const seen = await this.#look(session, path, call.signal);
          const entry = this.#entry(path, seen);
          if (entry.isDirectory) throw storageError('IS_A_DIRECTORY');
          const { start, end } = resolveRange(range, entry.sizeBytes ?? 0);
          throwIfAborted(call.signal);
          const transfer = await session.transfer('RETR', this.#root.place(path), call.signal, start);
          return { entry, download: { transfer, lease, lengthBytes: end - start, isToEnd: end === entry.sizeBytes } };
        } catch (error) {
          lease.release();
          throw error;
        } finally {
          letGo();
        }
      },
      async (late) => late.download.lease.release(),
    );
    const content = new FtpReader(opened.download, this.#calls, signal);
    return { entry: opened.entry, [Symbol.asyncIterator]: () => content };
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    checkUnreserved(path);
    if (path === MOUNT_ROOT) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    return this.#calls.run(options, async (call) => {
      const folder = parentPath(path);
      const temp = this.#temps.newPlace(folder);
      let isBegun = false;
      // The server may take no other session beside the one by which the content comes.
      await this.#temps.asides.bringMissed(path, call.signal);
      try {
        return await this.#with('writes', call.signal, async (session) => {
          try {
            if (isWorthAsking(options)) await this.#checkReplaceable(session, path, options);
            throwIfAborted(call.signal);
            const transfer = await this.#inFolder(session, folder, call.signal, () => {
              isBegun = true;
              return session.transfer('STOR', temp, call.signal);
            });
            const sentBytes = await sendContent(transfer, verifiedContent(content, { ...options, signal: call.signal }), call.signal);
            if (options.modifiedAt && session.features.mfmt)
              await orRefused(session.ask('MFMT', `${toTimeVal(options.modifiedAt)} ${temp}`));
            const stored = await checkStored(session, this.#settings, temp, sentBytes);
            await this.#temps.asides.bringMissed(path, call.signal);
            const { overwrite, beforePublish: ask } = options;
            const beforePublish = ask && (() => this.#pool.lend(session, ask));
            await publishFile(this.#names(session, call), temp, path, { overwrite, beforePublish }, call);
            return this.#entry(path, stored ?? (await this.#look(session, path, call.signal)));
          } catch (error) {
            // Until the server is done with it, it could make the file again.
            if (isBegun) await session.settle();
            throw error;
          }
        });
      } catch (error) {
        // Once this session is given back: the server may take no other one.
        if (isBegun && !(error instanceof Lost)) await this.#temps.discard(temp);
        throw error;
      }
    });
  }

  async makeDirectory(path: MountPath, { signal, afterWaiting }: CallOptions = {}): Promise<Entry> {
    checkUnreserved(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal, afterWaiting }, async (session, call) => {
      const kind = await kindOf(session, this.#root.place(path));
      if (kind === 'file') throw storageError('ENTRY_EXISTS');
      if (kind === undefined) {
        await call.stillWanted();
        await this.#makeFolder(session, path, call.signal);
      }
      return this.#entry(path, await this.#look(session, path, call.signal));
    });
  }

  async remove(path: MountPath, options: RemoveOptions): Promise<void> {
    checkReachable(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    const { begun } = options;
    if (begun === undefined) {
      await this.#temps.asides.bringMissed(path, options.signal);
      return this.#remove(path, options);
    }
    await removeDoomed(this.#serverFolder(), path, begun, (doomed) => this.#remove(doomed, options));
  }

  async #remove(doomed: MountPath, { signal, afterWaiting, recursive, beforeStep, onlyIf }: RemoveOptions): Promise<void> {
    const place = this.#root.place(doomed);
    const isOnlyFolder = onlyIf?.isDirectory && !onlyIf.isLink;
    await this.#calls.run({ signal, afterWaiting }, async (call) => {
      const alone = <Result>(work: (session: FtpSession) => Promise<Result>) =>
        this.#with('names', call.signal, (session) => this.#changes.alone(doomed, () => work(session)));
      const isGone = await alone(async (session) => {
        if (onlyIf) requireUnchanged(onlyIf, this.#entry(doomed, await this.#look(session, doomed, call.signal)));
        return !isOnlyFolder && this.#removeFile(session, doomed, call);
      });
      if (isGone) return;
      if (recursive) await this.#removeAllIn(place, { signal: call.signal, beforeStep });
      await alone(async (session) => {
        if (!recursive) await call.stillWanted();
        await removeFolder(session, place);
      });
    });
  }

  async beginRemoval(
    paths: readonly MountPath[],
    { signal, afterWaiting }: CallOptions = {},
  ): Promise<readonly (string | undefined | AppError)[]> {
    return this.#calls.run({ signal, afterWaiting }, (call) =>
      beginEach(
        paths,
        PARALLEL_REMOVALS,
        async (path) => {
          await this.#temps.asides.bringMissed(path, call.signal);
          return this.#with('names', call.signal, (session) => this.#changes.alone(path, () => this.#beginRemoval(session, path, call)));
        },
        toAppError,
      ),
    );
  }

  async rename(from: MountPath, to: MountPath, { signal, afterWaiting, overwrite }: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    if (from === to) return this.stat(from, { signal });
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal, afterWaiting }, async (session, call) => {
      const names = this.#names(session, call);
      await this.#changes.alone(to, async () => {
        const source = await kindOf(session, this.#root.place(from));
        const above = await kindOf(session, this.#root.place(parentPath(to)));
        if (source === undefined || above === undefined) throw storageError('ENTRY_NOT_FOUND');
        if (above !== 'folder') throw storageError('NOT_A_DIRECTORY');
        if (!overwrite) await checkFree(session, this.#root.place(to));
        await call.commit();
        for (const path of [from, to]) this.#changes.changed(path);
        this.#seen.clear();
        await replace(names, this.#root.place(from), to);
      });
      return this.#entry(to, await names.look(to));
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#pool.close();
  }

  /** A folder loses its name, everything else goes. @returns what `remove` is to be given */
  async #beginRemoval(session: FtpSession, path: MountPath, call: Call): Promise<string | undefined> {
    checkReachable(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    if (await this.#removeFile(session, path, call)) return undefined;
    return giveDoomedName(
      this.#serverFolder(),
      path,
      (to) => moveOrThrow(session, this.#root.place(path), this.#root.place(to)),
      isRefusal,
    );
  }

  /** A link to a folder is removed as a file is: it is never followed. @returns false: it is a folder. @throws AppError ENTRY_NOT_FOUND */
  async #removeFile(session: FtpSession, path: MountPath, call: Call): Promise<boolean> {
    await call.stillWanted();
    const place = this.#root.place(path);
    this.#changes.changed(path);
    this.#seen.clear();
    const refusal = await session.ask('DELE', place).then(() => undefined, refusalOf);
    if (refusal === undefined) return true;
    const kind = await kindOf(session, place);
    if (kind === undefined) throw storageError('ENTRY_NOT_FOUND', refusal);
    if (kind === 'file') throw refusal;
    return false;
  }

  #serverFolder(): ServerFolder {
    return { ...this.#settings, place: this.#settings.rootPlace };
  }

  #names(session: FtpSession, call: Call): Names {
    return {
      session,
      place: (path) => this.#root.place(path),
      look: (path) => this.#look(session, path, call.signal),
      stepAside: (path, source, work) =>
        this.#temps.asides.stepAside(path, work, { source, remove: (place) => removeOurs(session, place) }),
      alone: (path, work) =>
        this.#changes.alone(path, async () => {
          const result = await work();
          this.#changes.changed(path);
          return result;
        }),
      watch: (path) => this.#changes.watch(path),
    };
  }

  #look(session: FtpSession, path: MountPath, signal: AbortSignal): Promise<RemoteEntry | undefined> {
    return look(session, this.#settings, this.#root, path, signal);
  }

  /** What would be refused when the content is there. @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY */
  async #checkReplaceable(session: FtpSession, path: MountPath, { overwrite }: WriteOptions): Promise<void> {
    const kind = await kindOf(session, this.#root.place(path));
    if (kind !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
    if (kind === 'folder') throw storageError('IS_A_DIRECTORY');
  }

  /** Does what needs a folder, which is made where it is missing. One that was seen a moment ago may be gone since. @throws AppError NOT_A_DIRECTORY */
  async #inFolder<Result>(session: FtpSession, folder: MountPath, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const isSeen = this.#seen.has(folder);
    await this.#ensureFolder(session, folder, signal);
    try {
      return await work();
    } catch (error) {
      if (!isSeen || !isRefusal(error)) throw error;
      this.#seen.clear();
      await this.#ensureFolder(session, folder, signal);
      return work();
    }
  }

  /** Makes a folder with those above it, as far as they are missing. @throws AppError NOT_A_DIRECTORY */
  async #ensureFolder(session: FtpSession, path: MountPath, signal: AbortSignal): Promise<void> {
    if (this.#seen.has(path)) return;
    const kind = await kindOf(session, this.#root.place(path));
    if (kind === 'file') throw storageError('NOT_A_DIRECTORY');
    if (kind === undefined) await this.#makeFolder(session, path, signal);
    this.#seen.set(path, true);
  }

  async #makeFolder(session: FtpSession, path: MountPath, signal: AbortSignal): Promise<void> {
    if (path === MOUNT_ROOT) throw rootIsGone();
    const place = this.#root.place(path);
    await this.#inFolder(session, parentPath(path), signal, async () => {
      throwIfAborted(signal);
      const refusal = await session.ask('MKD', place).then(() => undefined, refusalOf);
      // Somebody else may have been faster.
      if (refusal !== undefined && (await kindOf(session, place)) !== 'folder') throw refusal;
    });
  }

  #removeAllIn(place: string, removal: Removal): Promise<void> {
    return this.#removeContent(place, removal, { removed: 0, room: asOneListing(this.#room) });
  }

  /** Has a session for each step alone: a folder may take hours, and a server few sessions. */
  async #removeContent(place: string, removal: Removal, count: { removed: number; readonly room: ListingRoom }): Promise<void> {
    const { signal, beforeStep } = removal;
    if (place.length > MAX_PLACE_LENGTH) throw storageError('INVALID_ARGUMENT');
    const remove = async (verb: 'RMD' | 'DELE', inner: string) => {
      await beforeStep?.(count.removed);
      await this.#with('names', signal, (session) => orRefused(session.ask(verb, inner)));
      count.removed += 1;
    };
    const folder = await this.#with('names', signal, (session) =>
      readFolder(session, this.#settings, place, signal, () => new KeptEntries(count.room)),
    );
    const folders: string[] = [];
    const pace = createPace(signal);
    try {
      for (const { name, isDirectory } of folder.values()) {
        await pace.step();
        if (!isOneName(name)) continue;
        if (isDirectory) folders.push(ownText(name));
        else await remove('DELE', childPlace(place, name));
      }
    } finally {
      folder.leave();
    }
    // Of what is above the next level no more is held than this: files there may be many.
    const waiting = count.room.enter();
    try {
      waiting.take(folders.reduce((sum, name) => sum + FOLDER_BYTES + 2 * name.length, 0));
      for (const name of folders) {
        const inner = childPlace(place, name);
        await beforeStep?.(count.removed);
        if (await this.#removeLink(inner, signal)) {
          count.removed += 1;
          continue;
        }
        await this.#removeContent(inner, removal, count);
        await remove('RMD', inner);
      }
    } finally {
      waiting.leave();
    }
  }

  /** Many servers call a link to a folder a folder: it is removed as a file is, and never entered. @returns false: it is a folder, as far as the server tells */
  async #removeLink(place: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#with('names', signal, (session) => orRefused(session.ask('DELE', place)))) !== undefined;
  }

  /** One after the other: nobody waits for it. */
  async #removeDoomed(place: string): Promise<void> {
    await this.#dooming.run(() =>
      this.#calls.run({}, async ({ signal }) => {
        if (await this.#removeLink(place, signal)) return;
        await this.#removeAllIn(place, { signal });
        await this.#with('names', signal, (session) => session.ask('RMD', place));
      }),
    );
  }

  /** Removes what ended processes left in the root. */
  async #sweepRoot(): Promise<void> {
    for await (const _entry of this.list(MOUNT_ROOT));
  }

  #entry(path: MountPath, seen: RemoteEntry | undefined): Entry {
    const entry = seen && toEntry(nameAt(path), seen);
    if (!entry) throw storageError('ENTRY_NOT_FOUND');
    return entry;
  }

  #with<Result>(lane: Lane, signal: AbortSignal | undefined, work: (session: FtpSession) => Promise<Result>): Promise<Result> {
    return withSession(this.#pool, lane, signal, work);
  }

  #onNames<Result>(options: Asked, work: (session: FtpSession, call: Call) => Promise<Result>): Promise<Result> {
    return this.#calls.run(options, (call) => this.#with('names', call.signal, (session) => work(session, call)));
  }
}

interface Removal extends Pick<RemoveOptions, 'beforeStep'> {
  readonly signal: AbortSignal;
}

/** Gives work a session. When its signal aborts while the server owes an answer, that is waited for a moment, then the session ends. */
async function withSession<Result>(
  pool: SessionPool,
  lane: Lane,
  signal: AbortSignal | undefined,
  work: (session: FtpSession) => Promise<Result>,
): Promise<Result> {
  const { session, release } = await pool.take(lane, signal);
  const letGo = endIfSilent(session, signal);
  try {
    if (signal) throwIfAborted(signal);
    return await work(session);
  } finally {
    letGo();
    release();
  }
}

/** Once the signal aborts, a session whose server still owes an answer after a moment ends. @returns stops that */
function endIfSilent(session: FtpSession, signal: AbortSignal | undefined): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(() => session.end(), LEAVE_MS);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    signal?.removeEventListener('abort', onAbort);
    clearTimeout(timer);
  };
}

/** A file, or a folder that a look at the server's names has left. */
async function removeOurs(session: FtpSession, place: string): Promise<void> {
  const refusal = await session.ask('DELE', place).then(() => undefined, refusalOf);
  if (refusal !== undefined && (await orRefused(session.ask('RMD', place))) === undefined) throw refusal;
}

/** What the server refused it with. @throws what is no refusal */
function refusalOf(error: unknown): unknown {
  if (isRefusal(error)) return error;
  throw error;
}

/** Undefined for what is neither file nor folder. */
function toEntry(name: EntryName, { kind, sizeBytes, modifiedMs }: RemoteEntry): Entry | undefined {
  if (kind !== 'file' && kind !== 'folder') return undefined;
  const isDirectory = kind === 'folder';
  return { name, isDirectory, sizeBytes: isDirectory ? 0 : sizeBytes, modifiedAt: new Date(modifiedMs) };
}
