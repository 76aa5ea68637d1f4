import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Secret } from './secret.ts';

/** One environment variable: its name, how its text is read, and what it means (with its unit). */
export interface ConfigKey<Value = unknown> {
  readonly env: string;
  readonly schema: z.ZodType<Value>;
  readonly description: string;
  /** The default as the documentation shows it; `required` when there is none. */
  readonly shownDefault: string;
  /** True: a variable of this name and `_FILE` may name a file that has the text instead. */
  readonly mayBeInFile: boolean;
}

export type ConfigDefinition = Readonly<Record<string, ConfigKey>>;
export type ConfigOf<Definition extends ConfigDefinition> = {
  readonly [Name in keyof Definition]: Definition[Name] extends ConfigKey<infer Value> ? Value : never;
};

/** Thrown by readConfig with every problem at once; nothing has been opened by then. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Declares one variable. The schema reads the variable's text; absent and empty both arrive as `undefined`. */
export function configKey<Value>(
  env: string,
  schema: z.ZodType<Value>,
  description: string,
  { mayBeInFile = false }: { mayBeInFile?: boolean } = {},
): ConfigKey<Value> {
  const fallback = schema.safeParse(undefined);
  const shownDefault = fallback.success ? showDefault(fallback.data) : 'required';
  return { env, schema, description, shownDefault, mayBeInFile };
}

function showDefault(value: unknown): string {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return 'empty';
  return `\`${String(value)}\``;
}

