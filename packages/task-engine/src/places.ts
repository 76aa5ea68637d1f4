import type { TaskRecord } from '@wharf/models';

/** As many tasks of a user as ended in the last so many milliseconds are claimed beyond the places... */
const AHEAD_MS = 100;
/** ... up to so many. */
const MOST_AHEAD = 16;
/** Small tasks that have one place together. */
const SMALL_PER_PLACE = 4;

type Placed = Pick<TaskRecord, 'kind' | 'creator_id'>;

/** Where one task is worked on. */
export interface Place {
  /** Resolves when it may begin: the tasks of a kind do so in the order in which they came, but for users who have their share. */
  readonly free: Promise<void>;
  /** Its task may not begin yet. */
  isAwaited(): boolean;
  /** Makes room for another task. Safe twice. */
  leave(): void;
}

/**
 * The places of a replica: so many for each kind, of which one user has a share. While tasks of a user end within milliseconds, a few more of them are
 * claimed than there are places, so that one request to the store takes several; they wait here until one is free.
 */
export interface Places {
  /** For a task that was claimed. @param isSmall it takes a part of a place */
  add(task: Placed, isSmall?: boolean): Place;
  /** How many more tasks of a kind may be claimed. @param count of places that it has from now on */
  room(kind: string, count: number): number;
  /** Users of whom no more may be claimed, and how many may be claimed at once, whosoever they are. */
  limits(kind: string): { readonly closed: readonly number[]; readonly most: number };
}

interface Seat {
  readonly task: Placed;
  readonly begin: () => void;
  /** How many of SMALL_PER_PLACE it takes. */
  readonly parts: number;
  isTaken: boolean;
}

export interface PlacesOptions {
  /** How many of so many places one user may have. */
  readonly shareOf: (places: number) => number;
  /** False: tasks are claimed one by one, for places that are free. */
  readonly mayRunAhead: boolean;
  /** A task has left: another one may be claimed. */
  readonly onRoom: () => void;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
}

export function createPlaces({ shareOf, mayRunAhead, onRoom, nowMs }: PlacesOptions): Places {
  const counts = new Map<string, number>();
  /** In the order of their claims. */
  const seats = new Set<Seat>();
  /** The last tasks of a kind that left their places: when, and whose they were. */
  const ends = new Map<string, readonly { readonly atMs: number; readonly creator: number }[]>();

  const of = (kind: string) => [...seats].filter(({ task }) => task.kind === kind);
  const countOf = (kind: string) => counts.get(kind) ?? 1;
  const recentEnds = (kind: string) => (ends.get(kind) ?? []).filter(({ atMs }) => nowMs() - atMs < AHEAD_MS);
  /** @param user quick tasks of one let none be claimed of another, whose tasks may take long; absent: of all */
  const aheadOf = (kind: string, user?: number) =>
    mayRunAhead ? recentEnds(kind).filter(({ creator }) => user === undefined || creator === user).length : 0;
  const awaitedIn = (some: readonly Seat[]) => some.filter(({ isTaken }) => !isTaken).length;
  const partsIn = (some: readonly Seat[]) => some.reduce((sum, { isTaken, parts }) => sum + (isTaken ? parts : 0), 0);
  /** Places of which no part is taken. */
  const wholeIn = (places: number, some: readonly Seat[]) => Math.floor(places - partsIn(some) / SMALL_PER_PLACE);

  const seatAll = (kind: string) => {
    const all = of(kind);
    if (awaitedIn(all) === 0) return;
    let left = countOf(kind) * SMALL_PER_PLACE - partsIn(all);
    const share = shareOf(countOf(kind)) * SMALL_PER_PLACE;
    /** Of their shares, by user. */
    const leftOf = new Map<number, number>();
    for (const { task, isTaken, parts } of all) leftOf.set(task.creator_id, (leftOf.get(task.creator_id) ?? share) - (isTaken ? parts : 0));
    for (const seat of all) {
      if (seat.isTaken) continue;
      const user = seat.task.creator_id;
      const own = leftOf.get(user) ?? share;
      // A task that needs a whole place is passed by no small one: of its user, where the share has no room for it, or of anybody.
      leftOf.set(user, seat.parts > own ? 0 : own - seat.parts);
      if (seat.parts > own) continue;
      left -= seat.parts;
      if (left < 0) return;
      seat.isTaken = true;
      seat.begin();
    }
  };

  return {
    add(task, isSmall = false) {
      const { promise: free, resolve: begin } = Promise.withResolvers<void>();
      const seat: Seat = { task, begin, parts: isSmall ? 1 : SMALL_PER_PLACE, isTaken: false };
      seats.add(seat);
      seatAll(task.kind);
      return {
        free,
        isAwaited: () => !seat.isTaken,
        leave() {
          if (!seats.delete(seat)) return;
          if (seat.isTaken) ends.set(task.kind, [...recentEnds(task.kind), { atMs: nowMs(), creator: task.creator_id }].slice(-MOST_AHEAD));
          seatAll(task.kind);
          onRoom();
        },
      };
    },
    room(kind, count) {
      counts.set(kind, count);
      seatAll(kind);
      const [all, ahead] = [of(kind), aheadOf(kind)];
      const awaited = awaitedIn(all);
      // Not one by one: a request takes as many as half of them.
      return wholeIn(count, all) + (awaited > ahead / 2 ? 0 : ahead - awaited);
    },
    limits(kind) {
      const held = Map.groupBy(of(kind), ({ task }) => task.creator_id);
      const share = shareOf(countOf(kind));
      const lefts = [...held].map(([id, own]) => {
        const ahead = aheadOf(kind, id);
        const awaited = awaitedIn(own);
        return { id, left: awaited > ahead / 2 ? 0 : wholeIn(share, own) + ahead - awaited };
      });
      const open = lefts.filter(({ left }) => left > 0);
      return {
        closed: lefts.filter(({ left }) => left <= 0).map(({ id }) => id),
        most: mayRunAhead ? Math.min(share + aheadOf(kind), ...open.map(({ left }) => left)) : 1,
      };
    },
  };
}
