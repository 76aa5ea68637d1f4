import { AppError } from '@wharf/errors';
import type { StoredSetting } from '@wharf/models';
import { createPace, parseJson } from '@wharf/pace';
import { ALL_PERMISSIONS, ROLE } from '@wharf/rights';
import { cleanPath } from './clean-path.ts';
import type {
  ConfigurationDocument,
  DocumentSecrets,
  ImportedRule,
  ImportedStorage,
  ImportedUser,
  Read,
} from './configuration-document.ts';
import { type DriverForm, misfitsOf } from './driver-form.ts';
import type { ConfigurationState, ExportedUser } from './export-document.ts';
import { planSave } from './plan-save.ts';
import { createRulesRoom, parseRuleFields, type RuleFields } from './rule.ts';
import { findDefinition, storedKeyOf, TOKEN_KEY, withForm } from './setting-items.ts';
import { createStoragesRoom, parseStorageFields, type StorageFields } from './storage.ts';

/** What becomes of one record of a file. */
export interface ImportedRecord {
  readonly kind: 'setting' | 'user' | 'storage' | 'rule';
  readonly name: string;
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped' | 'failed';
  readonly note: string;
}

/** A change that is to be written; a record of the report goes with it. */
type Change<Fields> = { readonly record: ImportedRecord; readonly id: number | undefined; readonly fields: Fields };

export interface ImportPlan {
  /** What is not written: unchanged, skipped or failed. With one that failed nothing is to be written at all. */
  readonly settled: readonly ImportedRecord[];
  readonly settings: readonly { record: ImportedRecord; item: StoredSetting }[];
  readonly users: readonly Change<Omit<ExportedUser, 'id'>>[];
  readonly storages: readonly Change<StorageFields>[];
  /** The users of a rule are given by name: those of the file have other ids. */
  readonly rules: readonly Change<RuleFields & { readers: readonly string[]; writers: readonly string[] }>[];
}

interface State extends ConfigurationState {
  /** Undefined: they are not known at the moment. */
  readonly drivers: ReadonlyMap<string, DriverForm> | undefined;
  /** Stands for a secret that is not known. */
  readonly unknowablePassword: () => string;
}

/** Another folder of the same server. */
const ROOT_ITEM = 'root_folder_path';
/** Names of items come from the file. */
const MAX_NOTE_LENGTH = 200;

/** Decides about every record of a file, without writing anything. Others have their turn in between. @throws AppError CANCELLED */
export async function planImport(
  document: ConfigurationDocument,
  secrets: DocumentSecrets | undefined,
  state: State,
  signal?: AbortSignal,
): Promise<ImportPlan> {
  const pace = createPace(signal);
  const settled: ImportedRecord[] = [];
  const plan = { settings: [] as ImportPlan['settings'][number][], users: [] as ImportPlan['users'][number][] };
  const storages: ImportPlan['storages'][number][] = [];
  const rules: ImportPlan['rules'][number][] = [];

  const each = async <Record>(
    kind: ImportedRecord['kind'],
    records: readonly Read<Record>[],
    decide: (record: Record, name: string) => void,
  ) => {
    const seen = new Set<string>();
    for (const { name, ...rest } of records) {
      await pace.step();
      if ('problem' in rest) settled.push({ kind, name, outcome: 'failed', note: rest.problem });
      else if (seen.has(name)) settled.push({ kind, name, outcome: 'failed', note: 'it is twice in the file' });
      else {
        seen.add(name);
        try {
          decide(rest.record, name);
        } catch (error) {
          if (!AppError.is(error)) throw error;
          settled.push({ kind, name, outcome: 'failed', note: error.message });
        }
      }
    }
  };
  const settle = (kind: ImportedRecord['kind'], name: string, outcome: 'unchanged' | 'skipped', note = '') =>
    settled.push({ kind, name, outcome, note });

  const given = new Set<string>();
  const decideSetting = (key: string, value: string, note = '') => {
    given.add(storedKeyOf(key));
    const definition = findDefinition(key);
    if (!definition) return settle('setting', key, 'skipped', 'this version has no such setting');
    if (definition.flag === 2 || definition.isFixed || definition.isReported || key === TOKEN_KEY)
      return settle('setting', key, 'skipped', 'it is kept as it is here');
    const item = withForm(definition, value);
    try {
      if (planSave(state.settings, [item]) === undefined) return settle('setting', key, 'unchanged');
    } catch (error) {
      // Another installation may have settings that are not offered here. The other settings are still imported.
      return settle('setting', key, 'skipped', AppError.from(error).message);
    }
    return plan.settings.push({ record: { kind: 'setting', name: key, outcome: 'updated', note }, item });
  };
  await each('setting', document.settings, ({ key, value }) => decideSetting(key, value));
  for (const [key, value] of Object.entries(secrets?.settings ?? {})) decideSetting(key, value);
  const leadsElsewhere = plan.settings.some(({ item }) => storedKeyOf(item.key) === 'rpcdl_uri');
  if (leadsElsewhere && !given.has('rpcdl_secret')) decideSetting('rpcdl_secret', '', 'it is not kept, as the file changes rpcdl_uri');

  await each('user', document.users, (user, name) => {
    const change = decideUser(user, state.users);
    if (typeof change === 'string') settle('user', name, change === '' ? 'unchanged' : 'skipped', change);
    else plan.users.push(change);
  });

  const takeRoomOfStorages = createStoragesRoom(state.storages);
  await each('storage', document.storages, (storage, name) => {
    const change = decideStorage(storage, secrets, state);
    if (typeof change === 'string') return settle('storage', name, change === '' ? 'unchanged' : 'skipped', change);
    takeRoomOfStorages(change.fields, change.id);
    return storages.push(change);
  });

  const names = new Map(document.users.flatMap((user) => ('record' in user ? [[user.record.id, user.record] as const] : [])));
  const takeRoomOfRules = createRulesRoom(state.rules);
  await each('rule', document.rules, (rule, name) => {
    const change = decideRule(rule, secrets, names, state);
    if (change === undefined) return settle('rule', name, 'unchanged');
    takeRoomOfRules(change.fields, change.id);
    return rules.push(change);
  });
  return { settled, ...plan, storages, rules };
}

