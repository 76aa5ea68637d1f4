import { currentOwner, type ProcessOwner } from '@wharf/owned-names';
import { createGate } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { type AsidePauses, type AsidePlaces, Asides } from './asides.ts';
import type { Calls } from './calls.ts';
import { createKeptPlaces, hasRoom } from './kept-places.ts';
import { isAbandoned, newBesideName } from './temp-names.ts';

/** What another host left goes after two days without a write: the clocks of hosts and servers differ. */
const OTHERS_MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** Right before a file of ours gets its name it is given the date that it is to have. So long it does not stay so. */
const NAMING_MS = 60 * 60 * 1000;
/** So many removals wait for their turn. What is more is found again by the next listing, and so is what is not kept of files that could not be removed. */
const MAX_WAITING = 1_000;
const PARALLEL_REMOVALS = 4;

/** How a server is told. A place is what it calls a path. */
export interface TempPlaces extends AsidePlaces {
  /** Removes what we put there. */
  remove(place: string): Promise<void>;
  /** The same for whoever may hold a connection, of a kind that others wait for. Absent: as `remove`. */
  readonly removeAside?: (place: string) => Promise<void>;
  /** Listings tell when a file was last worked on, whatever date it was given. Absent: they tell its date alone. */
  readonly tellsUse?: true;
}

/** The files of one storage that have no name of their own yet. They lie beside their targets, under names that tell whose they are. */
export class TempFiles {
  /** What had a name before, and may be all that there is of it. */
  readonly asides: Asides;
  readonly #places: TempPlaces;
  readonly #calls: Calls;
  readonly #owner: ProcessOwner = currentOwner();
  /** Those that could not be removed because the server was gone: it is asked again when it is back, and when the storage is closed. */
  readonly #left = createKeptPlaces();
  /** Those that were removed, as far as the server said: a write that was cut off may reach its end there afterwards. */
  readonly #discarded = createKeptPlaces();
  /** Others' files with an old date, and when they were first seen so. */
  readonly #old = createKeptPlaces<number>();
  /** What is being removed behind a listing: the next one sees it too. */
  readonly #swept = createKeptPlaces();
  readonly #removals = createGate(PARALLEL_REMOVALS, { max: MAX_WAITING, refusal: 'too much to remove' });

  /** @param pauses as `Asides` has them */
  constructor(places: TempPlaces, calls: Calls, pauses?: AsidePauses) {
    this.#places = places;
    this.#calls = calls;
    this.asides = new Asides(places, calls, this.#owner, (place, remove = places.removeAside) => this.discard(place, remove), pauses);
    calls.atEnd(() => this.removeLeft());
  }

  /** Where a file that will be in `folder` is put together. */
  newPlace(folder: MountPath): string {
    return this.placeOf(folder, newBesideName(this.#owner));
  }

  placeOf(folder: MountPath, name: string): string {
    return this.#places.placeOf(folder, name);
  }

  /** Removes a file of ours. Never rejects: what stays is removed later. @returns whether it is gone, as the server says */
  async discard(place: string, remove = (each: string) => this.#places.remove(each)): Promise<boolean> {
    this.#discarded.set(place, true);
    try {
      await remove(place);
      return true;
    } catch (error) {
      this.#keep(place, error);
      return false;
    }
  }

  /** Behind a sign that the server is back: removes what could not be removed before, and brings back what could not be. @param remove over a connection that is there already */
  removeLeft(remove = (place: string) => this.#places.remove(place)): void {
    this.asides.bringLost();
    for (const place of [...this.#left.keys()]) {
      this.#left.delete(place);
      this.#calls.track(this.#removals.run(() => remove(place)).catch((error: unknown) => this.#keep(place, error)));
    }
  }

  /** Behind a listing: removes what a process that has ended left there, and what came back of ours after it was removed. @param name of any entry, @param touchedMs when it was written to, or given a date, as far as the storage tells */
  sweep(folder: MountPath, name: string, touchedMs: number, remove = (place: string) => this.#places.remove(place)): void {
    const place = this.placeOf(folder, name);
    if (!hasRoom(this.#swept) || this.#swept.has(place) || (!this.#discarded.has(place) && !this.#isAbandoned(place, name, touchedMs)))
      return;
    this.#swept.set(place, true);
    this.#calls.track(this.#removals.run(() => remove(place)).finally(() => this.#swept.delete(place)));
  }

  #isAbandoned(place: string, name: string, touchedMs: number): boolean {
    const now = Date.now();
    const isAbandonedSince = (ms: number) => isAbandoned(name, ms, this.#owner, now, OTHERS_MAX_AGE_MS);
    if (!isAbandonedSince(touchedMs)) return false;
    if (this.#places.tellsUse || isAbandonedSince(now)) return true;
    const seenAt = this.#old.get(place) ?? now;
    this.#old.delete(place);
    if (now - seenAt > NAMING_MS) return true;
    this.#old.set(place, seenAt);
    return false;
  }

  #keep(place: string, error: unknown): void {
    if (!this.#places.isRefusal(error) && hasRoom(this.#left)) this.#left.set(place, true);
  }
}
