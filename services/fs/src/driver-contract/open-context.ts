import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { type Credential, type CredentialOptions, openCredential } from './credential.ts';
import type { KeptItem } from './kept-item.ts';
import { createListingRoom, type ListingRoom } from './listing-room.ts';
import type { CallOptions, StorageDriver } from './storage-driver.ts';

/** What a driver is given beside the items of its storage. */
export interface OpenContext extends CallOptions {
  /** 0 for one that is only tried and not saved. */
  readonly storageId: number;
  /** For whoever runs Wharf; nothing secret, and nothing at every call. */
  readonly warn: (error: unknown) => void;
  /** What all listings of the storage may take while they are made: for drivers that hold a whole one, or remember folders. */
  readonly listingRoom: ListingRoom;
  /** The only ways to the network. */
  readonly egress: Egress;
  /** For storages that are gateways themselves: circles are seen by it. */
  readonly trail: Trail;
  /** For storages whose files hold addresses of ours. */
  readonly site: Site;
  /** @param name an item whose schema says `kept` */
  keptItem(name: string): KeptItem;
  /**
   * A folder of the tree, for a storage that stands on others. Calls go through what is put around the storage below. When that one changes or
   * goes away, this one is opened anew; what is changed through either is forgotten in both. Closing it closes nothing below. It has links only
   * where the storage below may give them away. May be asked for again, when it failed.
   *
   * @throws AppError INVALID_ARGUMENT | FAILED_PRECONDITION (no storage there; the storage would stand on itself) | STORAGE_UNAVAILABLE
   */
  openMount(path: string, options: InnerMountOptions): Promise<StorageDriver>;
  /** A token that expires, kept in an item whose schema says `kept` and `secret`. */
  credential(options: CredentialOptions): Credential;
}

/** What travels along with calls to other gateways. */
export interface Trail {
  /** Headers of what is done for no one call, such as logging in: they name this one alone. */
  readonly own: Readonly<Record<string, string>>;
  /** Headers that say which gateways the call that is being served came through, this one included. Asked for at each call. */
  headers(): Readonly<Record<string, string>>;
  /** Which installation of Wharf answered, by the headers of its answer in lower case; undefined: something else did. */
  installationOf(headers: Readonly<Record<string, unknown>>): string | undefined;
}

/** Where this gateway hands out its files. */
export interface Site {
  /** Begins with `http://` or `https://`, without a slash at its end. Undefined: nobody has said it, and it depends on who asks. */
  readonly url: string | undefined;
  /** What signs paths of the whole tree, as links carry it. To be asked for again by each call: the key may have changed. */
  signer(): Promise<(path: string) => string>;
}

export interface InnerMountOptions {
  /** Each name below is shown by the same name, in the same folders: a change below concerns that name alone. Else it concerns the whole storage. */
  readonly keepsNames: boolean;
  /** The folder of the storage in which they are shown; its root, when absent. */
  readonly shownAt?: MountPath;
}

/** What a context is made of: the rest follows from it. */
export type ContextParts = Omit<OpenContext, 'credential'>;

/** For what is opened outside of a service: no network, no tree, and what a driver keeps is kept in memory. */
export function plainContext(values: Readonly<Record<string, unknown>>, given: Partial<ContextParts>): OpenContext {
  const parts: ContextParts = {
    storageId: 0,
    warn: () => undefined,
    listingRoom: createListingRoom(),
    egress: NO_EGRESS,
    trail: NO_TRAIL,
    site: NO_SITE,
    keptItem: (name) => keptInMemory(String(values[name] ?? '')),
    openMount: async () => {
      throw new AppError('FAILED_PRECONDITION', 'this storage was opened outside of the tree');
    },
    ...given,
  };
  return { ...parts, credential: (options) => openCredential(parts.keptItem(options.item), options) };
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

const NO_SITE: Site = { url: undefined, signer: async () => () => '' };
const NO_TRAIL: Trail = { own: {}, headers: () => ({}), installationOf: () => undefined };

/** Leads nowhere. @internal for tests */
export const NO_EGRESS: Egress = {
  parseUrl: refuse,
  openClient: refuse,
  connect: async () => refuse(),
  trustBeside: refuse,
  toPublic: () => NO_EGRESS,
};
