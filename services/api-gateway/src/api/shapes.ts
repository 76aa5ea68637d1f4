import type { Entry } from '@wharf/proto/fs';
import type { Task } from '@wharf/proto/task';
import { ALL_PERMISSIONS, isAdmin } from '@wharf/rights';
import { z } from 'zod';

/** The answer of a call that has nothing to tell. */
export const nothingBack = z.null();

/** RFC 3339. */
const timestamp = z.string();

export const userShape = z.object({
  id: z.int(),
  username: z.string(),
  /** Always empty. */
  password: z.string(),
  base_path: z.string(),
  role: z.int(),
  disabled: z.boolean(),
  permission: z.int(),
  sso_id: z.string(),
  otp: z.boolean(),
  allow_ldap: z.boolean(),
  /** What the files below base_path may have in bytes; 0: as much as there is room for. */
  quota_bytes: z.int(),
});

/** A user as clients see one: no password, and the admin with every bit. */
export function showUser(
  user: Omit<z.output<typeof userShape>, 'password' | 'quota_bytes'> & { quota_bytes?: number | null | undefined },
): z.output<typeof userShape> {
  const { id, username, base_path, role, disabled, sso_id, otp, allow_ldap } = user;
  const quota_bytes = user.quota_bytes ?? 0;
  const permission = isAdmin({ role }) ? ALL_PERMISSIONS : user.permission;
  return { id, username, password: '', base_path, role, disabled, permission, sso_id, otp, allow_ldap, quota_bytes };
}

export const sshKeyShape = z.object({
  id: z.int(),
  title: z.string(),
  fingerprint: z.string(),
  added_time: timestamp,
  last_used_time: timestamp,
});

export const sessionShape = z.object({
  id: z.string(),
  address: z.string(),
  created_time: timestamp,
  expires_time: timestamp,
  /** True for the login that asks. */
  current: z.boolean(),
  /** What the client called itself (`User-Agent`), up to 256 characters. */
  device: z.string(),
});

export const appPasswordShape = z.object({
  id: z.int(),
  name: z.string(),
  protocols: z.array(z.string()),
  read_only: z.boolean(),
  path: z.string(),
  created_time: timestamp,
  /** Empty: it does not end by itself. */
  expires_time: z.string(),
  /** Empty: never. */
  last_used_time: z.string(),
});

export const auditEntryShape = z.object({
  id: z.string(),
  time: timestamp,
  action: z.string(),
  /** 0: not known. */
  user_id: z.int(),
  username: z.string(),
  address: z.string(),
  target: z.string(),
  detail: z.string(),
  /** Failed logins that repeat within an hour are one entry. */
  count: z.int(),
  last_time: timestamp,
});

export const storageShape = z.object({
  id: z.int(),
  mount_path: z.string(),
  order: z.int(),
  driver: z.string(),
  cache_expiration: z.int(),
  custom_cache_policies: z.string(),
  status: z.string(),
  addition: z.string(),
  remark: z.string(),
  modified: timestamp,
  disabled: z.boolean(),
  disable_index: z.boolean(),
  enable_sign: z.boolean(),
  order_by: z.string(),
  order_direction: z.string(),
  extract_folder: z.string(),
  web_proxy: z.boolean(),
  webdav_policy: z.string(),
  proxy_range: z.boolean(),
  down_proxy_url: z.string(),
  disable_proxy_sign: z.boolean(),
  /** In lists only, of storages that can tell, when the settings let it be shown. Bytes. */
  mount_details: z.object({ total_space: z.int(), used_space: z.int(), free_space: z.int() }).optional(),
});

export const storageHealthShape = z.object({
  id: z.int(),
  mount_path: z.string(),
  driver: z.string(),
  state: z.string(),
  breaker: z.string(),
  last_error: z.string(),
  last_error_at: z.string(),
  retry_at: z.string(),
  latency_ms: z.number(),
  calls: z.int(),
  failures: z.int(),
});

/** What came of trying a storage. */
export const storageTestShape = z.object({
  /** Every step did. */
  works: z.boolean(),
  /** Of the first step that failed; empty otherwise. */
  error: z.string(),
  steps: z.array(z.object({ name: z.string(), ok: z.boolean(), error: z.string(), elapsed_ms: z.number() })),
  /** By name; empty when it could not be opened. */
  traits: z.record(z.string(), z.unknown()),
  operations: z.array(z.string()),
  /** How far the storage's clock is ahead; null: not known, or it keeps the times that it is given. */
  clock_skew_ms: z.int().nullable(),
  /** Temporary files that could not be removed. */
  left_behind: z.array(z.string()),
});

export const settingShape = z.object({
  key: z.string(),
  value: z.string(),
  help: z.string(),
  type: z.string(),
  options: z.string(),
  group: z.int(),
  flag: z.int(),
  index: z.int(),
});

export const ruleShape = z.object({
  id: z.int(),
  path: z.string(),
  password: z.string(),
  p_sub: z.boolean(),
  write: z.boolean(),
  w_sub: z.boolean(),
  hide: z.string(),
  h_sub: z.boolean(),
  readme: z.string(),
  r_sub: z.boolean(),
  header: z.string(),
  header_sub: z.boolean(),
  read_users: z.array(z.int()),
  read_users_sub: z.boolean(),
  write_users: z.array(z.int()),
  write_users_sub: z.boolean(),
  /** Paths of the rules above that this one replaces. */
  shadows: z.array(z.string()),
});