/** A text is the reason to leave the user alone; empty when nothing would change. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
function decideUser({ id: _id, ...user }: ImportedUser, present: readonly ExportedUser[]): ImportPlan['users'][number] | string {
  if (user.role !== ROLE.general && user.role !== ROLE.guest) return 'the administrator here stays unchanged';
  const base_path = cleanPath(user.base_path, 'base_path');
  const permission = user.permission & ALL_PERMISSIONS;
  const found =
    user.role === ROLE.guest ? present.find(({ role }) => role === ROLE.guest) : present.find(({ username }) => username === user.username);
  if (found && found.role !== user.role) throw new AppError('INVALID_ARGUMENT', 'the administrator or the guest has this name');
  const quota = user.quota_bytes === undefined ? {} : { quota_bytes: user.quota_bytes };
  const fields = { ...user, ...quota, base_path, permission, username: found?.username ?? user.username };
  const kind = 'user' as const;
  const name = user.username;
  if (!found)
    return { record: { kind, name, outcome: 'created', note: 'has no password that anybody knows: set one' }, id: undefined, fields };
  if (isSame(fields, found)) return '';
  return { record: { kind, name, outcome: 'updated', note: '' }, id: found.id, fields };
}

/** As decideUser. */
function decideStorage(
  { omitted: leftOut, ...storage }: ImportedStorage,
  secrets: DocumentSecrets | undefined,
  { storages, drivers }: State,
): ImportPlan['storages'][number] | string {
  const form = drivers?.get(storage.driver);
  if (drivers && !form) return `no driver named: ${storage.driver}`;
  const mount_path = cleanPath(storage.mount_path, 'mount_path');
  const present = storages.find((each) => each.mount_path === mount_path);
  if (present && present.driver !== storage.driver)
    throw new AppError('INVALID_ARGUMENT', `a storage of the driver ${present.driver} is mounted there`);
  const whole = entryOf(secrets?.storages, storage.mount_path);
  // What the file has it does not leave out, whatever it says: else a change would pass for a secret that is kept.
  const has = itemsOf(typeof storage.addition === 'string' ? {} : storage.addition);
  const omitted = leftOut.filter((item) => !has.has(item));
  const before: unknown = omitted.length > 0 && whole === undefined && present ? JSON.parse(present.addition) : undefined;
  const known = pick(before, omitted);
  const changed = Object.keys(known).length > 0 ? changedItems(storage.addition, before, omitted) : [];
  // Whoever wrote the file would have the secrets sent to a server of their own.
  const kept = changed.length > 0 ? {} : known;
  const given = typeof storage.addition === 'string' ? storage.addition : JSON.stringify({ ...storage.addition, ...kept });
  const fields = parseStorageFields({ ...storage, mount_path, addition: whole ?? given });
  const missing = whole === undefined ? omitted.filter((item) => !(item in kept)) : [];
  const because = changed.length === 0 ? '' : `; they are not kept, as the file changes ${changed.join(', ').slice(0, MAX_NOTE_LENGTH)}`;
  const misfits = form ? misfitsOf(Object(parseJson(fields.addition)), form, omitted) : [];
  const note = [...(missing.length === 0 ? [] : [`without its secrets: ${missing.join(', ')}${because}`]), ...misfits].join('; ');
  const kind = 'storage' as const;
  if (!present) return { record: { kind, name: mount_path, outcome: 'created', note }, id: undefined, fields };
  const { addition, ...rest } = fields;
  if (isSame(rest, present) && isSame(JSON.parse(addition), JSON.parse(present.addition))) return '';
  return { record: { kind, name: mount_path, outcome: 'updated', note }, id: present.id, fields };
}

