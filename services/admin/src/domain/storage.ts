import { AppError } from '@wharf/errors';
import { MAX_STORAGE_TEXT_BYTES, type StorageRecord } from '@wharf/models';
import { brokenBound, parseJson } from '@wharf/pace';
import { readCachePolicies } from '@wharf/paths';
import { cleanMountPath } from './clean-path.ts';
import { createRoomOfAll, type TakeRoom } from './room-of-all.ts';

/** The fields of a storage that the admin sets. `addition` is in clear: the text of a JSON object. */
export type StorageFields = Omit<StorageRecord, '_id' | 'status' | 'modified'>;

export interface Storage extends StorageFields {
  readonly id: number;
  readonly status: string;
  readonly modified: Date;
  /** Changes with each change of the fields. So an outcome is written only when the storage is still the one that was started. */
  readonly version: string;
}

/** Values of `status` that are not the reason of a failure. */
export const STATUS = { works: 'work', disabled: 'disabled', notStarted: 'not started yet' } as const;

const MAX_WORD_BYTES = 128;
/** As of any JSON that is sent: what is deeper is not written out again, so that there would be no export. */
const ADDITION_BOUNDS = { maxDepth: 64, maxValues: 50_000 } as const;
/** What a storage takes beside its texts. */
const STORAGE_BYTES = 512;

/**
 * Reads what a client sent as a storage. What cannot be a sort order or a place of folders counts as none, because clients send values of
 * other forms; a status is passed over.
 *
 * @param before the storage that it takes the place of: its cache policies may stay, also where an earlier version took more
 * @throws AppError INVALID_ARGUMENT | UNSAFE_PATH
 */
export function parseStorageFields(given: StorageFields, before?: Pick<StorageFields, 'custom_cache_policies'>): StorageFields {
  const text = (field: keyof StorageFields, maxBytes: number) => checkedText(field, String(given[field]), maxBytes);
  return {
    mount_path: cleanMountPath(given.mount_path),
    order: given.order,
    driver: text('driver', MAX_WORD_BYTES),
    cache_expiration: Math.max(0, given.cache_expiration),
    custom_cache_policies: boundedPolicies(text('custom_cache_policies', MAX_STORAGE_TEXT_BYTES), before?.custom_cache_policies),
    addition: parseAddition(text('addition', MAX_STORAGE_TEXT_BYTES)),
    remark: text('remark', MAX_STORAGE_TEXT_BYTES),
    disabled: given.disabled,
    disable_index: given.disable_index,
    enable_sign: given.enable_sign,
    order_by: oneOf(['name', 'size', 'modified'], given.order_by),
    order_direction: oneOf(['asc', 'desc'], given.order_direction),
    extract_folder: oneOf(['front', 'back'], given.extract_folder),
    web_proxy: given.web_proxy,
    webdav_policy: text('webdav_policy', MAX_WORD_BYTES),
    proxy_range: given.proxy_range,
    down_proxy_url: text('down_proxy_url', MAX_STORAGE_TEXT_BYTES),
    disable_proxy_sign: given.disable_proxy_sign,
  };
}

/** Refuses a storage that the storages together have no room for. */
export const createStoragesRoom = (present: readonly Storage[]): TakeRoom<StorageFields> => createRoomOfAll('storages', present, bytesOf);

function bytesOf({ mount_path, custom_cache_policies, addition, remark, down_proxy_url }: StorageFields): number {
  const texts = [mount_path, custom_cache_policies, addition, remark, down_proxy_url];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), STORAGE_BYTES);
}

/** Lines that fs would pass over, because they are too many or too long, are refused. @throws AppError INVALID_ARGUMENT */
function boundedPolicies(text: string, before: string | undefined): string {
  const field = 'custom_cache_policies';
  const { excess } = readCachePolicies(text);
  if (excess !== undefined && text !== before) throw new AppError('INVALID_ARGUMENT', `${field}, ${excess}`, { details: { field } });
  return text;
}

/** The text of a JSON object as it was given; nothing is the empty object. @throws AppError INVALID_ARGUMENT */
function parseAddition(text: string): string {
  if (text.trim() === '') return '{}';
  if (!isObjectText(text)) throw new AppError('INVALID_ARGUMENT', 'addition is not a JSON object', { details: { field: 'addition' } });
  return text;
}

function isObjectText(text: string): boolean {
  if (brokenBound(Buffer.from(text), ADDITION_BOUNDS)) return false;
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkedText(field: string, text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) > maxBytes)
    throw new AppError('INVALID_ARGUMENT', `${field} is longer than ${maxBytes} bytes`, { details: { field } });
  return text;
}

function oneOf(choices: readonly string[], value: string): string {
  return choices.includes(value) ? value : '';
}
