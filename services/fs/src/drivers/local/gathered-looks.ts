import { type MountPath, maxPaths } from '@wharf/paths';
import { LRUCache } from 'lru-cache';

/** Looks at fewer entries take less time than the shortest wait of a timer. */
const MIN_ENTRIES = 60;
/** As long as that the next look waits, in times of the last one: with once the answers of half of eight callers come too late to ask for it. */
const PAUSE_OF_LOOK = 2;
/** A disk that takes longer keeps callers waiting by itself. */
const MAX_PAUSE_MS = 10;
/** A look that takes longer may never end: nobody waits for it any more. */
const MAX_LOOK_MS = 50;
const MAX_FOLDERS = 1000;

/** Those who look at a folder together. */
interface Party {
  count: number;
  /** Resolves when they may look. */
  readonly begins: Promise<void>;
}

interface Place {
  /** Callers whose look is under way. */
  looking: number;
  /** Called when the last of them has what it wants. */
  onLooked: () => void;
  /** What the last look took. */
  tookMs: number;
  /** Several looked the last time, or came meanwhile. */
  isCrowded: boolean;
  next: Party | undefined;
}

/**
 * Lets those who look at many entries of one folder again and again look together: where several do, the next look begins later by twice what
 * the last one took. Calls that come in one moment share a look (`disk-pool.ts`). Who looks alone never waits.
 */
export class GatheredLooks {
  readonly #places = new LRUCache<MountPath, Place>(maxPaths(MAX_FOLDERS));

  /** @param count how many entries are looked at */
  async run<Result>(directory: MountPath, count: number, look: () => Promise<Result>): Promise<Result> {
    if (count < MIN_ENTRIES) return look();
    const place = this.#placeOf(directory);
    if (place.looking > 0 || place.isCrowded || place.next !== undefined) {
      place.next ??= nextParty(place);
      place.next.count += 1;
      await place.next.begins;
    }
    place.looking += 1;
    const beganAt = performance.now();
    try {
      return await look();
    } finally {
      place.looking -= 1;
      place.tookMs = performance.now() - beganAt;
      if (place.looking === 0) place.onLooked();
    }
  }

  #placeOf(directory: MountPath): Place {
    const known = this.#places.get(directory);
    if (known !== undefined) return known;
    const place: Place = { looking: 0, onLooked: () => undefined, tookMs: 0, isCrowded: false, next: undefined };
    this.#places.set(directory, place);
    return place;
  }
}

function nextParty(place: Place): Party {
  const begin = async () => {
    if (place.looking > 0) await looked(place);
    await new Promise((resolve) => setTimeout(resolve, Math.min(MAX_PAUSE_MS, PAUSE_OF_LOOK * place.tookMs)));
    // Who waited alone has nobody to look with.
    place.isCrowded = party.count > 1;
    place.next = undefined;
  };
  const party: Party = { count: 0, begins: begin() };
  return party;
}

function looked(place: Place): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, MAX_LOOK_MS);
    place.onLooked = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
