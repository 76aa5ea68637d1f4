import { AppError } from '@wharf/errors';
import { lasts, outsideCalls } from '@wharf/pace';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import type { Loan } from './loans.ts';

/**
 * A storage that failed is opened again after this pause, also when nobody asks for it. The pause doubles after each failure, up to the
 * maximum.
 */
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

/** Why a storage is not open. */
interface OpeningFailure {
  readonly error: unknown;
  readonly retryAt: number;
  readonly waitMs: number;
}

/** Opens one storage, once for all who ask, and again when that failed. */
export interface Opener {
  readonly isUnderWay: boolean;
  readonly isOpen: boolean;
  readonly failure: OpeningFailure | undefined;
  /** What is open, or is being opened; else it is opened now, for all, and not by the way that one of them came by. @throws what opening it says */
  open(): Promise<StorageDriver>;
  /** The same for whoever works with it. @throws as open(), and at once why it failed, while it is not tried again | AppError STORAGE_UNAVAILABLE: it has ended */
  driver(): Promise<StorageDriver>;
  /** Opens it anew. What is under way on the old one goes on with that; who waits for an opening waits for the new one. */
  reopen(): Promise<StorageDriver>;
  /** Opens nothing any more. What is open, or being opened, closes when nobody uses it. */
  retire(): void;
  /** Opens nothing any more, and closes what is being opened. What is lent is not its own. */
  close(): Promise<void>;
}

export interface OpenerOptions {
  readonly clock: () => number;
  /** Runs something later. @returns takes that back */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly open: () => Promise<StorageDriver>;
  readonly lend: (opened: StorageDriver) => Loan;
  /** @param hasFailed opening it had failed before */
  readonly onOpened: (hasFailed: boolean) => void;
  /** @param isLast another one has taken its place, or it was closed: nobody waits for it */
  readonly onFailure: (error: unknown, isLast: boolean) => void;
  /** Told what went wrong on closing. */
  readonly onError: (error: unknown) => void;
  /** Told when a retired one has let go of what it stood on. */
  readonly onRetired: () => void;
}

export function createOpener(options: OpenerOptions): Opener {
  let opening: Promise<Loan> | undefined;
  let isOpen = false;
  let failure: OpeningFailure | undefined;
  let cancelRetry = () => {};
  let hasEnded = false;

  const fail = (error: unknown) => {
    const waitMs = failure ? Math.min(failure.waitMs * 2, MAX_RETRY_MS) : FIRST_RETRY_MS;
    failure = { error, waitMs, retryAt: options.clock() + waitMs };
    opening = undefined;
    isOpen = false;
    // Another configuration is another connection: what is wrong with this one stays so.
    if (!hasEnded && !isMisconfigured(error)) cancelRetry = options.after(waitMs, () => void open().catch(() => undefined));
  };
  const start = async (isWanted: () => boolean, isForCall: boolean): Promise<Loan> => {
    try {
      const opened = await options.open();
      if (!isWanted()) {
        await opened.close();
        throw closedError();
      }
      const loan = options.lend(opened);
      isOpen = true;
      options.onOpened(failure !== undefined);
      failure = undefined;
      return loan;
    } catch (error) {
      const isLast = !isWanted();
      if (isForCall && !isLast && !hasEnded && isCircle(error)) {
        // It may be the call alone that came in a circle, or says so: how the storage is, is seen outside of it.
        opening = undefined;
        open().catch(() => undefined);
        throw error;
      }
      if (!isLast) fail(error);
      options.onFailure(error, isLast);
      throw error;
    }
  };
  const begin = (isForCall: boolean): Promise<Loan> => {
    if (opening) return opening;
    cancelRetry();
    isOpen = false;
    const attempt = start(() => opening === attempt, isForCall);
    opening = attempt;
    return attempt;
  };
  const opened = (isForCall: boolean): Promise<StorageDriver> => {
    const isOwn = isForCall && !opening;
    const isDone = (attempt: Promise<Loan>, error: unknown) => !opening || opening === attempt || (isOwn && isCircle(error));
    return lastOf(() => begin(isForCall), isDone);
  };
  const open = (): Promise<StorageDriver> => outsideCalls(() => opened(false));
  const end = () => {
    hasEnded = true;
    cancelRetry();
    return opening;
  };

  return {
    get isUnderWay() {
      return opening !== undefined;
    },
    get isOpen() {
      return isOpen;
    },
    get failure() {
      return failure;
    },
    open,
    async driver() {
      if (!opening && hasEnded) throw closedError();
      if (!opening && failure && lasts(failure.retryAt, options.clock(), MAX_RETRY_MS)) throw failure.error;
      return opened(true);
    },
    reopen() {
      // What is still being opened closes itself.
      opening?.then((loan) => loan.retire().catch(options.onError)).catch(() => undefined);
      opening = undefined;
      failure = undefined;
      return open();
    },
    retire() {
      const retired = async (last: Promise<Loan>) => {
        const loan = await last.catch(() => undefined);
        options.onRetired();
        await loan?.retire().catch(options.onError);
        opening = undefined;
      };
      const last = end();
      if (last) void retired(last);
    },
    async close() {
      const last = end();
      opening = undefined;
      await last?.catch(() => undefined);
    },
  };
}

/** The driver of the last attempt: another may take the place of one that is waited for. @param isDone whether the failure of this one is the answer */
async function lastOf(begin: () => Promise<Loan>, isDone: (attempt: Promise<Loan>, error: unknown) => boolean): Promise<StorageDriver> {
  for (;;) {
    const attempt = begin();
    try {
      return (await attempt).driver;
    } catch (error) {
      if (isDone(attempt, error)) throw error;
    }
  }
}

function isCircle(error: unknown): boolean {
  return AppError.is(error, 'CIRCULAR_MOUNT');
}

function isMisconfigured(error: unknown): boolean {
  return AppError.is(error, 'INVALID_ARGUMENT') || AppError.is(error, 'CONTENT_CORRUPT');
}

function closedError(): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'closed');
}
