import { X509Certificate } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { z } from 'zod';

/** One line of the form in which an admin describes a storage (docs/api-family.md#driver-templates). All six are always there. */
export interface ConfigItem {
  readonly name: string;
  readonly type: 'string' | 'number' | 'text' | 'select' | 'bool';
  /** As text; what the form starts with. The server never fills it in. */
  readonly default: string;
  /** Of a select, separated by commas; else empty. */
  readonly options: string;
  readonly required: boolean;
  readonly help: string;
}

interface ItemOptions<Value> {
  readonly default?: Value;
  readonly required?: boolean;
  readonly help?: string;
  /** Encrypted at rest and masked in logs. */
  readonly secret?: boolean;
  /**
   * The driver writes it itself, by `OpenContext.keptItem`: that alone does not open the storage anew. A secret one may change at any time, another
   * one is filled in where it is empty.
   */
  readonly kept?: boolean;
  /** Names a folder of the host. An empty text names none, nor does `unless`. */
  readonly hostFolder?: { readonly unless?: string };
  /** Switched on, certificates of the server are not verified: whoever runs Wharf is told each time the storage is opened. */
  readonly trustsAnyServer?: boolean;
}

/** An item whose text names a folder of the host. */
export interface HostFolderItem {
  readonly name: string;
  /** Texts that name no folder. */
  readonly noFolder: readonly string[];
}

interface ItemTemplate extends Omit<ConfigItem, 'name'> {
  readonly secret: boolean;
  readonly kept: boolean;
  readonly hostFolder: { readonly unless?: string } | undefined;
  readonly trustsAnyServer: boolean;
}

const META_KEY = 'driverItem';

export function stringItem(options: ItemOptions<string> = {}) {
  return z.string().meta({ [META_KEY]: template('string', '', options) });
}

/** A text of several lines. @public */
export function textItem(options: ItemOptions<string> = {}) {
  return z.string().meta({ [META_KEY]: template('text', '', options) });
}

/** `tls_certificate`, of storages whose server is reached by TLS. */
export function certificateItem() {
  return textItem({ help: 'A certificate to trust beside the public ones, as text: of the server itself or of who signed it.' });
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** What was entered in it; undefined: nothing. @throws AppError INVALID_ARGUMENT: it has no certificate, or one that cannot be read */
export function certificateIn(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const blocks = text.match(CERTIFICATE) ?? [];
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'tls_certificate has a certificate that cannot be read: paste it whole', { cause });
  }
  if (blocks.length === 0)
    throw new AppError('INVALID_ARGUMENT', 'tls_certificate is no certificate: paste its text, from BEGIN to END CERTIFICATE');
  return blocks.join('\n');
}

/** @public */
export function numberItem(options: ItemOptions<number> = {}) {
  return z.number().meta({ [META_KEY]: template('number', '', options) });
}

export function boolItem(options: ItemOptions<boolean> = {}) {
  return z.boolean().meta({ [META_KEY]: template('bool', '', options) });
}

/** One of `choices`, or the empty text when nothing was chosen. @public */
export function selectItem<const Choice extends string>(choices: readonly Choice[], options: ItemOptions<Choice> = {}) {
  return z.enum(['', ...choices]).meta({ [META_KEY]: template('select', choices.join(','), options) });
}

function template(type: ConfigItem['type'], options: string, given: ItemOptions<string | number | boolean>): ItemTemplate {
  return {
    type,
    default: given.default === undefined ? '' : String(given.default),
    options,
    required: given.required ?? false,
    help: given.help ?? '',
    secret: given.secret ?? false,
    kept: given.kept ?? false,
    hostFolder: given.hostFolder,
    trustsAnyServer: given.trustsAnyServer ?? false,
  };
}

/** The shape of a schema whose every field was made by one of the functions above. */
export type ConfigSchema = z.ZodObject<z.ZodRawShape>;

/** What a storage of this kind is configured by, in the order of the schema. */
export interface ConfigItems {
  readonly items: readonly ConfigItem[];
  readonly secretKeys: ReadonlySet<string>;
  readonly keptKeys: ReadonlySet<string>;
  readonly hostFolders: readonly HostFolderItem[];
  /** Those that switch the verification of certificates off. */
  readonly trustKeys: readonly string[];
}

/** @throws Error for a field that is no config item: a mistake in the driver's code */
export function configItems(schema: ConfigSchema): ConfigItems {
  const items: ConfigItem[] = [];
  const secretKeys = new Set<string>();
  const keptKeys = new Set<string>();
  const hostFolders: HostFolderItem[] = [];
  const trustKeys: string[] = [];
  for (const [name, field] of Object.entries(schema.shape)) {
    const { secret, kept, hostFolder, trustsAnyServer, ...rest } = itemTemplate(name, field);
    items.push({ name, ...rest });
    if (secret) secretKeys.add(name);
    if (kept) keptKeys.add(name);
    if (trustsAnyServer) trustKeys.push(name);
    if (hostFolder) hostFolders.push({ name, noFolder: ['', ...(hostFolder.unless === undefined ? [] : [hostFolder.unless])] });
  }
  return { items, secretKeys, keptKeys, hostFolders, trustKeys };
}

function itemTemplate(name: string, field: unknown): ItemTemplate {
  const meta = field instanceof z.ZodType ? field.meta()?.[META_KEY] : undefined;
  if (meta === undefined) throw new Error(`config item ${name} was not made by stringItem, textItem, numberItem, boolItem or selectItem`);
  return meta as ItemTemplate;
}

/**
 * Reads the `addition` of a storage: a JSON object as text, or nothing. The answer has every key of the driver and no other.
 *
 * A missing or null key becomes '', 0 or false, never the declared default (docs/api-family.md#addition). Texts that say a number or a truth value are
 * taken for items of that type, and the other way round.
 *
 * @throws AppError INVALID_ARGUMENT when it is no JSON object, or a value does not fit the type of its item
 */
export function normaliseAddition(items: readonly ConfigItem[], addition: string): Record<string, string | number | boolean> {
  const given = parseObject(addition);
  const result: Record<string, string | number | boolean> = {};
  for (const item of items) {
    const value = Object.hasOwn(given, item.name) ? given[item.name] : undefined;
    const fitting = fit(item.type, value);
    if (fitting === undefined) throw new AppError('INVALID_ARGUMENT', `${item.name} is not a valid ${item.type}`);
    result[item.name] = fitting;
  }
  return result;
}

/** The first required item without a value. Numbers and truth values always have one. */
export function findMissingItem(items: readonly ConfigItem[], values: Readonly<Record<string, unknown>>): ConfigItem | undefined {
  return items.find((item) => item.required && values[item.name] === '');
}

function parseObject(addition: string): Record<string, unknown> {
  if (addition.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(addition);
    if (isObject(value)) return value;
  } catch (error) {
    throw new AppError('INVALID_ARGUMENT', 'addition is not a JSON object', { cause: error });
  }
  throw new AppError('INVALID_ARGUMENT', 'addition is not a JSON object');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fit(type: ConfigItem['type'], value: unknown): string | number | boolean | undefined {
  switch (type) {
    case 'bool':
      return fitBool(value);
    case 'number':
      return fitNumber(value);
    default:
      if (value === undefined || value === null) return '';
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
  }
}

function fitBool(value: unknown): boolean | undefined {
  if (value === undefined || value === null || value === '' || value === 'false' || value === 0) return false;
  if (value === 'true' || value === 1) return true;
  return typeof value === 'boolean' ? value : undefined;
}

function fitNumber(value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return 0;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
