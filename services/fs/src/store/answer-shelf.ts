/** An answer that is kept in the store. */
export interface KeptAnswer {
  readonly _id: string;
  /** Whose; absent: nobody knows any more. */
  readonly userId?: number;
  /** In characters. */
  readonly length: number;
}

/** Of one user and of all, through one process; a long answer counts as several. The oldest go where there are more. */
const [MOST_OF_USER, MOST_OF_ALL] = [2_000, 20_000];
/** Each begun one of these is one, in characters. */
const PIECE = 1024;

/** Knows which answers the store keeps, so that they do not become too many: those that came last are the ones that may be asked for again. */
export interface Shelf {
  /** @returns what is to go in its place */
  put(answer: KeptAnswer): string[];
}

export function createShelf(): Shelf {
  const all = createRow(MOST_OF_ALL);
  const ofUsers = new Map<number | undefined, Row>();
  const take = (answer: KeptAnswer) => {
    const own = ofUsers.get(answer.userId);
    own?.take(answer._id);
    if (own?.isEmpty()) ofUsers.delete(answer.userId);
    all.take(answer._id);
  };
  return {
    put(answer) {
      take(answer);
      const { userId } = answer;
      const own = ofUsers.get(userId) ?? createRow(userId === undefined ? MOST_OF_ALL : MOST_OF_USER);
      ofUsers.set(userId, own);
      own.add(answer);
      all.add(answer);
      const gone = [];
      for (let oldest = own.tooMany() ?? all.tooMany(); oldest; oldest = own.tooMany() ?? all.tooMany()) {
        take(oldest);
        gone.push(oldest._id);
      }
      return gone;
    },
  };
}

type Row = ReturnType<typeof createRow>;

/** Answers in the order in which they came. */
function createRow(most: number) {
  const answers = new Map<string, KeptAnswer>();
  let count = 0;
  const countOf = ({ length }: KeptAnswer) => 1 + Math.floor(length / PIECE);
  return {
    add(answer: KeptAnswer) {
      answers.set(answer._id, answer);
      count += countOf(answer);
    },
    take(_id: string) {
      const answer = answers.get(_id);
      if (answer && answers.delete(_id)) count -= countOf(answer);
    },
    /** @returns the oldest one where there are too many */
    tooMany(): KeptAnswer | undefined {
      return count > most ? answers.values().next().value : undefined;
    },
    isEmpty: () => answers.size === 0,
  };
}
