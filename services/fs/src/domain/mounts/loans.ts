import type { Leave } from '../../driver-contract/lane.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';

/**
 * How long a driver that another has replaced stays open without being used, in milliseconds: an operation of several calls goes on with the driver
 * that it began with.
 */
const QUIET_MS = 10_000;

/** A driver that is open, for those who use it. */
export interface Loan {
  readonly driver: StorageDriver;
  /** Nobody new is given it: it closes when nobody has used it for QUIET_MS. @throws what closing says */
  retire(): Promise<void>;
}

/** The drivers that are open. */
export interface Loans {
  /** @param watch makes the driver that is given out, which tells of each use */
  lend(storage: number, opened: StorageDriver, watch: (enter: () => Leave) => StorageDriver): Loan;
  /** Closes every driver of a storage at once, whoever uses it. */
  recall(storage: number): Promise<void>;
}

/** @param options.after runs something later. It returns what takes that back */
export function createLoans({ after }: { readonly after: (ms: number, run: () => void) => () => void }): Loans {
  const lent = new Map<() => Promise<void>, number>();
  return {
    lend(storage, opened, watch) {
      let users = 0;
      let isRetired = false;
      let cancel = () => {};
      const closing = Promise.withResolvers<void>();
      const close = () => {
        cancel();
        if (lent.delete(close)) opened.close().then(closing.resolve, closing.reject);
        return closing.promise;
      };
      const rest = () => {
        if (isRetired && users === 0) cancel = after(QUIET_MS, () => void close().catch(() => undefined));
      };
      const enter = (): Leave => {
        users += 1;
        cancel();
        let hasLeft = false;
        return () => {
          if (hasLeft) return;
          hasLeft = true;
          users -= 1;
          rest();
        };
      };
      lent.set(close, storage);
      return {
        driver: watch(enter),
        retire() {
          isRetired = true;
          cancel();
          rest();
          return closing.promise;
        },
      };
    },
    async recall(storage) {
      await Promise.all([...lent].map(([close, of]) => (of === storage ? close() : undefined)));
    },
  };
}
