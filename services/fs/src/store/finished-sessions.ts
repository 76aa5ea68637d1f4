import { removeInSteps, type writeSessionModelOf } from '@wharf/models';
import { LRUCache } from 'lru-cache';

/** How many sessions are kept whose files have their names: their answers may have been lost, and are asked for again. Each expires as long after it finished as any other. */
export interface MostFinished {
  /** Of one user, so that nobody pushes out those of others. */
  readonly ofUser: number;
  /** Of all: the embedded store holds some 200,000 documents. */
  readonly ofAll: number;
  /** So many at least end through this process between two looks at how many there are. */
  readonly lookEvery: number;
}

const MOST: MostFinished = { ofUser: 2_000, ofAll: 20_000, lookEvery: 100 };
/** Where there are too many, so much of what there may be goes. */
const GOES = 0.1;
/** Users of whom it is known when to look again. */
const MAX_KNOWN = 10_000;
/** What the state of a session is then. */
export const FINISHED = 'published';

/** Bounds how many finished sessions there are: each stays for a day, and small files are stored in no time. */
export interface FinishedSessions {
  /** To be called for each that has finished. The oldest are forgotten where there are too many. */
  note(userId: number): Promise<void>;
}

/** When it is to be looked again how many there are. */
interface Look {
  /** That have finished through this process. */
  noted: number;
  /** After so many. */
  next: number;
}

export function createFinishedSessions(model: ReturnType<typeof writeSessionModelOf>, most = MOST): FinishedSessions {
  const ofUsers = new LRUCache<number, Look>({ max: MAX_KNOWN });
  const ofAll: Look = { noted: 0, next: 0 };
  /** @returns how many are left */
  const trim = async (whose: { user_id?: number }, mostOfThem: number): Promise<number> => {
    const filter = { upload_state: FINISHED, ...whose };
    const there = await model.countDocuments(filter);
    if (there <= mostOfThem) return there;
    const tooMany = Math.ceil(there - mostOfThem * (1 - GOES));
    // Those of all are read in the order of the index over this date, and need not be sorted.
    await removeInSteps(model, { ...filter, expires_at: { $gt: new Date(0) } }, { expires_at: 1 }, tooMany);
    return there - tooMany;
  };
  const noteOne = async (look: Look, whose: { user_id?: number }, mostOfThem: number) => {
    look.noted += 1;
    if (look.noted <= look.next) return;
    // Of several at a time one looks.
    look.next = look.noted + most.lookEvery;
    const left = await trim(whose, mostOfThem);
    // Other replicas add some, too.
    look.next = look.noted + Math.max(most.lookEvery, Math.floor((mostOfThem - left) / 2));
  };
  return {
    async note(userId) {
      const ofUser = ofUsers.get(userId) ?? { noted: 0, next: 0 };
      ofUsers.set(userId, ofUser);
      await noteOne(ofUser, { user_id: userId }, most.ofUser);
      await noteOne(ofAll, {}, most.ofAll);
    },
  };
}
