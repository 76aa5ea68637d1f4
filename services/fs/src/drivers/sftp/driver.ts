import { posix } from 'node:path';
import { AppError } from '@wharf/errors';
import { createGate, createPace } from '@wharf/pace';
import { childPath, type EntryName, isEntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath } from '@wharf/paths';
import { beginEach, giveDoomedName, removeDoomed, type ServerFolder } from '../../driver-contract/begin-each.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type Asked, type Call, Calls } from '../../driver-contract/calls.ts';
import { isDraftId } from '../../driver-contract/draft.ts';
import type { NameTraits } from '../../driver-contract/folding.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { childPlace } from '../../driver-contract/remote-places.ts';
import type {
  ByteRange,
  CallOptions,
  Draft,
  DraftOptions,
  DriverTraits,
  Entry,
  FileContent,
  PlaceOptions,
  PublishOptions,
  RemoveOptions,
  Space,
  StorageDriver,
  WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { Lost, rootIsGone, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { TempFiles, type TempPlaces } from '../../driver-contract/temp-files.ts';
import { checkReachable, checkUnreserved, draftNames, isDoomedName, isReservedName } from '../../driver-contract/temp-names.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { verifiedContent } from '../../driver-contract/verified-content.ts';
import { moveLink, textElsewhere } from './carried-links.ts';
import {
  type ChangedAttrs,
  type Extensions,
  OPEN,
  type PrivateKey,
  type RemoteAttrs,
  type RemoteName,
  readPrivateKey,
  SftpSession,
} from './client.ts';
import type { SftpSettings } from './config.ts';
import { isRefusal, STATUS, toAppError } from './errors.ts';
import { readStretch, requireEmpty } from './file-content.ts';
import { folderPages } from './folder-pages.ts';
import { changedHostKey, formatHostKey, parseHostKey } from './host-key.ts';
import { probeNames } from './probe-names.ts';
import { keepsDrafts } from './probe-writes.ts';
import { placeExclusively, placeFolderExclusively, publishFile, replace, requireReplaceable, respell } from './publish-file.ts';
import { pumpContent } from './pump-content.ts';
import { RemoteFile, RemoteNames } from './remote-file.ts';
import { orAbsent, RemoteRoot, type Seen } from './remote-root.ts';
import { removeEmptyFolder, removeTree } from './remove-tree.ts';
import { type Lane, SessionPool } from './session-pool.ts';
import { SftpDraft } from './sftp-draft.ts';

/** How much a server copies at one request. It does nothing else on that connection meanwhile. */
const COPY_BYTES = 64 * 1024 * 1024;
/** Below that much free space a write that fails without a reason has met a full disk. */
const FULL_BYTES = 1024 * 1024;
/** What takes the place of characters in a name that is no UTF-8. */
const REPLACEMENT = '\ufffd';
const PARALLEL_LINKS = 16;
/** Of several entries that begin to go. */
const PARALLEL_REMOVALS = 8;
const MAX_SECONDS = 0xffff_ffff;

/** Everything of one storage that is shared by its calls. */
interface Connections {
  readonly calls: Calls;
  readonly pool: SessionPool;
}

/** What was written to a new file. */
interface Filled {
  readonly sizeBytes: number;
  /** What the server says of it, sealed. */
  readonly attrs: RemoteAttrs;
}

/** A folder of an SSH server. README tells the whole. */
export class SftpDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly copy?: NonNullable<StorageDriver['copy']>;
  readonly space?: NonNullable<StorageDriver['space']>;
  readonly openDraft?: NonNullable<StorageDriver['openDraft']>;
  readonly #root: RemoteRoot;
  readonly #calls: Calls;
  readonly #pool: SessionPool;
  readonly #temps: TempFiles;
  readonly #settings: SftpSettings;
  /** Of all listings, what links lead to: a page may be nothing but links. */
  readonly #links = createGate(PARALLEL_LINKS);

  private constructor(
    { calls, pool }: Connections,
    root: RemoteRoot,
    temps: TempFiles,
    server: Extensions & NameTraits & { readonly keepsDrafts: boolean },
    settings: SftpSettings,
  ) {
    this.#calls = calls;
    this.#pool = pool;
    this.#root = root;
    this.#temps = temps;
    this.#settings = settings;
    this.traits = {
      caseSensitive: server.caseSensitive,
      keepsEmptyDirectories: true,
      modTimeStepMs: 1000,
      maxNameBytes: 255,
      hashes: [],
      exclusiveCreate: server.hardlink || server.posixRename,
      copiesFolders: false,
      removesStepwise: true,
      ...(server.keepsDrafts && { drafts: { order: 'any', readsBack: true } as const }),
    };
    if (server.keepsDrafts) this.openDraft = (path, id, options) => this.#openDraft(path, id, options);
    if (server.copyData) this.copy = (from, to, options) => this.#copy(from, to, options);
    if (server.statvfs) this.space = (options) => this.#space(options);
  }

  /**
   * @param silentMs as `SessionPool` has it
   * @throws AppError STORAGE_LOGIN_FAILED (also for another host key) | INVALID_ARGUMENT | FAILED_PRECONDITION: no such folder; as the contract
   */
  static async open(settings: SftpSettings, context: OpenContext, silentMs?: number): Promise<SftpDriver> {
    const { privateKey, passphrase, rootPath } = settings;
    const key = privateKey === undefined ? undefined : await readPrivateKey(privateKey, passphrase, context.signal);
    const calls = new Calls(toAppError);
    let temps: TempFiles | undefined;
    const pool = new SessionPool(async () => {
      const session = await connect(settings, key, context, calls.connecting);
      temps?.removeLeft((place) => removeOurs(session, place));
      return session;
    }, silentMs);
    try {
      return await calls.run({ signal: context.signal }, async () => {
        const { session, release } = await pool.take('names');
        try {
          const root = new RemoteRoot(await findRoot(session, rootPath));
          const files = new TempFiles(tempPlaces(root, pool, context), calls);
          temps = files;
          const names = await probeNames(session, root.realPath, () => files.newPlace(MOUNT_ROOT));
          if (names.folds) root.guardSpelling((folder) => files.newPlace(folder));
          const server = { ...session.extensions, ...names, keepsDrafts: await keepsDrafts(session, files.newPlace(MOUNT_ROOT)) };
          const driver = new SftpDriver({ calls, pool }, root, files, server, settings);
          calls.track(driver.#sweepRoot());
          return driver;
        } finally {
          release();
        }
      });
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  async stat(path: MountPath, { signal }: CallOptions = {}): Promise<Entry> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal }, async (session) => this.#entry(path, await this.#root.look(session, path)));
  }

  async *list(directory: MountPath, { signal }: CallOptions = {}): AsyncGenerator<Entry, void> {
    checkReachable(directory);
    const names = await this.#calls.run(
      { signal },
      () => this.#openNames(directory),
      async (late) => late.letGo(),
    );
    using listed = new NameSet();
    const left = this.#temps.asides.gather(directory);
    try {
      for (;;) {
        const page = await this.#calls.run({ signal }, () => names.next());
        if (page === undefined) break;
        await this.#lookForLeft(names.session, directory, page, left, signal);
        const shown = page.filter((item) => isNew(item, listed));
        const entries = await this.#calls.run({ signal }, () => this.#entriesOf(names.session, directory, shown));
        for (const entry of entries) {
          throwIfAborted(signal);
          yield entry;
        }
      }
    } finally {
      names.letGo();
    }
    const isListed = (name: EntryName) => !listed.add(name);
    yield* this.#temps.asides.bringLeft(directory, left, isListed, (path) => this.stat(path, { signal }), signal);
  }

  async read(path: MountPath, range?: ByteRange, { signal }: CallOptions = {}): Promise<FileContent> {
    checkReachable(path);
    await this.#temps.asides.bringMissed(path, signal);
    const opened = await this.#calls.run(
      { signal },
      async () => {
        const file = await this.#open('bytes', async (session) => {
          const seen = await this.#root.look(session, path);
          if (seen === undefined || seen.isBroken) throw storageError('ENTRY_NOT_FOUND');
          // To open a pipe could wait for ever.
          if (seen.attrs.kind !== 'file') throw storageError(seen.attrs.kind === 'folder' ? 'IS_A_DIRECTORY' : 'UNSUPPORTED_OPERATION');
          return session.open(this.#root.place(path), OPEN.READ);
        });
        try {
          const attrs = await file.fstat();
          if (attrs.sizeBytes === 0) await requireEmpty(file);
          return { file, attrs, stretch: resolveRange(range, attrs.sizeBytes) };
        } catch (error) {
          file.letGo();
          throw error;
        }
      },
      async (late) => late.file.letGo(),
    );
    const entry = toEntry(nameAt(path), { attrs: opened.attrs, isLink: false, isBroken: false });
    const content = readStretch(opened.file, opened.stretch, this.#calls, signal);
    return { entry, [Symbol.asyncIterator]: () => content };
  }

  async write(path: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    checkUnreserved(path);
    return this.#calls.run(options, (call) =>
      this.#putTogether(path, options, call, async (file, replaced) => {
        const changed = { ...(replaced && { mode: replaced.mode }), ...timesOf(options.modifiedAt) };
        let sealing: Promise<RemoteAttrs> | undefined;
        const sizeBytes = await pumpContent(file, verifiedContent(content, { ...options, signal: call.signal }), 0, () => {
          if (!file.session.keepsOrder) return;
          // Beside the last of the content: a small file takes one round less.
          sealing = file.seal(changed);
          sealing.catch(() => undefined);
        });
        return { sizeBytes, attrs: await (sealing ?? file.seal(changed)) };
      }),
    );
  }

  async #openDraft(path: MountPath, id: string, { signal, create }: DraftOptions): Promise<Draft> {
    checkUnreserved(path);
    if (!isDraftId(id)) throw storageError('ENTRY_NOT_FOUND');
    const folder = parentPath(path);
    const place = this.#temps.placeOf(folder, draftNames(id).beside);
    const discard = () => this.#temps.discard(place);
    const open = (flags: number, call?: Call) =>
      this.#open('bytes', async (session) => {
        if (flags !== 0) await this.#ensureFolder(session, folder, call?.signal);
        else if ((await this.#root.look(session, folder)) === undefined) throw storageError('ENTRY_NOT_FOUND');
        throwIfAborted(call?.signal);
        return session.open(place, OPEN.READ | OPEN.WRITE | flags);
      });
    const opened = await this.#calls.run(
      { signal },
      (call) =>
        open(create ? OPEN.CREATE | OPEN.EXCLUSIVE : 0, call).catch((error: unknown) => {
          throw create && isRefusal(error, STATUS.FAILURE) ? storageError('ENTRY_EXISTS', error) : error;
        }),
      async (late) => {
        late.letGo();
        // Nobody knows of it.
        if (create) await discard();
      },
    );
    const draftPlace = {
      calls: this.#calls,
      open: () => open(0),
      publish: async (file: RemoteFile, options: PublishOptions, call: Call) => {
        const attrs = await file.seal(timesOf(options.modifiedAt));
        // Of an open file a server may say what it was told.
        requireSize(attrs.sizeBytes, (await file.session.lstat(place)).sizeBytes);
        return this.#publish(file.session, place, path, attrs, options, call);
      },
      discard: () => this.#onNames({}, async (session) => void (await orAbsent(session.removeFile(place)))),
    };
    return new SftpDraft(draftPlace, opened);
  }

  async makeDirectory(path: MountPath, { signal, afterWaiting }: CallOptions = {}): Promise<Entry> {
    checkUnreserved(path);
    await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal, afterWaiting }, async (session, call) => {
      const there = await this.#root.look(session, path);
      if (there !== undefined && there.attrs.kind !== 'folder') throw storageError('ENTRY_EXISTS');
      if (there === undefined) await call.stillWanted();
      return this.#entry(path, await this.#ensureFolder(session, path, call.signal));
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

  async #remove(path: MountPath, { signal, afterWaiting, recursive, beforeStep, onlyIf }: RemoveOptions): Promise<void> {
    await this.#onNames({ signal, afterWaiting }, async (session, call) => {
      // What a link leads to is what was looked at; it is the link that goes.
      const [attrs, seen] = await Promise.all([this.#root.lookAtEntry(session, path), onlyIf && this.#root.look(session, path)]);
      await call.stillWanted();
      if (onlyIf) requireUnchanged(onlyIf, this.#entry(path, seen));
      if (attrs === undefined) throw storageError('ENTRY_NOT_FOUND');
      const place = this.#root.place(path);
      if (attrs.kind !== 'folder') await session.removeFile(place);
      else if (recursive) await removeTree(session, place, { signal: call.signal, beforeStep });
      else await removeEmptyFolder(session, place);
    });
  }

  async beginRemoval(
    paths: readonly MountPath[],
    { signal, afterWaiting }: CallOptions = {},
  ): Promise<readonly (string | undefined | AppError)[]> {
    return this.#onNames({ signal, afterWaiting }, (session, call) =>
      beginEach(paths, PARALLEL_REMOVALS, (path) => this.#beginRemoval(session, path, call), toAppError),
    );
  }

  async rename(from: MountPath, to: MountPath, { signal, afterWaiting, overwrite }: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    if (from === MOUNT_ROOT || (from !== to && isWithin(from, to))) throw storageError('INVALID_ARGUMENT');
    for (const path of [from, to]) await this.#temps.asides.bringMissed(path, signal);
    return this.#onNames({ signal, afterWaiting }, async (session, call) => {
      const [source] = await Promise.all([this.#root.lookAtEntry(session, from), this.#checkFolder(session, parentPath(to))]);
      if (source === undefined) throw storageError('ENTRY_NOT_FOUND');
      if (from !== to) {
        const [fromPlace, toPlace] = [this.#root.place(from), this.#root.place(to)];
        const text = await textElsewhere(session, source, fromPlace, toPlace, call.signal);
        const isRespelled = await this.#root.checkFree(session, to, from);
        await call.commit();
        const temps = this.#temps;
        const target = { place: toPlace, path: to, temps };
        const move = overwrite ? replace : source.kind === 'folder' ? placeFolderExclusively : placeExclusively;
        if (text !== undefined) await moveLink(session, text, [fromPlace, temps.newPlace(parentPath(to))], target, overwrite);
        else if (isRespelled) await respell(session, { place: fromPlace, path: from, temps }, toPlace);
        else await move(session, fromPlace, target);
      }
      return this.#entry(to, await this.#root.look(session, to));
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#pool.close();
  }

  /** A folder loses its name, which costs no more than to remove a file; everything else goes. @returns what `remove` is to be given */
  async #beginRemoval(session: SftpSession, path: MountPath, call: Call): Promise<string | undefined> {
    checkReachable(path);
    if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    await this.#temps.asides.bringMissed(path, call.signal);
    const attrs = await this.#root.lookAtEntry(session, path);
    await call.stillWanted();
    if (attrs === undefined) throw storageError('ENTRY_NOT_FOUND');
    const place = this.#root.place(path);
    if (attrs.kind !== 'folder') {
      await session.removeFile(place);
      return undefined;
    }
    return giveDoomedName(this.#serverFolder(), path, (to) => session.rename(place, this.#root.place(to)), isRefusal);
  }

  #serverFolder(): ServerFolder {
    return { ...this.#settings, place: this.#root.realPath };
  }

  async #copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    checkReachable(from);
    checkUnreserved(to);
    if (from === to) throw storageError('ENTRY_EXISTS');
    if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    return this.#calls.run(options, async (call) => {
      await this.#temps.asides.bringMissed(from, call.signal);
      const source = await this.#with('names', async (session) => {
        const [seen] = await Promise.all([this.#root.look(session, from), this.#checkFolder(session, parentPath(to))]);
        if (seen === undefined || seen.isBroken) throw storageError('ENTRY_NOT_FOUND');
        if (seen.attrs.kind !== 'file') throw storageError('UNSUPPORTED_OPERATION');
        return seen.attrs;
      });
      return this.#putTogether(to, options, call, async (file) => {
        const { session } = file;
        const opened = await session.open(this.#root.place(from), OPEN.READ);
        try {
          for (let at = 0; at < source.sizeBytes; at += COPY_BYTES) {
            throwIfAborted(call.signal);
            await session.copyData(opened, file.handle, at, Math.min(COPY_BYTES, source.sizeBytes - at));
          }
        } finally {
          await session.close(opened);
        }
        return {
          sizeBytes: source.sizeBytes,
          attrs: await file.seal({ mode: source.mode, ...timesOf(new Date(source.modifiedAt * 1000)) }),
        };
      });
    });
  }

  async #space({ signal }: CallOptions = {}): Promise<Space> {
    return this.#onNames({ signal }, (session) => session.statvfs(this.#root.realPath));
  }

  /**
   * Makes a file under a name of ours and publishes it. Whatever fails, nothing is left.
   *
   * @param fill writes to the file and seals it
   */
  async #putTogether(
    path: MountPath,
    options: Pick<WriteOptions, 'overwrite' | 'beforePublish'>,
    call: Call,
    fill: (file: RemoteFile, replaced: RemoteAttrs | undefined) => Promise<Filled>,
  ): Promise<Entry> {
    if (path === MOUNT_ROOT) throw storageError(options.overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    const place = this.#temps.newPlace(parentPath(path));
    let replaced: RemoteAttrs | undefined;
    const file = await this.#open('bytes', async (session) => {
      const ensureFolder = () => this.#ensureFolder(session, parentPath(path), call.signal);
      const tellsFolder = this.#root.tellsFolder(session);
      const [{ seen, hasFolder }] = await Promise.all([this.#root.lookWithFolder(session, path), tellsFolder ? undefined : ensureFolder()]);
      replaced = await requireReplaceable(session, this.#root, path, options.overwrite, seen);
      if (tellsFolder && !hasFolder) await ensureFolder();
      throwIfAborted(call.signal);
      return session.open(place, OPEN.WRITE | OPEN.CREATE | OPEN.EXCLUSIVE);
    });
    try {
      const { sizeBytes, attrs } = await fill(file, replaced);
      requireSize(sizeBytes, attrs.sizeBytes);
      return await this.#publish(file.session, place, path, attrs, options, call);
    } catch (error) {
      if (!(error instanceof Lost)) await this.#temps.discard(place);
      throw await this.#explain(error);
    } finally {
      file.letGo();
    }
  }

  /** Gives a sealed file its name. @param attrs what the server said of it */
  async #publish(
    session: SftpSession,
    place: string,
    path: MountPath,
    attrs: RemoteAttrs,
    options: Pick<WriteOptions, 'overwrite' | 'beforePublish'>,
    call: Call,
  ): Promise<Entry> {
    await this.#temps.asides.bringMissed(path, call.signal);
    await publishFile({ place, root: this.#root, session, temps: this.#temps }, path, options, call);
    return toEntry(nameAt(path), { attrs, isLink: false, isBroken: false });
  }

  /** FAILURE is all that a full disk says. */
  async #explain(error: unknown): Promise<unknown> {
    if (!isRefusal(error, STATUS.FAILURE) || !this.space) return error;
    const free = await this.#with('names', (session) => session.statvfs(this.#root.realPath)).catch(() => undefined);
    return free !== undefined && free.freeBytes < FULL_BYTES ? storageError('QUOTA_EXCEEDED', error) : error;
  }

  /** @throws AppError NOT_A_DIRECTORY | ENTRY_NOT_FOUND */
  async #checkFolder(session: SftpSession, path: MountPath): Promise<void> {
    const seen = await this.#root.look(session, path);
    if (seen === undefined) throw storageError('ENTRY_NOT_FOUND');
    if (seen.attrs.kind !== 'folder') throw storageError('NOT_A_DIRECTORY');
  }

  /** Makes a folder with those above it, as far as they are missing. @throws AppError NOT_A_DIRECTORY */
  async #ensureFolder(session: SftpSession, path: MountPath, signal: AbortSignal | undefined): Promise<Seen> {
    const there = await this.#root.look(session, path);
    if (there?.attrs.kind === 'folder') return there;
    if (there !== undefined) throw storageError('NOT_A_DIRECTORY');
    if (path === MOUNT_ROOT) throw rootIsGone();
    await this.#ensureFolder(session, parentPath(path), signal);
    await this.#root.checkFree(session, path);
    throwIfAborted(signal);
    try {
      await session.makeFolder(this.#root.place(path));
    } catch (error) {
      // Somebody else was faster, or it cannot be.
      if (!isRefusal(error, STATUS.FAILURE) || (await this.#root.look(session, path)) === undefined) throw error;
    }
    const made = await this.#root.look(session, path);
    if (made?.attrs.kind !== 'folder') throw storageError(made === undefined ? 'ENTRY_NOT_FOUND' : 'NOT_A_DIRECTORY');
    return made;
  }

  async #openNames(directory: MountPath): Promise<RemoteNames> {
    const file = await this.#open('names', async (session) => {
      const opening = this.#openFolder(session, directory);
      // Its failure may come before that of the look, and is met after it.
      opening.catch(() => undefined);
      const seen = await this.#root.look(session, directory).catch(async (error: unknown) => {
        // What was opened meanwhile would stay open at the server.
        const opened = await opening.catch(() => undefined);
        if (opened !== undefined) await session.close(opened);
        throw error;
      });
      const handle = await opening;
      if (seen?.attrs.kind === 'folder' && handle !== undefined) return handle;
      if (handle !== undefined) await session.close(handle);
      throw storageError(seen === undefined || seen.attrs.kind === 'folder' ? 'ENTRY_NOT_FOUND' : 'NOT_A_DIRECTORY');
    });
    return new RemoteNames(file);
  }

  /** Undefined for what is no folder, or is not there. */
  async #openFolder(session: SftpSession, directory: MountPath): Promise<Buffer | undefined> {
    try {
      return await session.openFolder(this.#root.place(directory));
    } catch (error) {
      if (isRefusal(error, STATUS.NO_SUCH_FILE) || isRefusal(error, STATUS.FAILURE)) return undefined;
      throw error;
    }
  }

  /** What of a page of names is shown. */
  async #entriesOf(session: SftpSession, directory: MountPath, page: readonly RemoteName[]): Promise<Entry[]> {
    const entries = await Promise.all(
      page.map((item) =>
        item.attrs.kind === 'link'
          ? this.#links.run(() => this.#entryOf(session, directory, item))
          : this.#entryOf(session, directory, item),
      ),
    );
    return entries.filter((entry) => entry !== undefined);
  }

  async #entryOf(session: SftpSession, directory: MountPath, { name, attrs }: RemoteName): Promise<Entry | undefined> {
    if (!isEntryName(name)) return undefined;
    if (attrs.kind !== 'link') return toEntry(name, { attrs, isLink: false, isBroken: false });
    try {
      const seen = await this.#root.lookAtListed(session, childPath(directory, name));
      return seen === undefined || (seen.isBroken && this.#settings.hidesBrokenLinks) ? undefined : toEntry(name, seen);
    } catch (error) {
      // It leads out of the root, or its path is too long to be reached.
      if (AppError.is(error, 'PERMISSION_DENIED') || AppError.is(error, 'INVALID_ARGUMENT') || isRefusal(error)) return undefined;
      throw error;
    }
  }

  #entry(path: MountPath, seen: Seen | undefined): Entry {
    if (seen === undefined || (seen.isBroken && this.#settings.hidesBrokenLinks)) throw storageError('ENTRY_NOT_FOUND');
    return toEntry(nameAt(path), seen);
  }

  /** Removes, and brings back, what ended processes left in the root. */
  async #sweepRoot(): Promise<void> {
    const names = await this.#openNames(MOUNT_ROOT);
    const { asides } = this.#temps;
    const left = asides.gather(MOUNT_ROOT);
    try {
      for (let page = await names.next(); page !== undefined && !this.#calls.closing.aborted; page = await names.next()) {
        await this.#lookForLeft(names.session, MOUNT_ROOT, page, left);
      }
    } finally {
      names.letGo();
    }
    for await (const _entry of asides.bringLeft(
      MOUNT_ROOT,
      left,
      () => false,
      (path) => this.stat(path),
    ));
  }

  /** What ended processes left goes, or is brought back. Of each name of ours the system is asked for its process: others have their turns in between. */
  async #lookForLeft(
    session: SftpSession,
    directory: MountPath,
    page: readonly RemoteName[],
    left: { add(name: string): void },
    signal?: AbortSignal,
  ): Promise<void> {
    const pace = createPace(signal);
    for (const { name, attrs } of page) {
      if (!isReservedName(name)) continue;
      await pace.step();
      left.add(name);
      if (attrs.kind === 'folder' && isDoomedName(name)) {
        const removeAll = (place: string) => this.#onNames({}, (own, { signal }) => removeTree(own, place, { signal }));
        this.#temps.sweep(directory, name, 0, removeAll);
      }
      if (attrs.kind !== 'file' && attrs.kind !== 'link') continue;
      // What is about to be named has the date of its file by then; timesOf() noted when it got that.
      const touchedAt = Math.max(attrs.modifiedAt, attrs.accessedAt);
      this.#temps.sweep(directory, name, touchedAt * 1000, (place) => session.removeFile(place));
    }
  }

  /** Opens something on a connection that is kept for it. */
  async #open(lane: Lane, open: (session: SftpSession) => Promise<Buffer>): Promise<RemoteFile> {
    const lease = await this.#pool.take(lane);
    try {
      return new RemoteFile(lease, await open(lease.session), (work) => this.#calls.track(work));
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  #with<Result>(lane: Lane, work: (session: SftpSession) => Promise<Result>): Promise<Result> {
    return withSession(this.#pool, lane, work);
  }

  #onNames<Result>(options: Asked, work: (session: SftpSession, call: Call) => Promise<Result>): Promise<Result> {
    return this.#calls.run(options, (call) => this.#with('names', (session) => work(session, call)));
  }
}

