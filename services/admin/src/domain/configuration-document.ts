import { AppError } from '@wharf/errors';
import { brokenBound, createPace, type Pace, parseJson } from '@wharf/pace';
import { listOf } from '@wharf/pace/list-of';
import { z } from 'zod';

/** The name by which a file says that it is ours. */
export const FORMAT = 'wharf-configuration';
export const FORMAT_VERSION = 1;

/** JSON `null` counts as absent: clients of the family write it for what is not there. */
const nullless = <Shape extends z.ZodType>(shape: Shape) =>
  z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
  }, shape);

const text = () => z.string().default('');
const flag = () => z.boolean().default(false);
const whole = (fallback = 0) => z.int().default(fallback);
const ids = () => listOf(z.int().min(0)).default([]);

const settingShape = nullless(z.object({ key: z.string().min(1), value: text() }));

const userShape = nullless(
  z.object({
    id: whole(),
    username: z.string().min(1),
    base_path: z.string().default('/'),
    role: whole(),
    disabled: flag(),
    permission: whole(),
    sso_id: text(),
    allow_ldap: z.boolean().default(true),
    quota_bytes: z.int().min(0).optional(),
  }),
);

const storageShape = nullless(
  z.object({
    mount_path: z.string().min(1),
    order: whole(),
    driver: z.string().min(1),
    cache_expiration: whole(30),
    custom_cache_policies: text(),
    /** The text of a JSON object, or the object. */
    addition: z.union([z.string(), z.record(z.string(), z.unknown())]).default('{}'),
    remark: text(),
    disabled: flag(),
    disable_index: flag(),
    enable_sign: flag(),
    order_by: text(),
    order_direction: text(),
    extract_folder: text(),
    web_proxy: flag(),
    webdav_policy: text(),
    proxy_range: flag(),
    down_proxy_url: text(),
    disable_proxy_sign: flag(),
    /** Names of items of `addition` that were left out, because they are secrets. */
    omitted: listOf(z.string()).default([]),
  }),
);

const ruleShape = nullless(
  z.object({
    path: z.string().min(1),
    password: text(),
    p_sub: flag(),
    write: flag(),
    w_sub: flag(),
    hide: text(),
    h_sub: flag(),
    readme: text(),
    r_sub: flag(),
    header: text(),
    header_sub: flag(),
    read_users: ids(),
    read_users_sub: flag(),
    write_users: ids(),
    write_users_sub: flag(),
    /** `password` when there is one that was left out. */
    omitted: listOf(z.string()).default([]),
  }),
);

const encryptedShape = z.object({ kdf: z.literal('scrypt'), salt: z.string(), sealed: z.string() });

const laterShape = z.object({ version: z.int() });

const documentShape = nullless(
  z.object({
    format: z.literal(FORMAT).optional(),
    version: z.int().default(FORMAT_VERSION),
    /** A backup of the family says here that its fields are encrypted. */
    encrypted: z.union([z.string(), z.boolean()]).default(''),
    secrets: z.union([z.string(), encryptedShape]).default(''),
    settings: z.array(z.unknown()).default([]),
    users: z.array(z.unknown()).default([]),
    storages: z.array(z.unknown()).default([]),
    metas: z.array(z.unknown()).default([]),
  }),
);

const secretsShape = z.object({
  settings: z.record(z.string(), z.string()).default({}),
  /** Additions by mount path, whole. */
  storages: z.record(z.string(), z.string()).default({}),
  /** Passwords by path. */
  metas: z.record(z.string(), z.string()).default({}),
});

export type ImportedSetting = z.output<typeof settingShape>;
export type ImportedUser = z.output<typeof userShape>;
export type ImportedStorage = z.output<typeof storageShape>;
export type ImportedRule = z.output<typeof ruleShape>;
export type DocumentSecrets = z.output<typeof secretsShape>;
export type EncryptedSecrets = z.output<typeof encryptedShape>;

/** A record that could be read, or why it could not. `name` tells it from others, and is empty where it has none. */
export type Read<Record> = { readonly name: string; readonly record: Record } | { readonly name: string; readonly problem: string };

