import { AppError } from '@wharf/errors';
import type { StoredSetting } from '@wharf/models';
import { createPace, type Pace, parseJson } from '@wharf/pace';
import { ALL_PERMISSIONS, ROLE, usernameKeyOf } from '@wharf/rights';
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
import { MAX_NOTE_LENGTH, openedRule, openedStorage, openedUser, UNSIGNED } from './opened-by-import.ts';
import { planSave } from './plan-save.ts';
import { createRulesRoom, parseRuleFields, type Rule, type RuleFields, shadowedBy } from './rule.ts';
import { findDefinition, storedKeyOf, TOKEN_KEY, withForm } from './setting-items.ts';
import { createStoragesRoom, parseStorageFields, type Storage, type StorageFields } from './storage.ts';

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

/** No name. */
const GUEST_KEY = '\0guest';
/** Another folder of the same server. */
const ROOT_ITEM = 'root_folder_path';
/** What the report repeats of the file. */
const MAX_NAME_LENGTH = 200;

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
    decide: (record: Record, name: string) => unknown,
    keyOf = (name: string, _record: Record | undefined) => name,
  ) => {
    const seen = new Set<string>();
    for (const { name: whole, ...rest } of records) {
      await pace.step();
      const name = whole.slice(0, MAX_NAME_LENGTH);
      const key = keyOf(whole, 'record' in rest ? rest.record : undefined);
      if ('problem' in rest) settled.push({ kind, name, outcome: 'failed', note: rest.problem });
      else if (seen.has(key)) settled.push({ kind, name, outcome: 'failed', note: 'it is twice in the file' });
      else {
        seen.add(key);
        try {
          await decide(rest.record, name);
        } catch (error) {
          if (!AppError.is(error) || error.code === 'CANCELLED') throw error;
          settled.push({ kind, name, outcome: 'failed', note: error.message });
        }
      }
    }
  };
  const settle = (kind: ImportedRecord['kind'], name: string, outcome: 'unchanged' | 'skipped', note = '') =>
    settled.push({ kind, name, outcome, note });

  /** What comes from the file, or is as the file says. What of it is skipped is not given: what is here would stay. */
  const given = new Set<string>();
  const decideSetting = (key: string, value: string, note = '') => {
    const definition = findDefinition(key);
    if (!definition) return settle('setting', key, 'skipped', 'this version has no such setting');
    if (definition.flag === 2 || definition.isFixed || definition.isReported || key === TOKEN_KEY)
      return settle('setting', key, 'skipped', 'it is kept as it is here');
    const item = withForm(definition, value);
    let isUnchanged: boolean;
    try {
      isUnchanged = planSave(state.settings, [item]) === undefined;
    } catch (error) {
      // Another installation may have settings that are not offered here. The other settings are still imported.
      return settle('setting', key, 'skipped', AppError.from(error).message);
    }
    given.add(storedKeyOf(key));
    if (isUnchanged) return settle('setting', key, 'unchanged');
    const said = key === 'sign_all' && item.value === 'false' ? UNSIGNED : note || nowOf(definition, item.value);
    return plan.settings.push({ record: { kind: 'setting', name: key, outcome: 'updated', note: said }, item });
  };
  await each('setting', document.settings, ({ key, value }) => decideSetting(key, value));
  for (const [key, value] of Object.entries(secrets?.settings ?? {})) decideSetting(key, value);
  const leadsElsewhere = plan.settings.some(({ item }) => storedKeyOf(item.key) === 'rpcdl_uri');
  if (leadsElsewhere && !given.has('rpcdl_secret')) decideSetting('rpcdl_secret', '', 'it is not kept, as the file changes rpcdl_uri');

  const present = presentOf(state);
  const decideAboutUser = (user: ImportedUser, name: string) => {
    const change = decideUser(user, present);
    if (typeof change === 'string') settle('user', name, change === '' ? 'unchanged' : 'skipped', change);
    else plan.users.push(change);
  };
  // The guest is the one guest here, whatever the file calls it.
  await each('user', document.users, decideAboutUser, (name, user) => (user?.role === ROLE.guest ? GUEST_KEY : usernameKeyOf(name)));

  const takeRoomOfStorages = createStoragesRoom(state.storages);
  await each('storage', document.storages, (storage, name) => {
    const change = decideStorage(storage, secrets, state, present);
    if (typeof change === 'string') return settle('storage', name, change === '' ? 'unchanged' : 'skipped', change);
    takeRoomOfStorages(change.fields, change.id);
    return storages.push(change);
  });

  const names = new Map(document.users.flatMap((user) => ('record' in user ? [[user.record.id, user.record] as const] : [])));
  const takeRoomOfRules = await createRulesRoom(state.rules, pace);
  await each('rule', document.rules, async (rule, name) => {
    const change = await decideRule(rule, { secrets, people: names, present, unknowablePassword: state.unknowablePassword, pace });
    if (change === undefined) return settle('rule', name, 'unchanged');
    takeRoomOfRules(change.fields, change.id);
    return rules.push(change);
  });
  return { settled, ...plan, storages, rules };
}

