import { SETTING_ALIASES, SETTING_CATALOGUE, type StoredSetting } from '@wharf/models';
import { type DocumentSecrets, type EncryptedSecrets, FORMAT, FORMAT_VERSION } from './configuration-document.ts';
import type { Rule } from './rule.ts';
import { isSecret, TOKEN_KEY, valueInForce } from './setting-items.ts';
import type { Storage } from './storage.ts';

/** An account as auth tells it; there are no passwords among it. */
export interface ExportedUser {
  readonly id: number;
  readonly username: string;
  readonly base_path: string;
  readonly role: number;
  readonly disabled: boolean;
  readonly permission: number;
  readonly sso_id: string;
  readonly allow_ldap: boolean;
  readonly quota_bytes?: number | undefined;
}

export interface ConfigurationState {
  readonly settings: readonly StoredSetting[];
  readonly users: readonly ExportedUser[];
  readonly storages: readonly Storage[];
  readonly rules: readonly Rule[];
  /** The names of the secret items of a driver's addition; undefined for an unknown driver: then all items are secret. */
  readonly secretItemsOf: (driver: string) => ReadonlySet<string> | undefined;
}

/** Lists in the file what was left out of it. */
const NOTE =
  'Passwords of users, second factors and the permanent token are not in this file. Secrets of settings, storages and rules are in it only where "secrets" holds them encrypted.';

/** The configuration in two parts: the part that is readable in the file, and the secrets. */
export function splitConfiguration(state: ConfigurationState): { open: Record<string, unknown>; secrets: DocumentSecrets } {
  const secrets = { settings: {} as Record<string, string>, storages: {} as Record<string, string>, metas: {} as Record<string, string> };
  const saved = new Map(state.settings.map((item) => [item.key, item]));
  const settings: { key: string; value: string }[] = [];
  for (const definition of SETTING_CATALOGUE) {
    const { key } = definition;
    if (definition.flag === 2 || definition.isFixed || definition.isReported || key === TOKEN_KEY || key in SETTING_ALIASES) continue;
    const value = valueInForce(definition, saved);
    if (!isSecret(definition) || value === definition.value) settings.push({ key, value });
    else secrets.settings[key] = value;
  }
  const storages = state.storages.map(({ id: _id, status: _status, modified: _modified, version: _version, ...storage }) => {
    const { open, omitted } = withoutSecrets(storage.addition, state.secretItemsOf(storage.driver));
    if (omitted.length > 0) secrets.storages[storage.mount_path] = storage.addition;
    return { ...storage, addition: open, omitted };
  });
  const metas = state.rules.map(({ id: _id, password, ...rule }) => {
    if (password !== '') secrets.metas[rule.path] = password;
    return { ...rule, password: '', omitted: password === '' ? [] : ['password'] };
  });
  const users = state.users.map((user) => ({ ...user }));
  return { open: { format: FORMAT, version: FORMAT_VERSION, note: NOTE, settings, users, storages, metas }, secrets };
}

/** The file. @param secrets undefined: they are left out. */
export function documentText(open: Record<string, unknown>, exportedAt: Date, secrets: EncryptedSecrets | undefined): string {
  const { format, version, note, ...records } = open;
  return JSON.stringify({ format, version, exported_at: exportedAt.toISOString(), note, secrets: secrets ?? 'omitted', ...records });
}

function withoutSecrets(
  addition: string,
  secretItems: ReadonlySet<string> | undefined,
): { open: Record<string, unknown>; omitted: string[] } {
  const values: unknown = JSON.parse(addition);
  const entries = typeof values === 'object' && values !== null ? Object.entries(values) : [];
  // An empty secret says nothing, but that there is none.
  const isOmitted = ([name, value]: [string, unknown]) => (secretItems ? secretItems.has(name) : true) && value !== '';
  return {
    open: Object.fromEntries(entries.filter((entry) => !isOmitted(entry))),
    omitted: entries.filter(isOmitted).map(([name]) => name),
  };
}
