import { SETTING_ALIASES, SETTING_CATALOGUE, type StoredSetting } from '@wharf/models';
import { type Pace, parseJson } from '@wharf/pace';
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
  /** Users took this name, and no administrator has saved it since; not in the file. */
  readonly chose_name?: boolean;
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

/** A piece of the file has so many characters, and what the last record of it has beside: it is made in one turn. */
const PIECE_LENGTH = 256 * 1024;

/** What of the configuration is in the file only encrypted. */
export async function secretsOf(state: ConfigurationState, pace: Pace): Promise<DocumentSecrets> {
  const secrets: DocumentSecrets = { settings: { ...splitSettings(state.settings).secrets }, storages: {}, metas: {} };
  for (const { mount_path, driver, addition } of state.storages) {
    await pace.step();
    if (withoutSecrets(addition, state.secretItemsOf(driver)).omitted.length > 0) secrets.storages[mount_path] = addition;
  }
  for (const { path, password } of state.rules) if (password !== '') secrets.metas[path] = password;
  return secrets;
}

/**
 * The file, in pieces: as one text it would take many times the memory of what is there, and all of it one turn.
 *
 * @param secrets undefined: they are left out.
 */
export async function* documentPieces(
  state: ConfigurationState,
  exportedAt: Date,
  secrets: EncryptedSecrets | undefined,
  pace: Pace,
): AsyncGenerator<string, void> {
  const head = {
    format: FORMAT,
    version: FORMAT_VERSION,
    exported_at: exportedAt.toISOString(),
    note: NOTE,
    secrets: secrets ?? 'omitted',
  };
  let piece = JSON.stringify(head).slice(0, -1);
  for (const [name, records] of Object.entries(recordsOf(state))) {
    piece += `,${JSON.stringify(name)}:[`;
    let separator = '';
    for (const record of records) {
      piece += separator + JSON.stringify(record);
      separator = ',';
      if (piece.length >= PIECE_LENGTH) {
        yield piece;
        piece = '';
      }
      await pace.step();
    }
    piece += ']';
  }
  yield `${piece}}`;
}

/** The parts of the file, each record of which is made when it is asked for. */
function recordsOf({ settings, users, storages, rules, secretItemsOf }: ConfigurationState): Record<string, Iterable<unknown>> {
  return {
    settings: splitSettings(settings).open,
    users: users.values().map(({ chose_name: _, ...user }) => user),
    storages: storages.values().map(({ id: _id, status: _status, modified: _modified, version: _version, ...storage }) => {
      const { open, omitted, isLost } = withoutSecrets(storage.addition, secretItemsOf(storage.driver));
      // What a driver does without settings may be more than it did: Local would show all of the machine.
      return { ...storage, addition: open, omitted, ...(isLost && { disabled: true }) };
    }),
    metas: rules
      .values()
      .map(({ id: _id, password, ...rule }) => ({ ...rule, password: '', omitted: password === '' ? [] : ['password'] })),
  };
}

function splitSettings(stored: readonly StoredSetting[]): { open: { key: string; value: string }[]; secrets: Record<string, string> } {
  const saved = new Map(stored.map((item) => [item.key, item]));
  const open: { key: string; value: string }[] = [];
  const secrets: Record<string, string> = {};
  for (const definition of SETTING_CATALOGUE) {
    const { key } = definition;
    if (definition.flag === 2 || definition.isFixed || definition.isReported || key === TOKEN_KEY || key in SETTING_ALIASES) continue;
    const value = valueInForce(definition, saved);
    if (!isSecret(definition) || value === definition.value) open.push({ key, value });
    else secrets[key] = value;
  }
  return { open, secrets };
}

/** @returns `isLost`: what is stored could not be opened */
function withoutSecrets(
  addition: string,
  secretItems: ReadonlySet<string> | undefined,
): { open: Record<string, unknown>; omitted: string[]; isLost: boolean } {
  const values = parseJson(addition);
  const entries = typeof values === 'object' && values !== null ? Object.entries(values) : [];
  // An empty secret says nothing, but that there is none.
  const isOmitted = ([name, value]: [string, unknown]) => (secretItems ? secretItems.has(name) : true) && value !== '';
  return {
    open: Object.fromEntries(entries.filter((entry) => !isOmitted(entry))),
    omitted: entries.filter(isOmitted).map(([name]) => name),
    isLost: values === undefined,
  };
}
