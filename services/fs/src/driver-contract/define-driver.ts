import { AppError } from '@wharf/errors';
import type { z } from 'zod';
import {
  type ConfigItem,
  type ConfigSchema,
  configItems,
  findMissingItem,
  type HostFolderItem,
  normaliseAddition,
} from './config-items.ts';
import type { DriverOption } from './driver-options.ts';
import { type ContextParts, type OpenContext, plainContext } from './open-context.ts';
import type { StorageDriver } from './storage-driver.ts';
import type { OfOthers, StorageLimits } from './with-limits.ts';

/** Facts about a kind of storage that clients and the domain ask for; the snake_case ones are the family's (docs/api-family.md#driver-templates). */
export interface DriverConfig {
  /** The server sorts its listings. */
  readonly local_sort: boolean;
  readonly only_local: boolean;
  /** Never a redirect: bytes pass through us. */
  readonly only_proxy: boolean;
  /** Listings are not cached. */
  readonly no_cache: boolean;
  readonly no_upload: boolean;
  /** May ask the admin something through the message endpoints. */
  readonly need_ms: boolean;
  readonly only_indices: boolean;
  /** Redirects are possible, but not the default. */
  readonly prefer_proxy: boolean;
  /** What root_folder_path starts with in the form. */
  readonly default_root: string;
  /** `<level>|<text>` for the form, level one of info, success, warning, danger; or empty. */
  readonly alert: string;
}

const PLAIN_CONFIG: DriverConfig = {
  local_sort: false,
  only_local: false,
  only_proxy: false,
  no_cache: false,
  no_upload: false,
  need_ms: false,
  only_indices: false,
  prefer_proxy: false,
  default_root: '',
  alert: '',
};

/** How thumbnails of a storage's files are made and kept. */
export interface ThumbnailSettings {
  /** Absolute. Undefined: the storage names none. */
  readonly cacheFolder: string | undefined;
  /** Files that are read for it at once. */
  readonly concurrency: number;
}

interface DriverSource<Schema extends ConfigSchema> {
  /** The family's literal name, which storages are saved under: `Local`. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** For our own tests: known by name, but not offered. */
  readonly internal?: boolean;
  /** What differs from: all booleans false, all texts empty. */
  readonly config?: Partial<DriverConfig>;
  /** The form offers to fetch ranges from the link when we proxy. */
  readonly hasRangeOption?: boolean;
  readonly configSchema: Schema;
  /** Absent or undefined: no thumbnails are made of its files. */
  readonly thumbnails?: (config: z.output<Schema>) => ThumbnailSettings | undefined;
  /** Of a storage behind a network: what it is asked at once. */
  readonly limits?: StorageLimits | OfOthers;
  /** What can be chosen in its items, where that depends on others of them. */
  readonly options?: {
    /** The items that it depends on; the first is what is chosen. */
    readonly by: readonly (keyof z.output<Schema> & string)[];
    /** The items that keep the options, one `name = value` a line. */
    readonly in: readonly (keyof z.output<Schema> & string)[];
    /** @param config as the form has it so far: required items may be empty. Errors are shown to the admin as they are. */
    readonly read: (config: z.output<Schema>, context: OpenContext) => Promise<readonly DriverOption[]>;
  };
  /** Starts a storage. Its errors are shown to the admin as they are. */
  readonly open: (config: z.output<Schema>, context: OpenContext) => Promise<StorageDriver>;
}

