/** Dates are on whole seconds. */
const SECOND_MS = 1_000;
/** Dates have steps of a second, and servers of one store may tell the time differently: two of them. */
export const CLOCK_STEPS_MS = 2_000;
/** Answers tell the time by a clock that goes in ticks, 10 ms at most on common systems, and dates of objects come from a finer one: what is closer to the end of a second may be of the next. */
const TICK_MS = 50;
/** One in so many that would be believed is asked for all the same: a clock that is less than a second behind shows itself by these. */
const ASKED_EVERY = 32;

/** What a store says of an object. */
export interface ObjectHead {
  readonly sizeBytes: number;
  /** On whole seconds, as answers to HEAD say it. */
  readonly modifiedAt: Date;
  /** Its ETag without quotes. */
  readonly version: string;
  /** Which draft it was, or by which put with a condition it came, where it was so and the store was asked for it alone. */
  readonly draftId?: string | undefined;
}

/** What a store said of an object as it took it. */
export interface Taken {
  readonly version: string | undefined;
  readonly sizeBytes: number;
  /** The store's time, in milliseconds since 1970: not later than when it was sent, and when it was answered. Undefined: it did not say. */
  readonly sentAt: number | undefined;
  readonly answeredAt: number | undefined;
  /** Whether the store's second cannot have ended by then. */
  readonly isWithin: boolean;
  /** What had its key right before, where that is known. */
  readonly before?: ObjectHead | undefined;
}

/**
 * Spares a question for each new object. A store tells its time with each answer (`Date`): where it told the same second before an object was sent and after it
 * was taken, the object is of that second. That holds for stores whose dates of objects come from the same clock. So it is believed only of a store
 * whose objects were found in the time between, and never again of one where one was not; and only while the second goes on by our own clock too.
 */
export class StoreClock {
  #latest: number | undefined;
  /** When the last request was sent that was told that, by the clock of the process: it went on after that. */
  #toldAfterMs = Number.NEGATIVE_INFINITY;
  /** And when the last one was sent that was told less: it began after that. */
  #beganAfterMs = Number.NEGATIVE_INFINITY;
  #isTrusted: boolean | undefined;
  #believed = 0;

  /** The latest that was told, in milliseconds since 1970. */
  get latest(): number | undefined {
    return this.#latest;
  }

  /** @param date of any answer. @param askedAtMs when its request was sent, by the clock of the process. @returns what it says */
  hear(date: string | undefined, askedAtMs: number): number | undefined {
    const told = Date.parse(date ?? '');
    if (Number.isNaN(told)) return undefined;
    if (this.#latest === undefined || told > this.#latest) {
      this.#latest = told;
      this.#beganAfterMs = this.#toldAfterMs;
      this.#toldAfterMs = askedAtMs;
    } else if (told === this.#latest) this.#toldAfterMs = Math.max(this.#toldAfterMs, askedAtMs);
    return told;
  }

  /** Whether the latest second that was told surely goes on. */
  isWithin(nowMs: number): boolean {
    return nowMs < this.#beganAfterMs + SECOND_MS - TICK_MS;
  }

  /** What the store has now, where that is known. */
  headOf({ version, sizeBytes, sentAt, answeredAt, isWithin }: Taken): ObjectHead | undefined {
    if (!this.#isTrusted || version === undefined || answeredAt === undefined || sentAt !== answeredAt || !isWithin) return undefined;
    this.#believed += 1;
    if (this.#believed % ASKED_EVERY === 0) return undefined;
    return { sizeBytes, modifiedAt: new Date(answeredAt), version };
  }

  /** Learns from what the store says of an object that it has just taken. */
  compare({ version, sizeBytes, sentAt, answeredAt }: Taken, head: ObjectHead): void {
    // Somebody may have made another one since.
    if (sentAt === undefined || answeredAt === undefined || version !== head.version) return;
    const storedAt = head.modifiedAt.getTime();
    if (storedAt < sentAt || storedAt > answeredAt || sizeBytes !== head.sizeBytes) this.#isTrusted = false;
    else if (answeredAt - storedAt <= SECOND_MS) this.#isTrusted ??= true;
  }
}
