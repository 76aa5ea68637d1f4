import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { untilClosed } from '../../../driver-contract/calls.ts';
import { decorated, operationsOf } from '../../../driver-contract/complete-driver.ts';
import { stringItem } from '../../../driver-contract/config-items.ts';
import type { Credential } from '../../../driver-contract/credential.ts';
import { type DriverDefinition, defineDriver } from '../../../driver-contract/define-driver.ts';
import type { CallOptions, StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../../driver-contract/storage-error.ts';
import { MemoryDriver } from '../driver.ts';

/** A storage in memory behind a login whose tokens expire, and whose secrets are good once: whoever shows one again is shut out for ever. */
export interface ExpiringLogin {
  readonly definition: DriverDefinition;
  /** What is stored; it outlives every opening. */
  readonly store: MemoryDriver;
  readonly addition: string;
  /** The present token is not taken any more. */
  expire(): void;
  /** From now on a token is taken so many times. */
  expireAfter(uses: number): void;
  /** How often a token was asked for. */
  renewals(): number;
  /** How often the storage was opened. */
  openings(): number;
}

export function createExpiringLogin(name: string): ExpiringLogin {
  const store = new MemoryDriver();
  let [secret, token] = ['entered by the admin', ''];
  let [renewals, openings, uses, usesLeft] = [0, 0, Number.POSITIVE_INFINITY, 0];
  const renew = async (shown: string) => {
    const isGood = shown === secret;
    secret = isGood ? `secret ${++renewals}` : 'none is good any more';
    if (!isGood) throw new AppError('STORAGE_LOGIN_FAILED', 'a secret was shown twice');
    token = `token ${renewals}`;
    usesLeft = uses;
    return { token, secret };
  };
  const check = (shown: string) => {
    if (shown !== token || usesLeft === 0) throw new AppError('STORAGE_LOGIN_FAILED', 'the token has expired');
    usesLeft -= 1;
  };
  return {
    store,
    addition: JSON.stringify({ refresh_token: secret }),
    definition: defineDriver({
      name,
      label: name,
      internal: true,
      config: { local_sort: true, only_proxy: true, no_cache: true },
      configSchema: z.object({ refresh_token: stringItem({ secret: true }), login: stringItem({ secret: true, kept: true }) }),
      open: async ({ refresh_token }, context) => {
        openings += 1;
        return withLogin(store, context.credential({ item: 'login', secret: refresh_token, renew }), check);
      },
    }),
    expire() {
      usesLeft = 0;
    },
    expireAfter(next) {
      uses = next;
      usesLeft = next;
    },
    renewals: () => renewals,
    openings: () => openings,
  };
}

/** Shows the token at the begin of each call, and for each piece of what is read. The store stays when the storage is closed. */
function withLogin(store: MemoryDriver, credential: Credential, check: (token: string) => void): StorageDriver {
  const closing = new AbortController();
  const shown = <Result>(options: CallOptions | undefined, run: () => Promise<Result>) => {
    throwIfAborted(options?.signal);
    return credential.use(async (token) => {
      throwIfAborted(closing.signal);
      check(token);
      return run();
    }, options);
  };
  return decorated({
    ...operationsOf(store),
    stat: async (path, options) => shown(options, () => store.stat(path, options)),
    list: async function* (directory, options) {
      yield* await shown(options, () => Array.fromAsync(store.list(directory, options)));
    },
    async read(file, range, options) {
      const content = await shown(options, () => store.read(file, range, options));
      const pieces = content[Symbol.asyncIterator]();
      const next = () => shown(options, () => pieces.next());
      return {
        entry: content.entry,
        async *[Symbol.asyncIterator]() {
          for (let step = await next(); !step.done; step = await next()) yield step.value;
        },
      };
    },
    write: async (file, content, options) => shown(options, () => store.write(file, content, untilClosed(options, closing.signal))),
    makeDirectory: async (path, options) => shown(options, () => store.makeDirectory(path, options)),
    remove: async (path, options) => shown(options, () => store.remove(path, options)),
    rename: async (from, to, options) => shown(options, () => store.rename(from, to, options)),
    copy: async (from, to, options) => shown(options, () => store.copy(from, to, options)),
    listNames: async (directory, known, options) => shown(options, () => store.listNames(directory, known, options)),
    statMany: async (directory, names, options) => shown(options, () => store.statMany(directory, names, options)),
    close: async () => {
      closing.abort(storageError('STORAGE_UNAVAILABLE'));
    },
  });
}