/** Gives work a connection that others may use at the same time. */
async function withSession<Result>(pool: SessionPool, lane: Lane, work: (session: SftpSession) => Promise<Result>): Promise<Result> {
  const { session, release } = await pool.take(lane);
  try {
    return await work(session);
  } finally {
    release();
  }
}

/** What is done behind a call goes over whatever connection there is. */
function tempPlaces(root: RemoteRoot, pool: SessionPool, { warn }: OpenContext): TempPlaces {
  const onNames = <Result>(work: (session: SftpSession) => Promise<Result>) => withSession(pool, 'names', work);
  return {
    placeOf: (folder, name) => childPlace(root.place(folder), name),
    remove: (place) => onNames((session) => removeOurs(session, place)),
    isRefusal,
    isThere: (place) => onNames(async (session) => (await orAbsent(session.lstat(place))) !== undefined),
    move: (from, to) => onNames((session) => session.rename(from, to)),
    // The server decides: it renames to free names alone.
    alone: (_path, work) => work(),
    folders: {
      make: (place) => onNames((session) => session.makeFolder(place)),
      remove: (place) => onNames((session) => session.removeFolder(place)),
      async *namesIn(place) {
        const { session, release } = await pool.take('names');
        try {
          for await (const page of folderPages(session, place)) for (const { name } of page) yield name;
        } finally {
          release();
        }
      },
    },
    tellsUse: true,
    warn,
  };
}