/** A kind of storage, all there is to know about it outside its folder. */
export interface DriverDefinition {
  readonly name: string;
  readonly label: string;
  readonly internal: boolean;
  readonly config: DriverConfig;
  readonly hasRangeOption: boolean;
  /** Undefined: the storage is this machine's own. */
  readonly limits: StorageLimits | OfOthers | undefined;
  readonly items: readonly ConfigItem[];
  /** The keys of `addition` that are encrypted at rest and masked in logs. */
  readonly secretKeys: ReadonlySet<string>;
  /** The items of `addition` that name folders of the host; the first is what the storage shows. */
  readonly hostFolders: readonly HostFolderItem[];
  /** The items that `readOptions` goes by, the first being what is chosen; empty: there are no options. */
  readonly optionsBy: readonly string[];
  /** The items that keep the options, one `name = value` a line. */
  readonly optionsIn: readonly string[];
  /**
   * What can be chosen with an `addition` as the form has it so far. The context is as of `open`.
   * @throws AppError INVALID_ARGUMENT for an `addition` that cannot be; else what the driver says
   */
  readOptions(addition: string, context?: Partial<ContextParts>): Promise<readonly DriverOption[]>;
  /**
   * The `addition` of a storage as it is kept: a JSON object with every key of the driver and no other.
   * @throws AppError INVALID_ARGUMENT
   */
  normaliseAddition(addition: string): string;
  /**
   * Whether a storage that was opened with one text of `addition` may stay open with another: they differ at most in what the driver keeps itself. Of
   * that, an item that is no secret is filled in by the driver once; another change of it is an admin's, and must be seen.
   */
  opensAlike(known: string, next: string): boolean;
  /** Undefined when no thumbnails are made, also for an `addition` that cannot be. */
  thumbnails(addition: string): ThumbnailSettings | undefined;
  /**
   * Starts a storage from its `addition`, normalised or not. What is not given of the context is as outside of a service: without a network.
   * @throws AppError INVALID_ARGUMENT for an `addition` that cannot be; else what the driver says
   */
  open(addition: string, context?: Partial<ContextParts>): Promise<StorageDriver>;
}

/** Whether storages of this kind have no server and no disk of their own: what they say that is away is away below. */
export function standsOnOthers({ limits }: Pick<DriverDefinition, 'limits'>): boolean {
  return limits === 'of others';
}

export function defineDriver<Schema extends ConfigSchema>(source: DriverSource<Schema>): DriverDefinition {
  const { items, secretKeys, keptKeys, hostFolders, trustKeys } = configItems(source.configSchema);
  const parse = (addition: string): z.output<Schema> => {
    const values = normaliseAddition(items, addition);
    const missing = findMissingItem(items, values);
    if (missing !== undefined) throw new AppError('INVALID_ARGUMENT', `${missing.name} is required`);
    return check(values);
  };
  const check = (values: Readonly<Record<string, unknown>>): z.output<Schema> => {
    const parsed = source.configSchema.safeParse(values);
    if (!parsed.success) throw new AppError('INVALID_ARGUMENT', describeIssue(parsed.error));
    return parsed.data;
  };
  return {
    name: source.name,
    label: source.label,
    internal: source.internal ?? false,
    config: { ...PLAIN_CONFIG, ...source.config },
    hasRangeOption: source.hasRangeOption ?? false,
    limits: source.limits,
    items,
    secretKeys,
    hostFolders,
    optionsBy: source.options?.by ?? [],
    optionsIn: source.options?.in ?? [],
    readOptions: async (addition, context = {}) => {
      const config = check(normaliseAddition(items, addition));
      return source.options?.read(config, plainContext(config, context)) ?? [];
    },
    normaliseAddition: (addition) => JSON.stringify(normaliseAddition(items, addition)),
    thumbnails(addition) {
      try {
        return source.thumbnails?.(parse(addition));
      } catch {
        // Opening the storage says what is wrong.
        return undefined;
      }
    },
    opensAlike(known, next) {
      if (known === next) return true;
      try {
        const [before, after] = [normaliseAddition(items, known), normaliseAddition(items, next)];
        const isKept = (name: string) => keptKeys.has(name) && (secretKeys.has(name) || before[name] === '');
        return items.every(({ name }) => before[name] === after[name] || isKept(name));
      } catch {
        return false;
      }
    },
    open: async (addition, context = {}) => {
      const config = parse(addition);
      const full = plainContext(config, context);
      for (const item of trustKeys) if (config[item] === true) full.warn(trustsAnyServer(item));
      return source.open(config, full);
    },
  };
}

/** What whoever runs Wharf reads each time such a storage is opened. */
function trustsAnyServer(item: string): AppError {
  const why =
    'no certificate of its server is verified: where TLS is used, anybody on the way can read and change what passes all the same';
  return new AppError('FAILED_PRECONDITION', `${item} is on: ${why}`);
}

/** The first problem. Values are left out: one of them may be a secret. */
function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue === undefined ? 'addition is not valid' : `${issue.path.join('.')}: ${issue.message}`;
}
