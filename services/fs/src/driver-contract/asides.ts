import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { ProcessOwner } from '@wharf/owned-names';
import { createGate, ownText } from '@wharf/pace';
import { childPath, type EntryName, isEntryName, isWithin, type MountPath, nameAt, parentPath } from '@wharf/paths';
import type { Calls } from './calls.ts';
import { createKeptPlaces, hasRoom } from './kept-places.ts';
import { childPlace, isOneName } from './remote-places.ts';
import type { Entry } from './storage-driver.ts';
import { Lost } from './storage-error.ts';
import { isReservedName, newAsideName, readAsideName, type SaidAside, settledName } from './temp-names.ts';

/** When it is looked for again, in milliseconds after the last time. */
export interface AsidePauses {
  /** What stepped aside, while its server is away. */
  readonly back: readonly number[];
  /** What was not seen to step aside: a server may do late what it was told before a connection broke. */
  readonly again: readonly number[];
}

/** Together 16 seconds, and five minutes. */
const PAUSES: AsidePauses = { back: [250, 500, 1_000, 2_000, 4_000, 8_000], again: [1_000, 3_000, 6_000, 20_000, 60_000, 210_000] };
/** Nobody has something aside for longer, but where its process has ended: whether one of another host or container has cannot be seen otherwise. */
const MAX_ASIDE_MS = 10 * 60 * 1000;
const PARALLEL = 4;
/** The most that one listing brings back: the next one goes on. So much is looked at in a folder of ours, too. */
const MAX_BACK = 100;
/** So many names of a listing are looked at: each may be of another process, which is asked for. */
const MAX_LOOKED_AT = 1_000;
/** No name of ours is longer. */
const MAX_NAME_LENGTH = 255;

/** Names of what is aside for a call that runs in this process: a folder above may get another name meanwhile. */
const usedNames = new Set<string>();
/** Names of what something else has taken the place of, and that could not be removed: it is nobody's any more, for no storage of this process. */
const spentNames = createKeptPlaces();

/** How a server is told. A place is what it calls a path. */
export interface AsidePlaces {
  placeOf(folder: MountPath, name: string): string;
  /** Whether a failure is the server's word: to ask again helps nothing. */
  isRefusal(error: unknown): boolean;
  /** Whether anything is there, a file or a folder. */
  isThere(place: string): Promise<boolean>;
  /** Gives what is at `from` the free name `to`. @param isRespelled it had that name a moment ago, and was to get another spelling of it */
  move(from: string, to: string, isRespelled: boolean): Promise<void>;
  /** Runs alone among the calls of this storage that change what is at a path. */
  alone<Result>(path: MountPath, work: () => Promise<Result>): Promise<Result>;
  /** Folders of ours for names that are too long to be a part of another. Absent: nothing ever steps aside there. */
  readonly folders?: {
    /** Whatever steps aside lies in one: once that is gone, nothing that the server carries out late finds its way there. */
    readonly always?: true;
    make(place: string): Promise<void>;
    /** An empty one. */
    remove(place: string): Promise<void>;
    /** As the server says them; not read to the end. */
    namesIn(place: string): AsyncIterable<string>;
  };
  /** For whoever runs Wharf. */
  warn(error: unknown): void;
}

/** Something that has lost its name for a while. */
interface Aside {
  /** Of what lies in its folder, it or the folder of ours; undefined: no listing takes it for something that stepped aside. */
  readonly name: string | undefined;
  readonly place: string;
  /** The folder of ours that it lies in, if any. */
  readonly holder: string | undefined;
  /** What it is to be called again. */
  readonly path: MountPath;
  /** It was to get another spelling of its name, and nothing else was to take its place: it is never removed. */
  readonly isRespelled: boolean;
  /** Where that comes from which is to take its name: while it is there, what has the name is somebody else's, and this is the only copy of what was there. */
  readonly source: string | undefined;
}

