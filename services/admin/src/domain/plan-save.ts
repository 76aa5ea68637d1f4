import { AppError } from '@wharf/errors';
import type { SettingDefinition, StoredSetting } from '@wharf/models';
import { findProblem } from './setting-hooks.ts';
import { findDefinition, storedKeyOf, TOKEN_KEY, valueInForce, withForm } from './setting-items.ts';

/** All settings are one document of the store, and a document has 16 MiB. */
const MAX_VALUE_BYTES = 64 * 1024;
const MAX_NOTE_BYTES = 4 * 1024;
const MAX_ITEMS = 1_000;
/** Backups of other installations bring some eighty settings that Wharf does not know. */
const MAX_UNKNOWN_KEYS = 128;
const KEY = /^[\w.-]{1,128}$/;
/** Public, private and deprecated; nobody makes a read-only setting. */
const FLAGS_TO_CREATE: readonly number[] = [0, 1, 3];
const PRIVATE = 1;
/** A public setting of this name switches the web client into the dialect of another server. */
const NEVER_PUBLIC = 'backend';

/**
 * What is stored once the given items are saved; undefined when that changes nothing.
 *
 * Of a key given twice the last item counts. Of a known key only the value counts; read-only and fixed settings, and the token, which auth
 * keeps, are passed over. Clients save whole groups, so a value that is in force is always taken, and of a setting and its alias the one
 * that differs from what is in force wins, the later one if both do.
 *
 * @throws AppError INVALID_ARGUMENT (a key, or too long) | FAILED_PRECONDITION with `details.key` (the setting cannot take the value);
 * then nothing is to be stored.
 */
export function planSave(saved: readonly StoredSetting[], given: readonly StoredSetting[]): StoredSetting[] | undefined {
  if (given.length > MAX_ITEMS) throw new AppError('INVALID_ARGUMENT', `a save takes ${MAX_ITEMS} settings at most`);
  const byKey = new Map(saved.map((item) => [item.key, item]));
  const changed = new Map<string, StoredSetting>();
  for (const item of lastOfEachKey(given)) {
    const definition = findDefinition(item.key);
    if (definition) {
      if (takesValue(definition) && item.value !== valueInForce(definition, byKey))
        changed.set(storedKeyOf(item.key), changedKnown(definition, item.value));
      continue;
    }
    const present = byKey.get(item.key);
    if (!present) changed.set(item.key, newUnknown(item));
    else if (present.value !== item.value) changed.set(item.key, { ...present, value: checkedValue(item) });
  }
  if (changed.size === 0) return undefined;
  const kept = saved.map((item) => changed.get(item.key) ?? item);
  const added = [...changed.values()].filter((item) => !byKey.has(item.key));
  const items = [...kept, ...added];
  if (items.filter((item) => !findDefinition(item.key)).length > MAX_UNKNOWN_KEYS)
    throw new AppError('INVALID_ARGUMENT', `there may be ${MAX_UNKNOWN_KEYS} settings of other names at most`);
  return items;
}

/** The token among the given items: the last one's value, or undefined. */
export function findToken(given: readonly StoredSetting[]): string | undefined {
  return given.findLast((item) => item.key === TOKEN_KEY)?.value;
}

/** The error of a setting that cannot take its value. */
export function refusal(key: string, reason: string, cause?: unknown): AppError {
  return new AppError('FAILED_PRECONDITION', `failed to execute hook on ${key}: ${reason}`, { details: { key }, cause });
}

function lastOfEachKey(given: readonly StoredSetting[]): Iterable<StoredSetting> {
  const byKey = new Map<string, StoredSetting>();
  for (const item of given) {
    if (!KEY.test(item.key)) throw new AppError('INVALID_ARGUMENT', 'a setting needs a key of letters, digits, "_", "-" and "."');
    byKey.delete(item.key);
    byKey.set(item.key, item);
  }
  return byKey.values();
}

function takesValue(definition: SettingDefinition): boolean {
  return definition.flag !== 2 && !definition.isFixed && !definition.isReported && definition.key !== TOKEN_KEY;
}

function changedKnown(definition: SettingDefinition, value: string): StoredSetting {
  const { key } = definition;
  const problem = findProblem(definition, checkedValue({ key, value }));
  if (problem !== undefined) throw refusal(key, problem);
  return withForm({ ...definition, key: storedKeyOf(key) }, value);
}

function newUnknown(item: StoredSetting): StoredSetting {
  const { key, help, type, options, group } = item;
  for (const note of [help, type, options]) if (Buffer.byteLength(note) > MAX_NOTE_BYTES) throw tooLong(key, MAX_NOTE_BYTES);
  return {
    key,
    value: checkedValue(item),
    help,
    type,
    options,
    group,
    flag: key !== NEVER_PUBLIC && FLAGS_TO_CREATE.includes(item.flag) ? item.flag : PRIVATE,
  };
}

function checkedValue({ key, value }: Pick<StoredSetting, 'key' | 'value'>): string {
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) throw tooLong(key, MAX_VALUE_BYTES);
  return value;
}

function tooLong(key: string, maxBytes: number): AppError {
  return new AppError('INVALID_ARGUMENT', `the setting ${key} is longer than ${maxBytes} bytes`, { details: { key } });
}
