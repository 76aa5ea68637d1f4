import { AppError } from '@wharf/errors';
import { decorate } from '../../driver-contract/decorate.ts';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import type { KeptItem } from '../../driver-contract/kept-item.ts';
import { createListingRoom } from '../../driver-contract/listing-room.ts';
import type { ContextParts } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { Watchdog } from '../../driver-contract/watchdog.ts';
import type { LoneNames } from '../../driver-contract/with-lone-removals.ts';
import { type CallSpans, withSpans } from '../../driver-contract/with-spans.ts';

/** The longest that opening a storage may take, in milliseconds. */
const OPEN_TIMEOUT_MS = 15_000;

type OwnParts = 'keptItem' | 'openMount' | 'trail' | 'site';
type Made = 'listingRoom';

/**
 * What a storage is opened with. Without `keptItem` the items that its driver keeps stay in memory, without `openMount` there is no tree, without `trail` nobody sees circles, without `site` addresses of ours have no begin and no signature. A
 * signal ends the opening sooner. Each attempt at a call is recorded by `spans`, where there are any. In `spoolFolder` wait contents whose size is not known. `names` are
 * those of all drivers of the storage.
 */
export type Surroundings = Omit<ContextParts, OwnParts | Made> &
  Partial<Pick<ContextParts, OwnParts>> & {
    readonly spans?: CallSpans | undefined;
    readonly spoolFolder?: string | undefined;
    readonly names?: LoneNames;
  };

/**
 * Opens a storage with its limits around it. The time in which a storage opens that this one stands on is not counted: that has a limit of its own, and one
 * that does not answer would have this one end first, where it can do without.
 *
 * @param addition undefined: what is stored cannot be read. @throws what the driver says
 */
export async function openStorage(
  definition: DriverDefinition,
  addition: string | undefined,
  { spans, spoolFolder, names, openMount, ...given }: Surroundings,
): Promise<StorageDriver> {
  if (addition === undefined) throw new AppError('CONTENT_CORRUPT', 'the stored settings of the storage cannot be read');
  const watchdog = new Watchdog(given.signal);
  watchdog.arm(OPEN_TIMEOUT_MS);
  const { signal } = watchdog;
  let [below, isOver] = [0, false];
  const uncounted =
    (openBelow: ContextParts['openMount']): ContextParts['openMount'] =>
    async (path, options) => {
      below += 1;
      watchdog.disarm();
      try {
        return await openBelow(path, options);
      } finally {
        below -= 1;
        if (below === 0 && !isOver) watchdog.arm(OPEN_TIMEOUT_MS);
      }
    };
  const context = { ...given, ...(openMount && { openMount: uncounted(openMount) }) };
  const listingRoom = createListingRoom();
  const opening = definition.open(addition, { ...context, signal, listingRoom });
  // A driver that opens after all has nobody left who would close it, nor who would hear that closing failed.
  opening.then((driver) => (signal.aborted ? driver.close() : undefined)).catch(() => undefined);
  try {
    const driver = await watchdog.guard(opening);
    return decorate(spans ? withSpans(driver, spans) : driver, definition.limits, { room: listingRoom, spoolFolder, names });
  } finally {
    isOver = true;
    watchdog.dispose();
  }
}

/** What the admin reads of a storage that failed: a text of its driver without the secrets that the driver was given. */
export function statusOf(error: unknown, { definition, addition }: Readonly<Configured>): string {
  return AppError.is(error) ? withoutSecrets(error.message, secretsOf(definition, addition)) : 'internal error';
}

/** Longest first: one may be a part of another. */
function secretsOf(definition: DriverDefinition, addition: string | undefined): string[] {
  if (addition === undefined || definition.secretKeys.size === 0) return [];
  let values: unknown;
  try {
    values = JSON.parse(definition.normaliseAddition(addition));
  } catch {
    // Then the text says which item is wrong. It names no value.
    return [];
  }
  const secrets = [...definition.secretKeys].map((key) => String(Reflect.get(Object(values), key) ?? ''));
  return secrets.filter((secret) => secret !== '').sort((left, right) => right.length - left.length);
}

/** A shorter secret is taken out only where it stands alone: within words it would spell itself by its gaps. */
const LONG_SECRET = 8;

function withoutSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0) return text;
  const patterns = secrets.map((secret) => {
    const pattern = RegExp.escape(secret);
    return secret.length < LONG_SECRET ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern;
  });
  return text.replaceAll(new RegExp(patterns.join('|'), 'gu'), '***');
}

/** Stores an item that a driver keeps, as KeptItem.replace() tells. */
export type KeepItem = (id: number, name: string, before: string, after: string) => Promise<string>;

/** A storage that is configured, with what its driver keeps. */
interface Configured {
  readonly definition: DriverDefinition;
  /** Undefined: it cannot be read. */
  addition: string | undefined;
}

/** An item as it is stored, as far as this process knows. */
export function keptItemOf(configured: Configured, name: string, replace: KeptItem['replace']): KeptItem {
  const values = (): Record<string, unknown> => JSON.parse(configured.definition.normaliseAddition(configured.addition ?? ''));
  return {
    get value() {
      return String(values()[name] ?? '');
    },
    async replace(before, after) {
      const stored = await replace(before, after);
      configured.addition = JSON.stringify({ ...values(), [name]: stored });
      return stored;
    },
  };
}
