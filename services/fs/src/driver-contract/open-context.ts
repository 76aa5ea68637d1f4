import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { CallOptions } from './storage-driver.ts';

/** A text among the items of a storage that its driver writes itself: a pinned key, a renewed token. */
export interface KeptItem {
  /** As it is known here; another replica may have replaced it a moment ago. */
  readonly value: string;
  /**
   * Stores `after` where `before` is what is stored now. The storage is not opened anew for that, here or on other replicas.
   * @returns what is stored then: `after`, or what somebody else put there
   * @throws AppError STORAGE_UNAVAILABLE | FAILED_PRECONDITION (the storage is gone or switched off)
   */
  replace(before: string, after: string): Promise<string>;
}

/** What a driver is given beside the items of its storage. */
export interface OpenContext extends CallOptions {
  /** 0 for one that is only tried and not saved. */
  readonly storageId: number;
  /** For whoever runs Wharf; nothing secret, and nothing at every call. */
  readonly warn: (error: unknown) => void;
  /** The only ways to the network. */
  readonly egress: Egress;
  /** @param name an item whose schema says `kept` */
  keptItem(name: string): KeptItem;
}

/** For what is opened outside of a service: no network, and what a driver keeps is kept in memory. */
export function plainContext(values: Readonly<Record<string, unknown>>, given: Partial<OpenContext>): OpenContext {
  return { storageId: 0, warn: () => undefined, egress: NO_EGRESS, keptItem: (name) => keptInMemory(String(values[name] ?? '')), ...given };
}

/** Forgotten with the storage. */
function keptInMemory(initial: string): KeptItem {
  let value = initial;
  return {
    get value() {
      return value;
    },
    async replace(before, after) {
      if (value === before) value = after;
      return value;
    },
  };
}

const refuse = (): never => {
  throw new AppError('PERMISSION_DENIED', 'this storage was opened without a network');
};

/** Leads nowhere. @internal for tests */
export const NO_EGRESS: Egress = { parseUrl: refuse, openClient: refuse, connect: async () => refuse() };