/** How something steps aside. */
interface SteppingAside {
  /** It gets another spelling of its name in the end, so that nothing lies aside then. */
  readonly isRespelled?: boolean;
  /** Where that comes from which is to take its name. */
  readonly source?: string;
  /** Removes what still lies aside, over a connection that the caller holds. Absent: over another one. */
  readonly remove?: (place: string) => Promise<void>;
  /** So long, in milliseconds, what stepped aside stays in its place, behind the call. Asked when something else has its name. */
  readonly lingerMs?: () => number;
}

interface Missed extends Aside {
  /** By the clock of `performance`. */
  readonly sinceMs: number;
}

type Outcome = 'back' | 'taken' | 'gone';

/**
 * What steps aside for what takes its name, on servers that do not replace in one step. It lies under a name that says whose it is and what it is called, and
 * is never removed before something else has its name: what a process that has ended left is brought back by the next listing of its folder.
 */
export class Asides {
  readonly #places: AsidePlaces;
  readonly #calls: Calls;
  readonly #owner: ProcessOwner;
  readonly #pauses: AsidePauses;
  readonly #remove: (place: string, remove?: (place: string) => Promise<void>) => Promise<boolean>;
  /** What could not be brought back: that is tried again when the server is back, and when the storage is closed. */
  readonly #lost = createKeptPlaces<Aside>();
  /**
   * What was not seen to have its name again, as the server refused that, or said that there is nothing: it may be wrong for a moment, or only about to do what
   * it was told. It is looked for again some times, and before what is at the path is looked at or changed; a listing that shows it brings it back.
   */
  readonly #missed = createKeptPlaces<Missed>();
  /** What is being brought back for listings: those that come meanwhile wait for it too. */
  readonly #coming = new Map<string, Promise<MountPath | undefined>>();
  /** What was told of already. */
  readonly #told = createKeptPlaces();
  readonly #gate = createGate(PARALLEL);

  /** @param remove removes a file of ours, and says whether it did. Never rejects. @param pauses others than the standard ones are given by tests only */
  constructor(
    places: AsidePlaces,
    calls: Calls,
    owner: ProcessOwner,
    remove: (place: string, remove?: (place: string) => Promise<void>) => Promise<boolean>,
    pauses = PAUSES,
  ) {
    this.#pauses = pauses;
    this.#places = places;
    this.#calls = calls;
    this.#owner = owner;
    this.#remove = remove;
  }