/** A file of ours; under a name that is a user's, what took it, with nothing in it, for something that did not get it. */
async function removeOurs(session: SftpSession, place: string): Promise<void> {
  // Under a long name it lies in a folder of ours.
  if ([place, posix.dirname(place)].some((each) => isReservedName(posix.basename(each)))) return session.removeFile(place);
  const there = await orAbsent(session.lstat(place));
  if (there?.kind === 'folder') await session.removeFolder(place);
  else if (there?.kind === 'file' && there.sizeBytes === 0) await session.removeFile(place);
}

/** Connects, and holds the server to the key that is kept. The first one it shows is kept when it has let us in. */
async function connect(
  settings: SftpSettings,
  key: PrivateKey | undefined,
  context: OpenContext,
  signal: AbortSignal,
): Promise<SftpSession> {
  const kept = context.keptItem('host_key');
  const known = parseHostKey(kept.value);
  const address = `${settings.host}:${settings.port}`;
  const session = await SftpSession.connect({
    settings,
    key,
    password: settings.password,
    egress: context.egress,
    signal,
    hostKeyType: known?.type,
    checkHostKey(seen) {
      if (known !== undefined && known.fingerprint !== seen.fingerprint) throw changedHostKey(address, known, seen);
    },
  });
  if (known !== undefined) return session;
  try {
    const stored = parseHostKey(await kept.replace('', formatHostKey(session.hostKey)));
    if (stored?.fingerprint === session.hostKey.fingerprint) return session;
    throw stored === undefined ? storageError('STORAGE_UNAVAILABLE') : changedHostKey(address, stored, session.hostKey);
  } catch (error) {
    session.end();
    throw error;
  }
}