/** @throws ConfigError naming every variable that is missing or cannot be read. Values are not repeated: they may be secret. */
export function readConfig<Definition extends ConfigDefinition>(
  definition: Definition,
  environment: Readonly<Record<string, string | undefined>>,
): ConfigOf<Definition> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, key] of Object.entries(definition)) {
    const text = textOf(key, environment);
    if (text instanceof ConfigError) {
      problems.push(...text.problems);
      continue;
    }
    const parsed = key.schema.safeParse(text === '' ? undefined : text);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(`${key.env}: ${parsed.error.issues.map((issue) => issue.message).join('; ')}. ${key.description}`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  // The loop above filled exactly the keys of the definition with what their schemas answered.
  return values as ConfigOf<Definition>;
}

/** The text of a variable, or what is wrong with where it should be. A line break at the end of a file is not part of it. */
function textOf(
  { env, mayBeInFile }: ConfigKey,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined | ConfigError {
  const text = environment[env];
  const file = mayBeInFile ? environment[`${env}_FILE`] : undefined;
  if (file === undefined || file === '') return text;
  if (text !== undefined && text !== '') return new ConfigError([`${env} and ${env}_FILE: set one of them`]);
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    return new ConfigError([`${env}_FILE: ${error instanceof Error ? error.message : 'the file cannot be read'}`]);
  }
}

const MIN_SECRET_BYTES = 32;
/** A day. */
const MAX_SECONDS = 86_400;

export const schemas = {
  port: (fallback: number) => z.coerce.number('must be a port number').int().min(0).max(65_535).default(fallback),
  optionalPort: z.coerce.number('must be a port number').int().min(0).max(65_535).optional(),
  seconds: (fallback: number) => z.coerce.number('must be a number of seconds').min(0).max(MAX_SECONDS).default(fallback),
  bytes: (fallback: number) => z.coerce.number('must be a number of bytes').int().min(0).default(fallback),
  text: (fallback: string) => z.string().default(fallback),
  optionalText: z.string().optional(),
  optionalUrl: z.url('must be a URL').optional(),
  list: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
  secret: z
    .string('must be set')
    .refine((text) => Buffer.byteLength(text) >= MIN_SECRET_BYTES, `must be at least ${MIN_SECRET_BYTES} bytes`)
    .transform((text) => new Secret(text)),
  optionalSecretText: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
} as const;

const IN_FILE = { mayBeInFile: true };

/** Variables that every process reads in the same way. */
export const commonKeys = {
  secret: configKey(
    'WHARF_SECRET',
    schemas.secret,
    'The secret that the JWT, internal and at-rest keys are derived from; the same in every process.',
    IN_FILE,
  ),
  mongoUrl: configKey(
    'MONGO_URL',
    schemas.optionalUrl,
    'Address of MongoDB 7+ or FerretDB 2, for example mongodb://127.0.0.1:27017/wharf.',
    IN_FILE,
  ),
  natsUrl: configKey(
    'NATS_URL',
    schemas.optionalUrl,
    'Address of a nats-server, for example nats://127.0.0.1:4222. Without it changes reach other processes within 5 seconds.',
    IN_FILE,
  ),
  bind: configKey('WHARF_BIND', schemas.text('127.0.0.1'), 'Address that the ports between services and the ops port listen on.'),
  logLevel: configKey(
    'WHARF_LOG_LEVEL',
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'The least level that is logged.',
  ),
  drainSeconds: configKey(
    'WHARF_DRAIN_SECONDS',
    schemas.seconds(10),
    'Seconds for which a service that was told to stop goes on listening, not ready any more: callers need them to learn of it.',
  ),
  graceSeconds: configKey(
    'WHARF_GRACE_SECONDS',
    schemas.seconds(25),
    'Seconds after which a service that was told to stop has ended; transfers are cut 4.5 seconds earlier. Keep it below what whoever stops it waits.',
  ),
  otlpEndpoint: configKey(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    schemas.optionalUrl,
    'Address of an OpenTelemetry collector, for example http://127.0.0.1:4318, to which traces are sent; other variables of OpenTelemetry say how, and which. Empty: there are none.',
  ),
} as const;

/** Where the other services are. */
export const peerKeys = {
  authAddress: configKey('WHARF_AUTH_ADDR', schemas.text('127.0.0.1:50051'), 'host:port of the auth service.'),
  adminAddress: configKey('WHARF_ADMIN_ADDR', schemas.text('127.0.0.1:50052'), 'host:port of the admin service.'),
  fsAddress: configKey('WHARF_FS_ADDR', schemas.text('127.0.0.1:50053'), 'host:port of the fs service.'),
  downloaderAddress: configKey('WHARF_DOWNLOADER_ADDR', schemas.text('127.0.0.1:50054'), 'host:port of the downloader service.'),
  sharedStreams: configKey(
    'WHARF_SHARED_STREAMS',
    z
      .enum(['on', 'off'])
      .default('on')
      .transform((text) => text === 'on'),
    'Whether calls to the other services share streams that are kept; `off`: each has a stream of its own, which costs more.',
  ),
} as const;

/** Of services that connect to addresses of people. */
export const egressKeys = {
  egressAllow: configKey(
    'WHARF_EGRESS_ALLOW',
    schemas.list,
    'Comma-separated hosts, addresses and CIDRs that the addresses of users, and those of files in storages of the kind UrlTree, may reach although they are private, or in a network that this machine is in. Store and bus are never reached.',
  ),
  ownAddresses: configKey(
    'WHARF_OWN_ADDRESSES',
    schemas.list,
    'Comma-separated host:port of what belongs to this Wharf beside store, bus and the services named here, such as gateways and ops ports: no storage, download or tool leads there.',
  ),
} as const;

/** With less than that one user's folder or download would find no room. */
const LEAST_TASKS_OF_ALL = 1_000;

/** Of services that queue tasks. */
export const taskKeys = {
  tasksOfAll: configKey(
    'WHARF_TASKS_OF_ALL',
    z.coerce
      .number('must be a number')
      .int()
      .refine((number) => number === 0 || number >= LEAST_TASKS_OF_ALL, `must be 0, or ${LEAST_TASKS_OF_ALL} at least`)
      .transform((number) => number || Number.POSITIVE_INFINITY)
      .optional(),
    'Tasks of one service (copies, moves, removals and uploads, or downloads) that all users may have together that have not ended; 0 is no limit, 1000 the least one. Empty: 30000 in the built-in store, no limit in another one.',
  ),
} as const;
