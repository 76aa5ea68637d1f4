import type { WriteSessionRecord, writeSessionModelOf } from '@wharf/models';

/** How many sessions are kept whose files have their names: their answers may have been lost, and are asked for again. */
export interface MostFinished {
  /** Of one user, so that nobody pushes out those of others. */
  readonly ofUser: number;
  /** Of all: the embedded store holds some 200,000 documents. */
  readonly ofAll: number;
  /** Of one user that end through this process between two looks at how many there are. */
  readonly lookEvery: number;
}

const MOST: MostFinished = { ofUser: 2_000, ofAll: 20_000, lookEvery: 100 };
/** Where there are too many, so much of what there may be goes: to find the oldest costs a look at all. */
const GOES = 0.1;
/** What the state of a session is then. */
export const FINISHED = 'published';

/** Bounds how many finished sessions there are: each stays for a day, and small files are stored in no time. */
export interface FinishedSessions {
  /** To be called for each that has finished. The oldest are forgotten where there are too many. */
  note(userId: number): Promise<void>;
}

export function createFinishedSessions(model: ReturnType<typeof writeSessionModelOf>, most = MOST): FinishedSessions {
  const noted = new Map<number, number>();
  const trim = async (whose: { user_id?: number }, mostOfThem: number) => {
    const filter = { upload_state: FINISHED, ...whose };
    const there = await model.countDocuments(filter);
    if (there <= mostOfThem) return;
    const oldest = model.find(filter, { _id: 1 }).sort({ expires_at: 1 });
    const forgotten = await oldest.limit(Math.ceil(there - mostOfThem * (1 - GOES))).lean<Pick<WriteSessionRecord, '_id'>[]>();
    await model.deleteMany({ _id: { $in: forgotten.map(({ _id }) => _id) } });
  };
  return {
    async note(userId) {
      const before = noted.get(userId) ?? 0;
      noted.set(userId, before + 1);
      if (before % most.lookEvery !== 0) return;
      await trim({ user_id: userId }, most.ofUser);
      await trim({}, most.ofAll);
    },
  };
}