/** Where the root is, past links. @throws AppError FAILED_PRECONDITION, for the admin */
async function findRoot(session: SftpSession, rootPath: string): Promise<string> {
  const real = await orAbsent(session.realpath(rootPath));
  const attrs = real === undefined ? undefined : await orAbsent(session.stat(real));
  if (real === undefined || attrs?.kind !== 'folder') throw new AppError('FAILED_PRECONDITION', `root folder ${rootPath} not exists`);
  return real;
}

/** Whether a name can be reached by a path of ours and leads to one entry. Notes it. */
function isNew({ name }: RemoteName, listed: NameSet): boolean {
  return isEntryName(name) && !name.includes(REPLACEMENT) && !isReservedName(name) && listed.add(name);
}

function toEntry(name: EntryName, { attrs, isLink }: Seen): Entry {
  const isDirectory = attrs.kind === 'folder';
  return {
    name,
    isDirectory,
    sizeBytes: attrs.kind === 'file' ? attrs.sizeBytes : 0,
    modifiedAt: new Date(attrs.modifiedAt * 1000),
    ...(isLink && { isLink: true }),
  };
}

/** The protocol has unsigned seconds. That it was used now tells of a file which has no name of its own yet that it is not abandoned. */
function timesOf(modifiedAt: Date | undefined): ChangedAttrs {
  if (modifiedAt === undefined) return {};
  const seconds = (ms: number) => Math.min(MAX_SECONDS, Math.max(0, Math.floor(ms / 1000)));
  return { atime: seconds(Date.now()), mtime: seconds(modifiedAt.getTime()) };
}

function requireSize(writtenBytes: number, storedBytes: number): void {
  if (writtenBytes !== storedBytes)
    throw storageError('CONTENT_CORRUPT', new Error(`${writtenBytes} bytes were written, the server has ${storedBytes}`));
}