/** What is there, by what it is looked for: each record of a file asks, and there may be tens of thousands of both. */
interface Present {
  /** By what makes their names unique. */
  readonly users: ReadonlyMap<string, ExportedUser>;
  /** The first of each role: there are one administrator and one guest. */
  readonly byRole: ReadonlyMap<number, ExportedUser>;
  readonly usernames: ReadonlyMap<number, string>;
  readonly storages: ReadonlyMap<string, Storage>;
  readonly rules: ReadonlyMap<string, Rule>;
}

function presentOf({ users, storages, rules }: State): Present {
  return {
    users: new Map(users.map((user) => [usernameKeyOf(user.username), user])),
    byRole: new Map(users.toReversed().map((user) => [user.role, user])),
    usernames: new Map(users.map(({ id, username }) => [id, username])),
    storages: new Map(storages.map((storage) => [storage.mount_path, storage])),
    rules: new Map(rules.map((rule) => [rule.path, rule])),
  };
}

/** A text is the reason to leave the user alone; empty when nothing would change. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
function decideUser({ id: _id, ...user }: ImportedUser, { users, byRole }: Present): ImportPlan['users'][number] | string {
  if (user.role !== ROLE.general && user.role !== ROLE.guest) return 'the administrator here stays unchanged';
  const base_path = cleanPath(user.base_path, 'base_path');
  const permission = user.permission & ALL_PERMISSIONS;
  const found = user.role === ROLE.guest ? byRole.get(ROLE.guest) : users.get(usernameKeyOf(user.username));
  if (found && found.role !== user.role) throw new AppError('INVALID_ARGUMENT', 'the administrator or the guest has this name');
  // A file of another server, or an older one, means somebody else by it.
  if (found?.chose_name) return 'somebody here took this name by themselves: save the user, if it is the same, and import again';
  const quota = user.quota_bytes === undefined ? {} : { quota_bytes: user.quota_bytes };
  const fields = { ...user, ...quota, base_path, permission, username: found?.username ?? user.username };
  const kind = 'user' as const;
  const name = fields.username;
  if (!found) {
    const note = ['has no password that anybody knows: set one', ...openedUser(fields, undefined)].join('; ');
    return { record: { kind, name, outcome: 'created', note }, id: undefined, fields };
  }
  if (isSame(fields, found)) return '';
  const called = name === user.username ? [] : [`the file calls it ${user.username.slice(0, MAX_NAME_LENGTH)}`];
  return { record: { kind, name, outcome: 'updated', note: [...called, ...openedUser(fields, found)].join('; ') }, id: found.id, fields };
}

/** As decideUser. */
function decideStorage(
  { omitted: leftOut, ...storage }: ImportedStorage,
  secrets: DocumentSecrets | undefined,
  { drivers }: State,
  { storages }: Present,
): ImportPlan['storages'][number] | string {
  const form = drivers?.get(storage.driver);
  if (drivers && !form) return `no driver named: ${storage.driver}`;
  const mount_path = cleanPath(storage.mount_path, 'mount_path');
  const present = storages.get(mount_path);
  if (present && present.driver !== storage.driver)
    throw new AppError('INVALID_ARGUMENT', `a storage of the driver ${present.driver} is mounted there`);
  const whole = entryOf(secrets?.storages, storage.mount_path);
  const fieldsWith = (addition: string) => parseStorageFields({ ...storage, mount_path, addition }, present);
  // First, because nothing that is too long is to be compared.
  const asGiven = fieldsWith(whole ?? (typeof storage.addition === 'string' ? storage.addition : JSON.stringify(storage.addition)));
  const given = itemsOf(parseJson(asGiven.addition));
  // What the file has it does not leave out, whatever it says: else a change would pass for a secret that is kept.
  const omitted = new Set(leftOut.filter((item) => !given.has(item)));
  const before = itemsOf(omitted.size > 0 && whole === undefined && present ? parseJson(present.addition) : undefined);
  const known = [...before].filter(([item, value]) => omitted.has(item) && value !== '');
  const changed = known.length > 0 ? changedItems(given, before, omitted, form) : [];
  // Whoever wrote the file would have the secrets sent to a server of their own.
  const kept = new Map(changed.length > 0 ? [] : known);
  const fields = kept.size > 0 ? fieldsWith(JSON.stringify(Object.fromEntries([...given, ...kept]))) : asGiven;
  const missing = whole === undefined ? [...omitted].filter((item) => !kept.has(item)) : [];
  const because = changed.length === 0 ? '' : `; they are not kept, as the file changes ${changed.join(', ').slice(0, MAX_NOTE_LENGTH)}`;
  const misfits = form ? misfitsOf(Object(parseJson(fields.addition)), form, omitted) : [];
  const note = [
    ...(missing.length === 0 ? [] : [`without its secrets: ${missing.join(', ').slice(0, MAX_NOTE_LENGTH)}${because}`]),
    ...misfits,
    ...openedStorage(fields, present),
  ].join('; ');
  const kind = 'storage' as const;
  if (!present) return { record: { kind, name: mount_path, outcome: 'created', note }, id: undefined, fields };
  const { addition, ...rest } = fields;
  if (isSame(rest, present) && isSame(parseJson(addition), parseJson(present.addition))) return '';
  return { record: { kind, name: mount_path, outcome: 'updated', note }, id: present.id, fields };
}