  /**
   * Something gives up its name for something else, or for another spelling of it. Where that fails it has its name again; where another one has the name
   * meanwhile, that one stays, and so does what stepped aside, by a name of ours. To be run alone among what changes the path.
   *
   * @param work moves what is at the path to the place that it is given, and then something to where that was. What still lies aside in the end is removed
   * @throws what the work throws; Lost
   */
  async stepAside(
    path: MountPath,
    work: (place: string) => Promise<void>,
    { isRespelled = false, source, remove, lingerMs = () => 0 }: SteppingAside = {},
  ): Promise<void> {
    const aside = { ...this.#newAside(path), isRespelled, source };
    usedNames.add(aside.name);
    try {
      await this.#whileAside(aside, work);
      const lingersMs = lingerMs();
      if (isRespelled) await this.#removeHolder(aside);
      else if (lingersMs === 0) await this.#drop(aside, remove);
      else this.#calls.track(this.#linger(aside, lingersMs, remove));
    } finally {
      usedNames.delete(aside.name);
    }
  }

  async #linger(aside: Aside & { readonly name: string }, forMs: number, remove?: (place: string) => Promise<void>): Promise<void> {
    spentNames.set(aside.name, true);
    // Where this process ends meanwhile the next one is told by it that nobody misses what lies there: its name may be free by then.
    const mark = settledName(newAsideName(this.#owner, undefined, Date.now()).name);
    if (aside.holder !== undefined) await this.#places.folders?.make(childPlace(aside.holder, mark)).catch(() => undefined);
    await wait(forMs, undefined, { signal: this.#calls.closing }).catch(() => undefined);
    await this.#drop(aside, remove);
  }

  async #whileAside(aside: Aside, work: (place: string) => Promise<void>): Promise<void> {
    try {
      if (aside.holder !== undefined) await this.#places.folders?.make(aside.holder);
      await work(aside.place);
    } catch (error) {
      await this.#bringBack(aside);
      throw error;
    }
  }

  /** What lies at a place of ours may be all that there is of what is to be at the path: sees to it, behind the call, that it has its name if nothing else has. */
  keep(place: string, path: MountPath): void {
    const aside = { name: undefined, place, holder: undefined, path, isRespelled: false, source: undefined };
    this.#calls.track(this.#bringBack(aside, (attempt) => this.#places.alone(path, attempt)));
  }

  /** Behind a sign that the server is back: what could not be brought back before has its name again. */
  bringLost(): void {
    for (const [outer, aside] of [...this.#lost.entries()]) {
      this.#lost.delete(outer);
      const attempt = () => this.#places.alone(aside.path, () => this.#giveOrDiscard(aside));
      this.#calls.track(this.#gate.run(attempt).catch((error: unknown) => this.#remember(aside, error)));
    }
  }

  /** Before what is at a path is looked at or changed: what was not seen to step aside may have done so since, and has its name again then. */
  async bringMissed(path: MountPath, signal?: AbortSignal): Promise<void> {
    if (this.#missed.size === 0) return;
    const sinceMs = performance.now() - MAX_ASIDE_MS;
    const missed = [...this.#missed.values()].filter((each) => each.sinceMs > sinceMs && isWithin(each.path, path));
    if (missed.length > 0) await this.#calls.run({ signal }, () => Promise.all(missed.map((each) => this.#bringAgain(each))));
  }

  /** Picks out of the names of a listing what `bringLeft` is to look at: no more than it does. */
  gather(folder: MountPath): { readonly names: readonly string[]; add(name: string): void } {
    const names: string[] = [];
    let lookedAt = 0;
    return {
      names,
      add: (name) => {
        if (names.length >= MAX_BACK || lookedAt >= MAX_LOOKED_AT || name.length > MAX_NAME_LENGTH) return;
        const said = readAsideName(name, this.#owner);
        if (said === undefined) return;
        lookedAt += 1;
        if (this.#isLeft(folder, name, said)) names.push(ownText(name));
      },
    };
  }

  /**
   * Behind a listing: gives what ended processes left aside its name again. What cannot have it stays, and whoever runs Wharf is told.
   *
   * @param left of `gather`. @param isListed whether a name is no news. @param stat of what came back
   */
  async *bringLeft(
    folder: MountPath,
    { names: left }: { readonly names: readonly string[] },
    isListed: (name: EntryName) => boolean,
    stat: (path: MountPath) => Promise<Entry>,
    signal?: AbortSignal,
  ): AsyncGenerator<Entry, void> {
    if (left.length === 0) return;
    const paths = await this.#calls.run({ signal }, () => Promise.all(left.map((name) => this.#bring(folder, name))));
    for (const path of paths) {
      const entry = path && !isListed(nameAt(path)) && (await stat(path).catch(() => undefined));
      if (entry) yield entry;
    }
  }

  #isLeft(folder: MountPath, name: string, { owner, sinceMs, isSettled }: SaidAside): boolean {
    const outer = this.#places.placeOf(folder, name);
    if (usedNames.has(name) || spentNames.has(name) || this.#lost.has(outer)) return false;
    if (this.#missed.has(outer)) return true;
    return !isSettled && (owner === 'gone' || owner === 'self' || Date.now() - sinceMs > MAX_ASIDE_MS);
  }

  #bring(folder: MountPath, name: string): Promise<MountPath | undefined> {
    const outer = this.#places.placeOf(folder, name);
    const coming = this.#coming.get(outer) ?? this.#gate.run(() => this.#bringOne(folder, name)).finally(() => this.#coming.delete(outer));
    this.#coming.set(outer, coming);
    return coming;
  }

  /** Never rejects. @returns what has its name again, also where somebody else has given it that */
  async #bringOne(folder: MountPath, name: string): Promise<MountPath | undefined> {
    try {
      const missed = this.#missed.get(this.#places.placeOf(folder, name));
      const aside = missed ?? (await this.#found(folder, name));
      if (aside === undefined) return undefined;
      const outcome = await this.#places.alone(aside.path, () => this.#give(aside));
      if (outcome === 'taken') await (isSpare(missed) ? this.#drop(missed) : this.#settle(folder, name, aside.path));
      // Its folder could not be removed before, or was made late.
      if (outcome === 'gone') await this.#removeHolder(aside);
      if (outcome !== 'gone') this.#missed.delete(this.#places.placeOf(folder, name));
      return outcome === 'taken' ? undefined : aside.path;
    } catch (error) {
      if (this.#places.isRefusal(error)) this.#tell(folder, name, 'it cannot be given its name', error);
      return undefined;
    }
  }

  /** @returns undefined for a folder of ours that holds nothing, or what was to linger: it is removed, in time */
  async #found(folder: MountPath, name: string): Promise<Aside | undefined> {
    const outer = this.#places.placeOf(folder, name);
    const { of, sinceMs = 0 } = readAsideName(name, this.#owner) ?? {};
    // Whether it was to be respelled is not known any more: it is never removed either.
    const kept = { name, isRespelled: true, source: undefined } as const;
    if (of !== undefined) return isOwnName(of) ? { place: outer, holder: undefined, path: childPath(folder, of), ...kept } : undefined;
    let inside = 0;
    let own: EntryName | undefined;
    for await (const each of this.#places.folders?.namesIn(outer) ?? []) {
      if (!isOneName(each)) continue;
      if (readAsideName(each, this.#owner)?.isSettled) {
        if (Date.now() - sinceMs > MAX_ASIDE_MS) await this.#remove(outer);
        return undefined;
      }
      if (isOwnName(each)) own ??= each;
      inside += 1;
      if (inside >= MAX_BACK) break;
    }
    if (own !== undefined) return { place: childPlace(outer, own), holder: outer, path: childPath(folder, own), ...kept };
    if (inside === 0) await this.#places.folders?.remove(outer);
    return undefined;
  }

  /** What another one has the name of for good is called so that it never has it again: once that one is removed, an old content would be back. */
  async #settle(folder: MountPath, name: string, path: MountPath): Promise<void> {
    const settled = settledName(name);
    await this.#places.move(this.#places.placeOf(folder, name), this.#places.placeOf(folder, settled), false);
    this.#tell(folder, settled, `something else is at ${path}`);
  }

  /** Tries it for a while. @throws Lost; it is remembered then */
  async #bringBack(aside: Aside, run = (attempt: () => Promise<void>) => attempt()): Promise<void> {
    for (const pauseMs of [...this.#pauses.back, undefined]) {
      try {
        return await run(() => this.#giveOrDiscard(aside));
      } catch (error) {
        if (this.#places.isRefusal(error) || pauseMs === undefined || this.#calls.connecting.aborted) {
          this.#remember(aside, error);
          throw new Lost(error);
        }
        // A storage that is being closed has no time left.
        await wait(pauseMs, undefined, { signal: this.#calls.connecting }).catch(() => undefined);
      }
    }
  }

  async #giveOrDiscard(aside: Aside): Promise<void> {
    const outcome = await this.#give(aside);
    // A listing finds it.
    if (outcome === 'taken' && aside.isRespelled) return;
    const { source } = aside;
    const isKept = outcome !== 'back' && source !== undefined && (await this.#places.isThere(source));
    if (outcome === 'taken' && !isKept) return this.#drop(aside);
    // Soon its source is there no more either.
    if (outcome !== 'back') this.#miss({ ...aside, source: isKept ? source : undefined });
    if (outcome !== 'taken') await this.#removeHolder(aside);
  }

  async #drop(aside: Aside, remove?: (place: string) => Promise<void>): Promise<void> {
    const holder = this.#places.folders?.always && aside.holder;
    const isGone = await this.#remove(holder ?? aside.place, remove);
    if (!isGone && aside.name !== undefined) spentNames.set(aside.name, true);
    if (holder === undefined) await this.#removeHolder(aside);
  }

  #miss(aside: Aside): void {
    const missed = { ...aside, sinceMs: performance.now() };
    const outer = outerOf(missed);
    const isNew = !this.#missed.has(outer);
    this.#missed.set(outer, missed);
    if (isNew) this.#calls.track(this.#lookAgain(missed));
  }

  async #lookAgain(missed: Missed): Promise<void> {
    for (const pauseMs of this.#pauses.again) {
      await wait(pauseMs, undefined, { signal: this.#calls.closing, ref: false });
      if (!this.#missed.has(outerOf(missed))) return;
      await this.#bringAgain(missed);
    }
  }

  /** Never rejects. What no listing takes for something that stepped aside never comes late: it was there before. */
  async #bringAgain({ path, name }: Aside): Promise<void> {
    if (name !== undefined) await this.#bring(parentPath(path), name);
  }

  async #give({ place, holder, path, isRespelled }: Aside): Promise<Outcome> {
    if (!(await this.#places.isThere(place))) return 'gone';
    const to = this.#places.placeOf(parentPath(path), nameAt(path));
    // Another process may be about to do the same: some servers make the new name before they remove the old one.
    if (await this.#places.isThere(to)) return (await this.#places.isThere(place)) ? 'taken' : 'gone';
    await this.#places.move(place, to, isRespelled);
    await this.#removeHolder({ holder });
    return 'back';
  }

  async #removeHolder({ holder }: Pick<Aside, 'holder'>): Promise<void> {
    if (holder !== undefined) await this.#places.folders?.remove(holder).catch(() => undefined);
  }

  #newAside(path: MountPath) {
    const [folder, name] = [parentPath(path), nameAt(path)];
    const aside = newAsideName(this.#owner, this.#places.folders?.always ? undefined : name, Date.now());
    const outer = this.#places.placeOf(folder, aside.name);
    if (!aside.isFolder) return { name: aside.name, place: outer, holder: undefined, path };
    return { name: aside.name, place: childPlace(outer, name), holder: outer, path };
  }

  /** What the server refuses is left to listings. */
  #remember(aside: Aside, error: unknown): void {
    if (this.#places.isRefusal(error)) this.#miss(aside);
    else if (hasRoom(this.#lost)) this.#lost.set(outerOf(aside), aside);
  }

  #tell(folder: MountPath, name: string, why: string, cause?: unknown): void {
    const place = this.#places.placeOf(folder, name);
    if (this.#told.has(place) || !hasRoom(this.#told)) return;
    this.#told.set(place, true);
    const text = `an older content, which stepped aside in ${folder} for a write that was cut off, stays there as ${name}: ${why}`;
    this.#places.warn(new AppError('FAILED_PRECONDITION', text, { cause }));
  }
}

/** What lies in its folder. */
function outerOf({ holder, place }: Aside): string {
  return holder ?? place;
}

/** Whether nobody misses it where something else has its name. */
function isSpare(aside: Aside | undefined): aside is Aside {
  return aside !== undefined && !aside.isRespelled && aside.source === undefined;
}

/** What a user's entry can be called. */
function isOwnName(name: string): name is EntryName {
  return isEntryName(name) && !isReservedName(name);
}