/** A configuration as a file holds it, ours or one of the API family. */
export interface ConfigurationDocument {
  readonly settings: readonly Read<ImportedSetting>[];
  readonly users: readonly Read<ImportedUser>[];
  readonly storages: readonly Read<ImportedStorage>[];
  readonly rules: readonly Read<ImportedRule>[];
  /** Secrets that are encrypted under a passphrase; undefined where there are none. */
  readonly encrypted: EncryptedSecrets | undefined;
}

const MAX_RECORDS = 100_000;
/** As of the whole file: what is encrypted was not counted with it. */
const SECRETS_BOUNDS = { maxDepth: 64, maxValues: 50_000 } as const;

/**
 * Reads a file. Others have their turn in between.
 *
 * @throws AppError INVALID_ARGUMENT: it is no configuration at all, is of a later version, or is a backup that is encrypted | CANCELLED
 */
export async function readDocument(json: string, signal?: AbortSignal): Promise<ConfigurationDocument> {
  const content = parseJson(json);
  // First, because a later version may have another shape.
  const { data: later } = laterShape.safeParse(content);
  if (later !== undefined && later.version > FORMAT_VERSION)
    throw new AppError(
      'INVALID_ARGUMENT',
      `the file is of version ${later.version}; this server reads up to ${FORMAT_VERSION}. Import it with the version of Wharf that wrote it, or a later one`,
    );
  const parsed = documentShape.safeParse(content);
  if (!parsed.success) throw new AppError('INVALID_ARGUMENT', `this is no configuration: ${problemOf(parsed.error)}`);
  const { format, encrypted, secrets, settings, users, storages, metas } = parsed.data;
  if (encrypted !== '' && encrypted !== false)
    throw new AppError('INVALID_ARGUMENT', 'this backup is encrypted; make one without a password and import that');
  const count = settings.length + users.length + storages.length + metas.length;
  if (format === undefined && count === 0) throw new AppError('INVALID_ARGUMENT', 'the file has no settings, users, storages or metas');
  if (count > MAX_RECORDS) throw new AppError('INVALID_ARGUMENT', `a file may have ${MAX_RECORDS} records at most`);
  const pace = createPace(signal);
  return {
    settings: await readEach(settingShape, settings, 'key', pace),
    users: await readEach(userShape, users, 'username', pace),
    storages: await readEach(storageShape, storages, 'mount_path', pace),
    rules: await readEach(ruleShape, metas, 'path', pace),
    encrypted: typeof secrets === 'string' ? undefined : secrets,
  };
}

/** What was encrypted. @throws AppError INVALID_ARGUMENT */
export function readSecrets(json: string): DocumentSecrets {
  if (brokenBound(Buffer.from(json), SECRETS_BOUNDS)) throw new AppError('INVALID_ARGUMENT', 'the secrets are too many');
  const parsed = secretsShape.safeParse(parseJson(json));
  if (!parsed.success) throw new AppError('INVALID_ARGUMENT', `the secrets cannot be read: ${problemOf(parsed.error)}`);
  return parsed.data;
}

async function readEach<Shape extends z.ZodType>(
  shape: Shape,
  records: readonly unknown[],
  nameField: string,
  pace: Pace,
): Promise<Read<z.output<Shape>>[]> {
  const found: Read<z.output<Shape>>[] = [];
  for (const record of records) {
    await pace.step();
    found.push(read(shape, record, nameField));
  }
  return found;
}

function read<Shape extends z.ZodType>(shape: Shape, record: unknown, nameField: string): Read<z.output<Shape>> {
  const given: unknown = typeof record === 'object' && record !== null ? Reflect.get(record, nameField) : undefined;
  const name = typeof given === 'string' ? given : '';
  const parsed = shape.safeParse(record);
  return parsed.success ? { name, record: parsed.data } : { name, problem: problemOf(parsed.error) };
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue?.path.join('.') ?? '';
  return `${place === '' ? '' : `${place}: `}${issue?.message ?? 'unreadable'}`;
}