/** Undefined when nothing would change. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
async function decideRule(
  { omitted, ...rule }: ImportedRule,
  {
    secrets,
    people,
    present: { rules, usernames, byRole, users },
    unknowablePassword,
    pace,
  }: {
    readonly secrets: DocumentSecrets | undefined;
    readonly people: ReadonlyMap<number, ImportedUser>;
    readonly present: Present;
    readonly unknowablePassword: () => string;
    readonly pace: Pace;
  },
): Promise<ImportPlan['rules'][number] | undefined> {
  const left: string[] = [];
  const path = cleanPath(rule.path, 'path');
  const present = rules.get(path);
  const namesOf = (field: 'read_users' | 'write_users', ids: readonly number[]) => {
    const known = ids.flatMap((id) => {
      const user = people.get(id);
      if (!user) return [];
      const found = user.role === ROLE.general ? users.get(usernameKeyOf(user.username)) : byRole.get(user.role);
      // Who took a name by themselves may be somebody else. Where the rule has them already they are given nothing.
      return found?.chose_name && !present?.[field].includes(found.id) ? [] : [found?.username ?? user.username];
    });
    if (known.length === ids.length) return known;
    left.push(`${field}: users who are not in the file, or whose name somebody here took, are left out`);
    // A list of nobody is for everybody; the administrator may in any case.
    return known.length > 0 ? known : [byRole.get(ROLE.admin)?.username ?? ''];
  };
  const isOmitted = omitted.includes('password');
  const known = isOmitted ? (entryOf(secrets?.metas, rule.path) ?? (present?.password || undefined)) : rule.password;
  // A protected path must not become open because the file contains no secrets.
  const fields = await parseRuleFields({ ...rule, path, password: known ?? unknowablePassword() }, pace, present);
  const readers = namesOf('read_users', fields.read_users);
  const writers = namesOf('write_users', fields.write_users);
  if (known === undefined) left.push('its password is not in the file and nobody knows the one it has now: set one');
  const above = present ? undefined : rules.get(shadowedBy(path, rules).at(-1) ?? '');
  const note = [...left, ...openedRule({ ...fields, readers, writers }, present, usernames, above)].join('; ');
  const change = { id: present?.id, fields: { ...fields, readers, writers } };
  if (!present) return { ...change, record: { kind: 'rule', name: path, outcome: 'created', note } };
  const nameOf = (id: number) => usernames.get(id);
  const { read_users: _readers, write_users: _writers, ...rest } = fields;
  const isUnchanged =
    isSame(rest, present) && isSame(readers, present.read_users.map(nameOf)) && isSame(writers, present.write_users.map(nameOf));
  return isUnchanged ? undefined : { ...change, record: { kind: 'rule', name: path, outcome: 'updated', note } };
}

/** What a setting is from now on, where that is no text, which may be long or a secret. */
function nowOf({ type }: { readonly type: string }, value: string): string {
  return ['bool', 'number', 'select'].includes(type) ? `it is ${value.slice(0, MAX_NOTE_LENGTH)} now` : '';
}

/** Whether all that `given` says is so in `present` already. */
function isSame(given: unknown, present: unknown): boolean {
  if (typeof given !== 'object' || given === null || typeof present !== 'object' || present === null) return Object.is(given, present);
  if (Array.isArray(given))
    return Array.isArray(present) && given.length === present.length && given.every((each, i) => isSame(each, present[i]));
  return Object.entries(given).every(([key, value]) => value === undefined || isSame(value, Reflect.get(present, key)));
}

/** Items that a file changes, beside those that it leaves out and those that lead nowhere else. */
function changedItems(after: Items, before: Items, omitted: ReadonlySet<string>, form: DriverForm | undefined): string[] {
  // Items that are not given are what the driver takes then: it may have written them down in between.
  const standards = new Map(form?.items.map(({ name, standard }) => [name, standard]));
  const valueIn = (items: Items, item: string) => {
    const value = items.get(item) ?? standards.get(item) ?? '';
    return typeof value === 'object' ? value : String(value);
  };
  return [...new Set([...after.keys(), ...before.keys()])].filter(
    (item) => !omitted.has(item) && item !== ROOT_ITEM && !isSame(valueIn(after, item), valueIn(before, item)),
  );
}

type Items = ReadonlyMap<string, unknown>;
const itemsOf = (values: unknown): Items => new Map(Object.entries(Object(values)));

/** Of a record of the file, whose keys may be names that every object has. */
function entryOf(record: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
