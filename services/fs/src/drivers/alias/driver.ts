import { createHash, type Hash, randomInt } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createGate, createPace } from '@wharf/pace';
import { type EntryName, isWithin, MOUNT_ROOT, type MountPath, nameAt, parentPath, pathSegments, ROOT_NAME } from '@wharf/paths';
import { type CompleteDriver, decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { tellOfAllNames } from '../../driver-contract/long-listings.ts';
import { NameSet } from '../../driver-contract/name-set.ts';
import type { OpenContext } from '../../driver-contract/open-context.ts';
import { requireListedAbove } from '../../driver-contract/require-listed.ts';
import {
  type ByteRange,
  type CallOptions,
  type DirectLink,
  type DriverTraits,
  type Entry,
  type FileContent,
  type LinkOptions,
  type OptionalOperation,
  type PlaceOptions,
  type RemoveOptions,
  type Space,
  type StorageDriver,
  type StorageThumbnail,
  supports,
  type ThumbnailOptions,
  type WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { isNoStorage, isNotThere, isSaidOfPart, rootIsGone, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import { openOrLeave, whileOpen } from '../../driver-contract/while-open.ts';
import { whileWanted } from '../../driver-contract/while-wanted.ts';
import { beginIn, countOn, goOnRemoving } from './begun-removals.ts';
import type { AliasSettings, ChangePolicy } from './config.ts';
import { mergedTraits } from './merged-traits.ts';
import { type Found, isPassedOver, operationOf, Place } from './place.ts';
import { chooseAmong, isSameContent, turned } from './policies.ts';

/** Folders that are shown as one. */
interface Group {
  readonly name: EntryName;
  readonly places: readonly Place[];
}

/** Where a path leads: into a group, and to which path of its folders. */
interface Where {
  readonly group: Group;
  readonly path: MountPath;
}

/** Writes of one path where several folders may have it. */
interface Writes {
  running: number;
  /** How many of them the first folder has taken. */
  taken: number;
  /** The folders that take them. */
  readonly targets: Map<Place, StorageDriver>;
  /** Digests of what the latest of them were sent. */
  readonly sent: string[];
  /** Those that the first folder has not answered yet. */
  readonly firsts: Set<Promise<unknown>>;
}

const PARALLEL_LOOKS = 8;
/** How long a look counts that tells that a folder of a gateway can be listed. */
const LISTED_MS = 1_000;
/** So many contents are remembered of writes of one path. */
const MAX_SENT = 1_000;

/** @throws AppError FAILED_PRECONDITION (a circle; nothing is mounted at one of the paths); what opening says where none of the folders works */
export async function openAlias(settings: AliasSettings, context: OpenContext): Promise<StorageDriver> {
  const isOneName = settings.folders.length === 1;
  const groups = settings.folders.map(({ name, paths }) => ({
    name,
    places: paths.map((path) => {
      const shownAt = isOneName ? MOUNT_ROOT : (`/${name}` as MountPath);
      return new Place(path, () => context.openMount(path, { keepsNames: true, shownAt }));
    }),
  }));
  const places = groups.flatMap((group) => group.places);
  const outcomes = await Promise.allSettled(places.map((place) => place.driver()));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const wrong = failures.find((error) => AppError.is(error, 'FAILED_PRECONDITION') || AppError.is(error, 'INVALID_ARGUMENT'));
  if (wrong !== undefined || failures.length === places.length) throw wrong ?? failures[0];
  const [only, ...others] = places;
  const opened = only?.known;
  const operations = opened && others.length === 0 ? operationsOf(opened) : operationsOf(new AliasDriver(groups, settings));
  return decorated(allowed(operations, places, settings));
}

/** Operations that the policies let, and that the folders have. */
function allowed(operations: CompleteDriver, places: readonly Place[], settings: AliasSettings): CompleteDriver {
  const known = places.flatMap(({ known: driver }) => (driver === undefined ? [] : [driver]));
  const some = (operation: OptionalOperation) => known.some((driver) => supports(driver, operation));
  const areAllKnown = known.length === places.length;
  // A folder that is away just now may have what the others lack: that is told when it is asked for.
  const mayHave = (operation: OptionalOperation) => some(operation) || !areAllKnown;
  const every = (operation: OptionalOperation) => areAllKnown && known.every((driver) => supports(driver, operation));
  const { write, makeDirectory, remove, beginRemoval, rename, copy, openDraft, link, space, thumbnail } = operations;
  const [writes, puts] = [settings.write !== 'disabled', settings.put !== 'disabled'];
  return {
    ...operations,
    makeDirectory: writes && mayHave('makeDirectory') ? makeDirectory : undefined,
    remove: writes && mayHave('remove') ? remove : undefined,
    beginRemoval: writes && mayHave('beginRemoval') ? beginRemoval : undefined,
    rename: writes && some('rename') ? rename : undefined,
    write: puts && mayHave('write') ? write : undefined,
    copy: puts && some('copy') ? copy : undefined,
    openDraft: puts ? openDraft : undefined,
    link: every('link') ? link : undefined,
    thumbnail: some('thumbnail') ? thumbnail : undefined,
    space: settings.tellsSpace && some('space') ? space : undefined,
  };
}

/** Several folders of the tree as one storage. What a path has in several of them is, where it is looked at, what the first one has. */
class AliasDriver implements StorageDriver {
  readonly traits: DriverTraits;
  readonly #groups: readonly Group[];
  readonly #settings: AliasSettings;
  /** Writes where several folders may have what is written, by paths, while there are any. */
  readonly #writes = new Map<MountPath, Writes>();
  /** Below which folder something was missing a moment ago where what is above it could be listed. */
  readonly #listed = new Map<Place, { readonly folder: MountPath; readonly untilMs: number }>();
  #turn = 0;
  #isClosed = false;

  constructor(groups: readonly Group[], settings: AliasSettings) {
    this.#groups = groups;
    this.#settings = settings;
    const known = groups.flatMap(({ places }) => places.flatMap((place) => (place.known === undefined ? [] : [place.known.traits])));
    this.traits = mergedTraits(
      known,
      groups.some(({ places }) => places.length > 1),
    );
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    const where = this.#locate(path);
    if (where === undefined) return folderNamed(ROOT_NAME);
    const [found] = options.seesAll ? await this.#having(where, options) : [await this.#first(where, options)];
    if (!found) throw storageError('ENTRY_NOT_FOUND');
    const { entry } = found;
    return where.path === MOUNT_ROOT ? { ...entry, name: nameAt(path) } : entry;
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    const where = this.#locate(directory);
    if (where === undefined) {
      for (const { name } of this.#groups) yield folderNamed(name);
      return;
    }
    using seen = new NameSet();
    const pace = createPace(options.signal);
    const lists = where.group.places.map((place) => async (own: CallOptions) => (await place.driver()).list(where.path, own));
    const call = await tellOfAllNames(lists, options);
    let isFound = false;
    for (const place of where.group.places) {
      const driver = await place.driver();
      try {
        for await (const entry of driver.list(where.path, call)) {
          await pace.step();
          if (seen.shows(entry, options)) yield entry;
        }
        isFound = true;
      } catch (error) {
        // A file that is looked at first is what the path has; a folder behind a file is not seen.
        const isFile = AppError.is(error, 'NOT_A_DIRECTORY') && !isFound && (await this.#isFirst(where, place, options));
        if ((isFile && !options.seesBehind) || !isNotThere(error)) throw error;
        await requireNotAway(driver, options);
      }
    }
    if (!isFound) throw storageError('ENTRY_NOT_FOUND');
  }

  async read(file: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const where = this.#inGroup(file);
    if (this.#settings.read === 'first' || where.group.places.length === 1)
      return this.#ofFirst(where, options, (driver) => driver.read(where.path, range, options));
    const found = await this.#reachable(where, options);
    const [shown] = found;
    if (shown === undefined) throw storageError('ENTRY_NOT_FOUND');
    const same = found.filter((each) => each === shown || isSameContent(shown.entry, each.entry, this.#settings.comparesHashes));
    this.#turn = this.#settings.read === 'random' ? randomInt(same.length) : this.#turn + 1;
    let failure: unknown;
    for (const { driver } of turned(same, this.#turn)) {
      try {
        const content = await openOrLeave(options.signal, async (signal) => {
          const opened = await driver.read(where.path, range, { ...options, signal });
          return opened.entry.sizeBytes === shown.entry.sizeBytes || driver === shown.driver ? opened : undefined;
        });
        if (!content) continue;
        return {
          entry: driver === shown.driver ? content.entry : shown.entry,
          ...(content.whole && { whole: content.whole }),
          [Symbol.asyncIterator]: () => content[Symbol.asyncIterator](),
        };
      } catch (error) {
        if (!isPassedOver(error)) throw error;
        failure = error;
      }
    }
    throw failure ?? storageError('STORAGE_UNAVAILABLE');
  }

  async write(file: MountPath, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry> {
    this.#begin(options);
    const where = this.#placeFor(file);
    if (where === undefined) throw storageError('IS_A_DIRECTORY');
    const there = await this.#shown(where, options);
    if (there.length > 0 && !options.overwrite) throw storageError('ENTRY_EXISTS');
    if (there[0]?.entry.isDirectory) throw storageError('IS_A_DIRECTORY');
    const chosen = there.length > 0 ? this.#chosen(there, where) : await this.#placesFor(where, options);
    const writes: Writes = this.#writes.get(file) ?? { running: 0, taken: 0, sent: [], targets: new Map(), firsts: new Set() };
    const [target, ...more] = this.#withOthers(chosen, writes, where);
    if (target === undefined) throw storageError('STORAGE_READ_ONLY');
    if (where.group.places.length === 1) return operationOf(target.driver, 'write')(where.path, content, options);
    this.#writes.set(file, writes);
    writes.running += 1;
    for (const { place, driver } of [target, ...more]) writes.targets.set(place, driver);
    /** Gives a folder what was sent, unless another write has replaced it meanwhile, which gives the others what it was sent. */
    const passOn = async (driver: StorageDriver, before: number, sha256: string) => {
      await this.#copyOn(where.path, target.driver, driver, options, sha256).catch(async (error: unknown) => {
        if (!AppError.is(error, 'CONTENT_CORRUPT')) throw error;
        if (!(await isReplaced(writes, before, options))) throw error;
        if (!(await this.#hasSent(where.path, target.driver, writes, options))) throw error;
      });
    };
    try {
      const sent = createHash('sha256');
      const before = writes.taken;
      const passed = hashed(content, sent, () => noteSent(writes, sent));
      const first = operationOf(target.driver, 'write')(where.path, passed, options).then((stored) => {
        writes.taken += 1;
        return stored;
      });
      writes.firsts.add(first);
      const entry = await first.finally(() => writes.firsts.delete(first));
      // A storage may have all of a content, and say so, before it asks for its end.
      const sha256 = noteSent(writes, sent);
      const hiding = await this.#hiding(where, target.place, options).catch(async (error: unknown) => {
        // A refusal leaves nothing that shows once the other one is gone. What another write has put there meanwhile is its own.
        if (there.length === 0) await target.driver.remove?.(where.path, { recursive: false, onlyIf: entry }).catch(() => undefined);
        throw asOfAnother(error);
      });
      for (const { driver } of [...more, ...hiding]) {
        await passOn(driver, before, sha256).catch((error: unknown) => {
          throw asOfAnother(error);
        });
      }
      return entry;
    } finally {
      writes.running -= 1;
      if (writes.running === 0) this.#writes.delete(file);
    }
  }

  /** Where each of several folders takes a write, those of the writes under way take it too: one may have made the file in some of them by now. */
  #withOthers(chosen: readonly Found[], { targets }: Writes, { group }: Where): readonly Pick<Found, 'place' | 'driver'>[] {
    if (!['all', 'all_strict', 'deterministic_or_all'].includes(this.#settings.put)) return chosen;
    const drivers = new Map([...targets, ...chosen.map(({ place, driver }) => [place, driver] as const)]);
    return group.places.flatMap((place) => {
      const driver = drivers.get(place);
      return driver ? [{ place, driver }] : [];
    });
  }

  /**
   * Folders that said that they do not have a file, and show one now in the place of what was written to a later one.
   *
   * @throws AppError ENTRY_EXISTS | IS_A_DIRECTORY; what any of them says but that it has nothing
   */
  async #hiding({ group, path }: Where, written: Place, options: WriteOptions): Promise<readonly Found[]> {
    const places = group.places.slice(0, group.places.indexOf(written));
    const hiding = await this.#having({ group: { ...group, places }, path }, options);
    if (hiding.length > 0 && !options.overwrite) throw storageError('ENTRY_EXISTS');
    if (hiding.some(({ entry }) => entry.isDirectory)) throw storageError('IS_A_DIRECTORY');
    return hiding;
  }

  /** Whether a folder has what one of several writes was sent: what none of them was, its storage made up. */
  async #hasSent(path: MountPath, driver: StorageDriver, writes: Writes, options: WriteOptions): Promise<boolean> {
    const { signal, caller, isPatient } = options;
    for (let taken = -1; taken !== writes.taken; ) {
      taken = writes.taken;
      const hash = createHash('sha256');
      const open = (reading: AbortSignal) => driver.read(path, undefined, { signal: reading, caller, isPatient });
      await whileOpen(signal, open, async (content) => {
        for await (const piece of content) hash.update(piece);
      });
      if (writes.sent.includes(hash.digest('hex'))) return true;
    }
    return false;
  }

  /** What another folder is to have is what was sent, not what the first one says that it has. @throws AppError CONTENT_CORRUPT: it has something else */
  async #copyOn(path: MountPath, from: StorageDriver, to: StorageDriver, options: WriteOptions, sha256: string): Promise<void> {
    const { signal, caller, isPatient, onProgress, overwrite } = options;
    const open = (reading: AbortSignal) => from.read(path, undefined, { signal: reading, caller, isPatient });
    await whileOpen(signal, open, (copy) => {
      const { sizeBytes, modifiedAt } = copy.entry;
      const own = { signal, caller, isPatient, onProgress, overwrite };
      return operationOf(to, 'write')(path, copy, { ...own, sizeBytes, modifiedAt, expectedHashes: { sha256 } });
    });
  }

  async makeDirectory(directory: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    const where = this.#placeFor(directory);
    if (where === undefined) return folderNamed(ROOT_NAME);
    const [there] = await this.#having(where, options);
    if (there) {
      if (!there.entry.isDirectory) throw storageError('ENTRY_EXISTS');
      return this.stat(directory, options);
    }
    const targets = await this.#placesFor(where, options, this.#settings.write);
    return onEach(targets, ({ driver }) => operationOf(driver, 'makeDirectory')(where.path, options));
  }

  async remove(path: MountPath, options: RemoveOptions): Promise<void> {
    this.#begin(options);
    const where = this.#belowGroup(path);
    if (options.begun !== undefined) return goOnRemoving(where.group.places, where.path, options, options.begun);
    const there = await this.#shown(where, options, true);
    const [first] = there;
    if (first === undefined) throw storageError('ENTRY_NOT_FOUND');
    const targets = chooseAmong(this.#settings.write, there, where.group.places.length);
    requireUnchanged(options.onlyIf, first.entry);
    // It was one content that was looked at: what another folder has instead of it stays, and so does this one.
    const isOther = ({ entry }: Found) => entry !== first.entry && !isSameContent(first.entry, entry, this.#settings.comparesHashes);
    if (options.onlyIf && !first.entry.isDirectory && targets.some(isOther)) throw storageError('STALE_VERSION');
    if (first.entry.isDirectory && !options.recursive) {
      const refuse = () => {
        throw storageError('DIRECTORY_NOT_EMPTY');
      };
      for await (const _ of this.list(path, { ...options, beforeNames: refuse })) refuse();
    }
    const nextSteps = countOn(options.beforeStep);
    // Each folder has a file of its own. The look was at the first one, which knows what it has stored since.
    const onlyIf = (found: Found) => options.onlyIf && (found === first ? options.onlyIf : found.entry);
    await onEach(targets, (found) =>
      operationOf(found.driver, 'remove')(where.path, { ...options, beforeStep: nextSteps(), onlyIf: onlyIf(found) }),
    );
  }

  async beginRemoval(paths: readonly MountPath[], options: CallOptions = {}): Promise<readonly (string | undefined | AppError)[]> {
    this.#begin(options);
    const gate = createGate(PARALLEL_LOOKS);
    const looks = paths.map((path) =>
      gate.run(async () => {
        const where = this.#belowGroup(path);
        const there = await this.#shown(where, options, true);
        if (there.length === 0) throw storageError('ENTRY_NOT_FOUND');
        return { where, targets: chooseAmong(this.#settings.write, there, where.group.places.length) };
      }),
    );
    return beginIn(await Promise.allSettled(looks), options);
  }

  async rename(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    const { source, target, sources } = await this.#placement(from, to, options, true);
    if (from === to) return this.stat(to, options);
    const targets = chooseAmong(this.#settings.write, sources, source.group.places.length);
    await this.#requireRoom(target, targets, options);
    return onEach(targets, ({ driver }) => oneStep(driver, 'rename')(source.path, target.path, options));
  }

  async copy(from: MountPath, to: MountPath, options: PlaceOptions): Promise<Entry> {
    const { source, target, sources } = await this.#placement(from, to, options);
    if (from === to) throw storageError('ENTRY_EXISTS');
    const there = await this.#shown(target, options);
    const chosen = there.length > 0 ? this.#chosen(there, target) : await this.#placesFor(target, options);
    const targets = sources.filter(({ place }) => chosen.some((each) => each.place === place));
    // Not all of them have it: then it is read and written.
    if (targets.length !== chosen.length) throw storageError('UNSUPPORTED_OPERATION');
    await this.#requireRoom(target, targets, options);
    return onEach(targets, ({ driver }) => oneStep(driver, 'copy')(source.path, target.path, options));
  }

  async link(file: MountPath, options: LinkOptions = {}): Promise<DirectLink> {
    this.#begin(options);
    const where = this.#inGroup(file);
    const { driver } = await this.#first(where, options);
    return oneStep(driver, 'link')(where.path, options);
  }

  async thumbnail(file: MountPath, options: ThumbnailOptions): Promise<StorageThumbnail> {
    this.#begin(options);
    const where = this.#inGroup(file);
    const { driver } = await this.#first(where, options);
    return oneStep(driver, 'thumbnail')(where.path, options);
  }

  async space(options: CallOptions = {}): Promise<Space> {
    this.#begin(options);
    const spaces = await Promise.all(this.#groups.flatMap(({ places }) => places.map((place) => spaceOf(place, options))));
    const known = spaces.filter((space) => space !== undefined);
    const sum = (key: keyof Space) => known.reduce((total, space) => total + space[key], 0);
    return { totalBytes: sum('totalBytes'), freeBytes: sum('freeBytes') };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#groups.flatMap(({ places }) => places.map((place) => place.close())));
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }

  /** Undefined: the folder of the groups themselves. @throws AppError ENTRY_NOT_FOUND */
  #locate(path: MountPath): Where | undefined {
    const [only] = this.#groups;
    if (only && this.#groups.length === 1) return { group: only, path };
    const [name] = pathSegments(path);
    if (name === undefined) return undefined;
    const group = this.#groups.find((each) => each.name === name);
    if (group === undefined) throw storageError('ENTRY_NOT_FOUND');
    return { group, path: (path.slice(name.length + 1) || MOUNT_ROOT) as MountPath };
  }

  /** Of a file. @throws AppError ENTRY_NOT_FOUND | IS_A_DIRECTORY */
  #inGroup(path: MountPath): Where {
    const where = this.#locate(path);
    if (where === undefined) throw storageError('IS_A_DIRECTORY');
    return where;
  }

  /** Of what may be made: nothing is, beside the groups. @throws AppError STORAGE_READ_ONLY */
  #placeFor(path: MountPath): Where | undefined {
    const [name] = pathSegments(path);
    const isBeside = name !== undefined && this.#groups.length > 1 && !this.#groups.some((group) => group.name === name);
    if (isBeside) throw storageError('STORAGE_READ_ONLY');
    return this.#locate(path);
  }

  /** @throws AppError INVALID_ARGUMENT: the root, and the groups, are configuration */
  #belowGroup(path: MountPath): Where {
    const where = this.#locate(path);
    if (where === undefined || where.path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
    return where;
  }

  /** What is shown at a path. @throws as #ofFirst */
  #first(where: Where, options: CallOptions): Promise<Found> {
    return this.#ofFirst(where, options, async (driver, place) => ({ place, driver, entry: await driver.stat(where.path, options) }));
  }

  async #isFirst(where: Where, place: Place, options: CallOptions): Promise<boolean> {
    return (await this.#first(where, options)).place === place;
  }

  /** Asks one after the other until one has it. @throws AppError ENTRY_NOT_FOUND; the first failure where others may have it */
  async #ofFirst<Result>(
    where: Where,
    options: CallOptions,
    ask: (driver: StorageDriver, place: Place) => Promise<Result>,
  ): Promise<Result> {
    let failure: unknown;
    let missing: unknown;
    for (const place of where.group.places) {
      try {
        return await ask(await place.driver(), place);
      } catch (error) {
        throwIfAborted(options.signal);
        if (isNotThere(error)) missing ??= error;
        else if (!isPassedOver(error)) throw error;
        else failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    for (const place of where.group.places) await requireNotAway(await place.driver(), options);
    throw storageError('ENTRY_NOT_FOUND', missing);
  }

  /** Those that have what is shown at a path, as a file or as a folder: the other one of its name, which another folder may have, is nobody's to change. @param isToGo as of #having() */
  async #shown(where: Where, options: CallOptions, isToGo = false): Promise<Found[]> {
    const there = await this.#having(where, options, isToGo);
    return there.filter(({ entry }) => entry.isDirectory === there[0]?.entry.isDirectory);
  }

  /** All that have something at a path, in their order. @param isToGo whether it is to lose its name. @throws what any of them says but that it has nothing */
  async #having(where: Where, options: CallOptions, isToGo = false): Promise<Found[]> {
    const found = await Promise.all(where.group.places.map((place) => this.#look(place, where.path, options, isToGo)));
    return found.filter((each) => each !== undefined);
  }

  /** The same without those that do not answer; @throws where none does */
  async #reachable(where: Where, options: CallOptions): Promise<Found[]> {
    const looks = await Promise.allSettled(where.group.places.map((place) => this.#look(place, where.path, options)));
    throwIfAborted(options.signal);
    const found = looks.flatMap((look) => (look.status === 'fulfilled' && look.value ? [look.value] : []));
    const failure = looks.find((look) => look.status === 'rejected');
    if (found.length === 0 && failure) throw failure.reason;
    return found;
  }

  async #look(place: Place, path: MountPath, options: CallOptions, isToGo = false): Promise<Found | undefined> {
    const driver = await place.driver();
    try {
      return { place, driver, entry: await driver.stat(path, options) };
    } catch (error) {
      if (!isNotThere(error)) throw error;
      await requireNotAway(driver, options);
      if (isToGo && isSaidOfPart(error)) await this.#requireListedAbove(place, path, options);
      return undefined;
    }
  }

  /** What a gateway does not have may be away there. Many names of one folder are removed one after the other: that is asked for them together. */
  async #requireListedAbove(place: Place, path: MountPath, { signal, caller, isPatient }: CallOptions): Promise<void> {
    const folder = parentPath(path);
    const known = this.#listed.get(place);
    if (known?.folder === folder && performance.now() < known.untilMs) return;
    await requireListedAbove(await place.driver(), path, { signal, caller, isPatient });
    this.#listed.set(place, { folder, untilMs: performance.now() + LISTED_MS });
  }

  #chosen(there: readonly Found[], { group }: Where): readonly Found[] {
    return chooseAmong(this.#settings.put, there, group.places.length);
  }

  /** Who makes what is not there: those that have the nearest folder above it. @throws AppError NOT_A_DIRECTORY | as chooseAmong() */
  async #placesFor(where: Where, options: CallOptions & { readonly sizeBytes?: number | undefined }, policy = this.#settings.put) {
    let candidates: Found[] = [];
    for (let folder = parentPath(where.path); candidates.length === 0; folder = parentPath(folder)) {
      candidates = await this.#having({ ...where, path: folder }, options);
      if (folder === MOUNT_ROOT) break;
    }
    if (candidates[0]?.entry.isDirectory === false) throw storageError('NOT_A_DIRECTORY');
    const folders = candidates.filter(({ entry }) => entry.isDirectory);
    if (folders.length === 0) throw storageError('ENTRY_NOT_FOUND');
    const able = policy === 'all_strict' ? folders : folders.filter(({ driver }) => supports(driver, 'write'));
    if (able.length === 0) throw storageError('STORAGE_READ_ONLY');
    if (policy === 'random') return turned(able, randomInt(able.length)).slice(0, 1);
    if (policy === 'quota' || policy === 'quota_strict') return [await this.#roomiest(able, policy, options)];
    return chooseAmong(policy, able, where.group.places.length);
  }

  /** The one with the most free space. @throws AppError QUOTA_EXCEEDED: with `quota_strict`, none is known to have room */
  async #roomiest(
    candidates: readonly Found[],
    policy: ChangePolicy,
    options: CallOptions & { readonly sizeBytes?: number | undefined },
  ): Promise<Found> {
    const spaces = await Promise.all(candidates.map(({ place }) => spaceOf(place, options)));
    const free = spaces.map((space) => space?.freeBytes ?? -1);
    const most = Math.max(...free);
    const chosen = candidates[free.indexOf(most)];
    const isEnough = policy === 'quota' || (most >= 0 && most >= (options.sizeBytes ?? 0));
    if (chosen === undefined || !isEnough) throw storageError('QUOTA_EXCEEDED');
    return chosen;
  }

  /** What a rename and a copy ask first. @param isToGo as of #shown() */
  async #placement(from: MountPath, to: MountPath, options: PlaceOptions, isToGo = false) {
    this.#begin(options);
    if (from !== to && isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    const source = this.#belowGroup(from);
    const sources = await this.#shown(source, options, isToGo);
    if (sources.length === 0) throw storageError('ENTRY_NOT_FOUND');
    const target = this.#belowGroup(to);
    if (from !== to) {
      const parent = await this.#first({ ...target, path: parentPath(target.path) }, options);
      if (!parent.entry.isDirectory) throw storageError('NOT_A_DIRECTORY');
      if (source.group !== target.group) throw storageError('UNSUPPORTED_OPERATION');
    }
    return { source, target, sources };
  }

  /** Each of the folders can take the entry at its new place by itself, and none of the others shows something else there. */
  async #requireRoom(target: Where, targets: readonly Found[], options: PlaceOptions): Promise<void> {
    const there = await this.#having(target, options);
    if (there.length > 0 && !options.overwrite) throw storageError('ENTRY_EXISTS');
    const isShown = ({ entry }: Found) => entry.isDirectory === there[0]?.entry.isDirectory;
    const isOwn = ({ place }: Found) => targets.some((each) => each.place === place);
    if (!there.every((each) => isShown(each) && isOwn(each))) throw storageError('UNSUPPORTED_OPERATION');
    const parent = { ...target, path: parentPath(target.path) };
    const parents = await this.#having(parent, options);
    const hasParent = ({ place }: Found) => parents.some((each) => each.place === place && each.entry.isDirectory);
    if (!targets.every(hasParent)) throw storageError('UNSUPPORTED_OPERATION');
  }
}

/** A folder that is away with its storage has nothing: it says why where it is asked for itself. @throws what it says, but that it is not there */
async function requireNotAway(folder: StorageDriver, options: CallOptions): Promise<void> {
  await folder.stat(MOUNT_ROOT, options).catch((error: unknown) => {
    if (isNoStorage(error)) throw rootIsGone(error);
    if (!isNotThere(error)) throw error;
  });
}

/** One after the other. @returns what the first answers */
async function onEach<Answer>(targets: readonly Found[], run: (found: Found) => Promise<Answer>): Promise<Answer> {
  const [first, ...others] = targets;
  if (first === undefined) throw storageError('ENTRY_NOT_FOUND');
  const answer = await run(first);
  for (const other of others) await run(other);
  return answer;
}

/**
 * Whether another write was taken since there were `before`, beside the one that asks. A storage may show what it does not say yet, and say it in another
 * order: those that it has not answered are waited for, until it has taken one of them.
 *
 * @throws AppError CANCELLED
 */
async function isReplaced(writes: Writes, before: number, { signal }: CallOptions): Promise<boolean> {
  if (writes.taken > before + 1) return true;
  const another = Promise.any(writes.firsts).catch(() => undefined);
  await whileWanted(another, signal);
  return writes.taken > before + 1;
}

/** @returns the digest of what a write was sent, which is remembered */
function noteSent({ sent }: Writes, hash: Hash): string {
  const sha256 = hash.copy().digest('hex');
  if (!sent.includes(sha256)) sent.push(sha256);
  if (sent.length > MAX_SENT) sent.shift();
  return sha256;
}

/** Passes a content on. @param hash of what was passed on */
async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash, onEnd: () => void): AsyncGenerator<Uint8Array, void> {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
  onEnd();
}

async function spaceOf(place: Place, options: CallOptions): Promise<Space | undefined> {
  const driver = await place.driver().catch(() => undefined);
  return driver?.space?.(options).catch(() => undefined);
}

/** @throws AppError UNSUPPORTED_OPERATION: it is read and written instead */
function oneStep<Operation extends 'rename' | 'copy' | 'link' | 'thumbnail'>(driver: StorageDriver, operation: Operation) {
  if (!supports(driver, operation)) throw storageError('UNSUPPORTED_OPERATION');
  return operationOf(driver, operation);
}

/** What a folder says once another one has the content: that it is busy would say that nothing was begun. */
function asOfAnother(error: unknown): unknown {
  return AppError.is(error, 'OVERLOADED') ? storageError('STORAGE_UNAVAILABLE', error) : error;
}
