import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { currentOwner, newOwnedName, type ProcessOwner } from '@wharf/owned-names';
import { MOUNT_ROOT, type MountPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { storageError } from '../../driver-contract/storage-error.ts';
import {
  draftNames,
  isAbandoned,
  isOfAnotherProcess,
  isReservedName,
  newBesideName,
  TEMP_FOLDER,
} from '../../driver-contract/temp-names.ts';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import { isAbsence } from './errors.ts';
import { bringBack } from './remove-aside.ts';
import { removeTree } from './remove-tree.ts';

/** Names a temporary entry across threads. */
export interface TempRef {
  /** The folder it lies in, when that is not the one below the root. */
  readonly besideIn?: MountPath;
  readonly name: string;
}

const SWEEP_EVERY_MS = 60 * 60 * 1000;
const MAX_TRIES = 50;
/** Whether a folder lies on the disk of the root is asked again after that. What is mounted between the question and the name is met by the rename. */
const MOUNTS_HOLD_MS = 1_000;

/** A folder that several use at once: it is closed when it is retired and nobody has it any more. */
interface SharedFolder {
  readonly openedAt: number;
  lend(): HeldFolder;
  retire(): void;
}

/** Where files are put together before they get their name. Everything in it carries the name of its owner, see `temp-names.ts`. */
export class TempArea {
  readonly #root: ConfinedRoot;
  readonly #owner: ProcessOwner = currentOwner();
  #nextSweepAt = performance.now() + SWEEP_EVERY_MS;
  /** Ours in the folder of temporary entries that are not done with: as long as there are any, it need not be tried to take it away. */
  readonly #pending = new Set<string>();
  /** By real path. */
  readonly #onRootMount = new LRUCache<string, boolean>({ max: 100, ttl: MOUNTS_HOLD_MS });

  /** Those that `whileHeld` runs, and what they share of the folder of temporary entries. */
  #holders = 0;
  #shared: SharedFolder | undefined;

  constructor(root: ConfinedRoot) {
    this.#root = root;
  }

  /**
   * Makes a temporary entry that can be renamed into `target`: below the root when both are on one file system, else in `target` itself.
   * `make` gets its place on the disk and must fail when something is there.
   */
  create<Made>(target: HeldFolder, targetPath: MountPath, make: (place: string) => Made): { ref: TempRef; made: Made } {
    if (performance.now() > this.#nextSweepAt) {
      this.#nextSweepAt = performance.now() + SWEEP_EVERY_MS;
      void this.sweep();
    }
    const area = this.#isOnRootMount(target) ? this.#createInArea(make) : undefined;
    if (area !== undefined) {
      this.#pending.add(area.ref.name);
      return area;
    }
    const name = newBesideName(this.#owner);
    return { ref: { besideIn: targetPath, name }, made: make(target.prefix + name) };
  }

  /** Keeps the folder of temporary entries open while `work` uses it, for all who do at once: to find it takes five calls. */
  async whileHeld<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#holders += 1;
    try {
      return await work();
    } finally {
      this.#holders -= 1;
      if (this.#holders === 0) this.#forgetShared();
    }
  }

  /** Makes or opens the draft of a file that will be in `target`. @throws ENOENT | EEXIST */
  openDraft(target: HeldFolder, targetPath: MountPath, id: string, flags: number): { ref: TempRef; made: number } {
    const open = (place: string) => fs.openSync(place, flags, 0o666);
    const { inArea, beside } = draftNames(id);
    const isNew = (flags & fs.constants.O_CREAT) !== 0;
    if (this.#isOnRootMount(target)) {
      const made = isNew ? this.#createInArea(open, () => inArea) : this.#openInArea(open, inArea);
      if (made !== undefined) return made;
    }
    return { ref: { besideIn: targetPath, name: beside }, made: open(target.prefix + beside) };
  }

  /** Runs `use` with the place of a temporary entry, and takes the folder of such entries away when it is empty then. */
  async at<Result>(ref: TempRef, use: (place: string) => Promise<Result>): Promise<Result> {
    const held = ref.besideIn === undefined ? this.#holdArea() : this.#root.holdFolder(ref.besideIn);
    try {
      return await use(held.prefix + ref.name);
    } finally {
      this.#pending.delete(ref.name);
      const isLast = ref.besideIn === undefined && !this.#hasPending(held);
      held.close();
      if (isLast) this.#dropAreaIfEmpty();
    }
  }

  /** Removes what a write or a copy has left. Nothing there is success. */
  async discard(ref: TempRef): Promise<void> {
    // The folder of such files goes with the last of them.
    if (ref.besideIn === undefined && !this.#hasArea()) {
      this.#pending.delete(ref.name);
      return;
    }
    try {
      await this.at(ref, removeAny);
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }

  /**
   * Removes what owners that have ended left below the root.
   *
   * @returns whether nothing is left that another look may find abandoned. Never rejects: what cannot be looked at or removed is left
   */
  async sweep(): Promise<boolean> {
    try {
      const area = this.#findArea();
      if (area === undefined) return true;
      let isDone = true;
      try {
        for (const name of fs.readdirSync(area.prefix)) if (!(await this.sweepOne(area, name))) isDone = false;
      } finally {
        area.close();
      }
      this.#dropAreaIfEmpty();
      return isDone;
    } catch {
      return false;
    }
  }

  /** Removes one temporary entry of a folder if its owner has ended. @returns as {@link sweep} */
  async sweepOne(folder: HeldFolder, name: string): Promise<boolean> {
    try {
      if (bringBack(this.#root, folder, name, this.#owner)) return true;
      const { mtimeMs, ctimeMs } = fs.lstatSync(folder.prefix + name);
      // What is about to be named has the date of its file by then: when it got that tells that somebody works on it.
      if (!isAbandoned(name, Math.max(mtimeMs, ctimeMs), this.#owner, Date.now())) return !isOfAnotherProcess(name, this.#owner);
      await removeAny(folder.prefix + name);
      return true;
    } catch (error) {
      // It went away by itself, or is not ours to remove.
      return systemCodeOf(error) === 'ENOENT';
    }
  }

  #openInArea<Made>(open: (place: string) => Made, name: string): { ref: TempRef; made: Made } | undefined {
    const area = this.#findArea();
    if (area === undefined) return undefined;
    try {
      return { ref: { name }, made: open(area.prefix + name) };
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
      return undefined;
    } finally {
      area.close();
    }
  }

  #createInArea<Made>(make: (place: string) => Made, newName = () => newOwnedName(this.#owner)): { ref: TempRef; made: Made } | undefined {
    // Another writer may take the folder away whenever it is empty.
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const area = this.#findArea() ?? this.#makeArea();
      if (area === undefined) return undefined;
      try {
        const name = newName();
        return { ref: { name }, made: make(area.prefix + name) };
      } catch (error) {
        const errno = systemCodeOf(error);
        if (errno === 'EACCES' || errno === 'EPERM') return undefined;
        if (errno !== 'ENOENT') throw error;
        this.#forgetShared();
      } finally {
        area.close();
      }
    }
    return undefined;
  }

  #forgetShared(): void {
    this.#shared?.retire();
    this.#shared = undefined;
  }

  #isOnRootMount(target: HeldFolder): boolean {
    if (target.realPath === this.#root.rootPath) return true;
    const known = this.#onRootMount.get(target.realPath);
    if (known !== undefined) return known;
    const root = this.#root.holdFolder(MOUNT_ROOT);
    try {
      const isOn = mountOf(root) === mountOf(target);
      this.#onRootMount.set(target.realPath, isOn);
      return isOn;
    } finally {
      root.close();
    }
  }

  #makeArea(): HeldFolder | undefined {
    const root = this.#root.holdFolder(MOUNT_ROOT);
    try {
      fs.mkdirSync(root.prefix + TEMP_FOLDER, 0o700);
    } catch (error) {
      const errno = systemCodeOf(error);
      if (errno === 'EACCES' || errno === 'EPERM') return undefined;
      if (errno !== 'EEXIST') throw error;
    } finally {
      root.close();
    }
    return this.#findArea();
  }

  #findArea(): HeldFolder | undefined {
    if (this.#holders === 0) return this.#openArea();
    if (this.#shared !== undefined && performance.now() - this.#shared.openedAt > MOUNTS_HOLD_MS) this.#forgetShared();
    if (this.#shared === undefined) {
      const area = this.#openArea();
      this.#shared = area && shared(area);
    }
    return this.#shared?.lend();
  }

  #openArea(): HeldFolder | undefined {
    const root = this.#root.holdFolder(MOUNT_ROOT);
    try {
      return this.#root.holdOwnFolder(root, TEMP_FOLDER);
    } catch (error) {
      // A file or a link in its place is not ours: temporary files then lie beside their targets.
      if (isAbsence(error) || systemCodeOf(error) === 'EACCES') return undefined;
      throw error;
    } finally {
      root.close();
    }
  }

  /** Another thread may be done with what this one has made: only what is there is not done with. */
  #hasPending(area: HeldFolder): boolean {
    for (const name of this.#pending) {
      if (fs.existsSync(area.prefix + name)) return true;
      this.#pending.delete(name);
    }
    return false;
  }

  #hasArea(): boolean {
    const area = this.#findArea();
    area?.close();
    return area !== undefined;
  }

  #holdArea(): HeldFolder {
    const area = this.#findArea();
    if (area === undefined) throw storageError('STORAGE_UNAVAILABLE');
    return area;
  }

  /** Never throws: it stays where it cannot be removed, and where the root has gone there is nothing to remove. */
  #dropAreaIfEmpty(): void {
    try {
      const root = this.#root.holdFolder(MOUNT_ROOT);
      try {
        fs.rmdirSync(root.prefix + TEMP_FOLDER);
        this.#forgetShared();
      } finally {
        root.close();
      }
    } catch {
      // Somebody else's file is in it, or nothing is there.
    }
  }
}

function shared(folder: HeldFolder): SharedFolder {
  let users = 1;
  const leave = () => {
    users -= 1;
    if (users === 0) folder.close();
  };
  return {
    openedAt: performance.now(),
    lend() {
      users += 1;
      return { ...folder, close: leave };
    },
    retire: leave,
  };
}

/** Whether an entry of a folder is a temporary one that lies beside its target. */
export function isBesideName(name: string): boolean {
  return name !== TEMP_FOLDER && isReservedName(name);
}

async function removeAny(place: string): Promise<void> {
  if (fs.lstatSync(place).isDirectory()) await removeTree(place, undefined);
  else fs.unlinkSync(place);
}

/** Two folders with one answer can exchange entries by rename, as far as the system tells. */
function mountOf(folder: HeldFolder): string {
  return `${folder.stat().dev} ${folder.mountId()}`;
}