/** What one user may do at a path. */
export const userAccessShape = z.object({
  user_id: z.int(),
  username: z.string(),
  role: z.int(),
  disabled: z.boolean(),
  decisions: z.array(
    z.object({
      /** `see`, `make` (files in a folder), `rename`, `move`, `copy`, `remove`. */
      action: z.string(),
      allowed: z.boolean(),
      /**
       * Allowed: `admin`, `free` (no rule stands here), `rule` (its rule lets), `write` (its rule lets everybody write). Refused: `outside` (of the
       * user's folder), `permission`, `password`, `hidden`, `readers`, `writers`, `guarded` (what a rule guards keeps its path).
       */
      reason: z.string(),
      /** Where the rule stands that the reason speaks of; empty: none had a part in it. */
      rule_path: z.string(),
    }),
  ),
});

const driverItem = z.object({
  name: z.string(),
  type: z.string(),
  default: z.string(),
  options: z.string(),
  required: z.boolean(),
  help: z.string(),
});

export const driverShape = z.object({
  common: z.array(driverItem),
  additional: z.array(driverItem),
  config: z.object({
    name: z.string(),
    local_sort: z.boolean(),
    only_local: z.boolean(),
    only_proxy: z.boolean(),
    no_cache: z.boolean(),
    no_upload: z.boolean(),
    need_ms: z.boolean(),
    default_root: z.string(),
    alert: z.string(),
    only_indices: z.boolean(),
    prefer_proxy: z.boolean(),
  }),
  /** The items of `additional` that the answer of driver/options depends on, the first being what is chosen; empty: the driver has no options there. */
  options_by: z.array(z.string()),
  /** The items of `additional` that keep such options, one `name = value` a line. */
  options_in: z.array(z.string()),
});

export const driverOptionShape = z.object({
  name: z.string(),
  item: z.string(),
  type: z.enum(['string', 'text', 'number', 'bool', 'size', 'duration']),
  help: z.string(),
  default: z.string(),
  choices: z.array(z.object({ value: z.string(), help: z.string() })),
  exclusive: z.boolean(),
  required: z.boolean(),
  secret: z.boolean(),
  advanced: z.boolean(),
  shapes: z.boolean(),
});

export const taskShape = z.object({
  id: z.string(),
  name: z.string(),
  state: z.int(),
  status: z.string(),
  /** 0 to 100. */
  progress: z.number(),
  error: z.string(),
  /** The name of the error, as the header X-Error-Code has it; empty: none. */
  error_code: z.string(),
  /** Empty: nobody. */
  creator: z.string(),
  /** -1: nobody. */
  creator_role: z.int(),
  /** Null before it began. */
  start_time: timestamp.nullable(),
  end_time: timestamp.nullable(),
  /** 0: not known. */
  total_bytes: z.int(),
  paused: z.boolean(),
  /** Bytes a second. */
  speed: z.number(),
  /** Seconds; null: not known. */
  eta: z.number().nullable(),
  phase: z.string(),
  /** The `<type>` of the routes under /api/task/<type>. */
  list: z.string(),
});

export function showTask(task: Task): z.output<typeof taskShape> {
  const { id, name, state, status, progress, error, error_code, creator, creator_role, start_time, end_time, total_bytes } = task;
  const times = { start_time: start_time ?? null, end_time: end_time ?? null };
  const { paused, speed, eta, phase, list } = task;
  return {
    id,
    name,
    state,
    status,
    progress,
    error,
    error_code,
    creator,
    creator_role,
    ...times,
    total_bytes,
    paused,
    speed,
    eta: eta ?? null,
    phase,
    list,
  };
}

export const entryShape = z.object({
  name: z.string(),
  size: z.int(),
  is_dir: z.boolean(),
  modified: timestamp,
  created: timestamp,
  sign: z.string(),
  thumb: z.string(),
  type: z.int(),
  hashinfo: z.string(),
  hash_info: z.record(z.string(), z.string()).nullable(),
});

/** An entry as clients see it: its digests as text and as an object. */
export function showEntry(entry: Entry): z.output<typeof entryShape> {
  const { name, size, is_dir, modified, created, sign, thumb, type, hashinfo } = entry;
  return { name, size, is_dir, modified, created: created || modified, sign, thumb, type, hashinfo, hash_info: digestsOf(hashinfo) };
}

const digests = z.record(z.string(), z.string()).nullable();

/** The digests in an entry's `hashinfo`; null when they are unknown. */
function digestsOf(hashinfo: string): Record<string, string> | null {
  if (hashinfo === 'null' || hashinfo === '') return null;
  return digests.parse(JSON.parse(hashinfo));
}

/** What a move or copy answers: null when everything is done, else what was queued. */
export const queuedShape = z.object({ message: z.string(), tasks: z.array(taskShape) }).nullable();

/** What is said of work that goes on in the background; null where none does. */
export function showQueued(verb: 'copy' | 'move', tasks: readonly Task[]): z.output<typeof queuedShape> {
  return tasks.length === 0 ? null : { message: `Successfully created ${tasks.length} ${verb} task(s)`, tasks: tasks.map(showTask) };
}

/** A page of records beside the number of all. */
export const pageShape = <Item extends z.ZodType>(item: Item) => z.object({ content: z.array(item), total: z.int() });