/** Undefined when nothing would change. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
function decideRule(
  { omitted, ...rule }: ImportedRule,
  secrets: DocumentSecrets | undefined,
  people: ReadonlyMap<number, ImportedUser>,
  state: State,
): ImportPlan['rules'][number] | undefined {
  const left: string[] = [];
  const nameIn = ({ role, username }: ImportedUser) =>
    role === ROLE.general ? username : (state.users.find((user) => user.role === role)?.username ?? username);
  const namesOf = (field: string, ids: readonly number[]) => {
    const known = ids.flatMap((id) => people.get(id) ?? []).map(nameIn);
    if (known.length === ids.length) return known;
    left.push(`${field}: users who are not in the file are left out`);
    // A list of nobody is for everybody; the administrator may in any case.
    return known.length > 0 ? known : state.users.filter(({ role }) => role === ROLE.admin).map(({ username }) => username);
  };
  const path = cleanPath(rule.path, 'path');
  const present = state.rules.find((each) => each.path === path);
  const isOmitted = omitted.includes('password');
  const known = isOmitted ? (entryOf(secrets?.metas, rule.path) ?? (present?.password || undefined)) : rule.password;
  // A protected path must not become open because the file contains no secrets.
  const fields = parseRuleFields({ ...rule, path, password: known ?? state.unknowablePassword() });
  const readers = namesOf('read_users', rule.read_users);
  const writers = namesOf('write_users', rule.write_users);
  if (known === undefined) left.push('its password is not in the file and nobody knows the one it has now: set one');
  const note = left.join('; ');
  const change = { id: present?.id, fields: { ...fields, readers, writers } };
  if (!present) return { ...change, record: { kind: 'rule', name: path, outcome: 'created', note } };
  const nameOf = (id: number) => state.users.find((user) => user.id === id)?.username;
  const { read_users: _readers, write_users: _writers, ...rest } = fields;
  const isUnchanged =
    isSame(rest, present) && isSame(readers, present.read_users.map(nameOf)) && isSame(writers, present.write_users.map(nameOf));
  return isUnchanged ? undefined : { ...change, record: { kind: 'rule', name: path, outcome: 'updated', note } };
}

/** Whether all that `given` says is so in `present` already. */
function isSame(given: unknown, present: unknown): boolean {
  if (typeof given !== 'object' || given === null || typeof present !== 'object' || present === null) return Object.is(given, present);
  if (Array.isArray(given))
    return Array.isArray(present) && given.length === present.length && given.every((each, i) => isSame(each, present[i]));
  return Object.entries(given).every(([key, value]) => value === undefined || isSame(value, Reflect.get(present, key)));
}

/** Items that a file changes, beside those that it leaves out and those that lead nowhere else. */
function changedItems(given: string | Record<string, unknown>, present: unknown, omitted: readonly string[]): string[] {
  const [after, before] = [itemsOf(typeof given === 'string' ? parseJson(given) : given), itemsOf(present)];
  return [...new Set([...after.keys(), ...before.keys()])].filter(
    (item) => !omitted.includes(item) && item !== ROOT_ITEM && !isSame(after.get(item) ?? '', before.get(item) ?? ''),
  );
}

const itemsOf = (values: unknown): ReadonlyMap<string, unknown> => new Map(Object.entries(Object(values)));

/** Of a record of the file, whose keys may be names that every object has. */
function entryOf(record: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

function pick(values: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof values !== 'object' || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => names.includes(name) && value !== ''));
}
