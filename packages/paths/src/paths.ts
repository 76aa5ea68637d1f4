import { AppError } from '@wharf/errors';

/** A place in the whole tree: starts with "/", normalised, no trailing "/" except the root, no "." or ".." segment. */
export type VirtualPath = string & { readonly __brand: 'VirtualPath' };

/** A place inside one mount, in the same form as {@link VirtualPath}; "/" is the root of the mount. */
export type MountPath = string & { readonly __brand: 'MountPath' };

/** One segment of a path: never empty, ".", "..", nor with "/", "\" or a control character; at most 255 bytes of UTF-8. */
export type EntryName = string & { readonly __brand: 'EntryName' };

export const VIRTUAL_ROOT = '/' as VirtualPath;
export const MOUNT_ROOT = '/' as MountPath;

/** The name of an entry that is the root of its storage. */
export const ROOT_NAME = 'root' as EntryName;

/** The usual PATH_MAX; longer ones reach no file system. */
const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/** Room for what vanishes from a path, such as `/./`; a longer text is not looked at. */
const MAX_RAW_LENGTH = 16 * MAX_PATH_BYTES;

/** The family's literal text for everything that leaves its folder or cannot be a name. */
const UNSAFE_TEXT = 'using relative path is not allowed';

/**
 * Parses what a caller sent as a path: "\" counts as "/", a leading "/" is added, empty and "." segments vanish.
 *
 * Nothing is percent-decoded: `%2e%2e` is a name like any other. `a..b` and `...` are names too. Normal forms of Unicode are kept apart.
 *
 * @throws AppError INVALID_ARGUMENT for a text of more than MAX_RAW_LENGTH characters; else UNSAFE_PATH (a ".." segment, a C0 control character, half of a surrogate pair) | INVALID_ARGUMENT (over 4096 bytes, or
 * over 255 in one segment)
 */
export function parseVirtualPath(raw: string): VirtualPath {
  if (isPlainPath(raw)) return raw as VirtualPath;
  if (raw.length > MAX_RAW_LENGTH) throw tooLong();
  if (hasUnsafeCharacter(raw)) throw unsafe();
  const segments = raw
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.');
  // A `..` segment is reported first, also when a name is too long.
  if (segments.includes('..')) throw unsafe();
  if (segments.some((segment) => isLongerThan(segment, MAX_NAME_BYTES)))
    throw new AppError('INVALID_ARGUMENT', 'a name in the path is too long');
  return checkedLength(`/${segments.join('/')}`) as VirtualPath;
}

/**
 * Where a storage with this mount path lies: what stands before the last `.balance`, as storages that share it take turns.
 *
 * @throws AppError as parseVirtualPath(): of `/a/...balance` remains what is no path
 */
export function mountPlace(mountPath: string): VirtualPath {
  const at = mountPath.lastIndexOf('.balance');
  return parseVirtualPath(at === -1 ? mountPath : mountPath.slice(0, at));
}

/**
 * Parses what a caller, a storage or a tool calls one entry. Nothing is trimmed or decoded.
 *
 * @throws AppError UNSAFE_PATH, for every text that is no {@link EntryName}
 */
export function parseEntryName(raw: string): EntryName {
  if (!isEntryName(raw)) throw unsafe();
  return raw;
}

/** Whether a text is a name as it stands. For names that a storage reports: what is none cannot be reached by a path and is not listed. */
export function isEntryName(raw: string): raw is EntryName {
  if (raw === '' || raw === '.' || raw === '..' || raw.length > MAX_NAME_BYTES) return false;
  return !/[/\\]/.test(raw) && !hasUnsafeCharacter(raw) && !isLongerThan(raw, MAX_NAME_BYTES);
}

/**
 * The place that `request` means for somebody whose tree begins at `base`. Always within `base`.
 *
 * @throws AppError INVALID_ARGUMENT when both together are too long
 */
export function joinPath(base: VirtualPath, request: VirtualPath): VirtualPath {
  if (base === '/') return request;
  if (request === '/') return base;
  return checkedLength(base + request) as VirtualPath;
}

/** @throws AppError INVALID_ARGUMENT when the path becomes too long */
export function childPath<P extends VirtualPath | MountPath>(directory: P, name: EntryName): P {
  return checkedLength(directory === '/' ? `/${name}` : `${directory}/${name}`) as P;
}

/** Whether a path of this name in this folder is short enough to be one: a storage may hold what no path leads to. */
export function hasRoomFor(directory: VirtualPath | MountPath, name: EntryName): boolean {
  return !isLongerThan(`${directory}/${name}`, MAX_PATH_BYTES);
}

/** The folder that holds `path`; the root holds itself. */
export function parentPath<P extends VirtualPath | MountPath>(path: P): P {
  const slash = path.lastIndexOf('/');
  return (slash <= 0 ? '/' : path.slice(0, slash)) as P;
}

/** The last segment; undefined for the root. */
export function baseName(path: VirtualPath | MountPath): EntryName | undefined {
  return path === '/' ? undefined : (path.slice(path.lastIndexOf('/') + 1) as EntryName);
}

/** The name of the entry at a path of its storage, also of the root. */
export function nameAt(path: VirtualPath | MountPath): EntryName {
  return baseName(path) ?? ROOT_NAME;
}

/** From the top down; none for the root. */
export function pathSegments(path: VirtualPath | MountPath): EntryName[] {
  return path === '/' ? [] : (path.slice(1).split('/') as EntryName[]);
}

/** Whether `path` is `base` or below it, in whole segments: `/ab` is not within `/a`. */
export function isWithin<P extends VirtualPath | MountPath>(base: P, path: P): boolean {
  return base === '/' || path === base || (path.startsWith(base) && path.charCodeAt(base.length) === SLASH);
}

/**
 * What a path of the tree is called inside the mount that covers it.
 *
 * @throws AppError UNSAFE_PATH when `path` is not within `mount`
 */
export function relativeTo(mount: VirtualPath, path: VirtualPath): MountPath {
  if (!isWithin(mount, path)) throw unsafe();
  if (mount === '/') return path as string as MountPath;
  return (path.slice(mount.length) || '/') as MountPath;
}

/** Orders names as their UTF-8 bytes do, which differs from `<` of JavaScript only beyond the basic plane. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return byteRank(left) - byteRank(right);
  }
  return a.length - b.length;
}

/** Sorts in place like {@link compareNames}, at the speed of the built-in order where both agree. */
export function sortNames<Name extends string>(names: Name[]): Name[] {
  return names.some((name) => SURROGATE.test(name)) ? names.sort(compareNames) : names.sort();
}

const SLASH = 0x2f;
const SURROGATE = /[\ud800-\udfff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: to find them is the purpose.
const CONTROL = /[\u0000-\u001f]/;
/** Already in normal form and short: most paths, without a copy. */
const PLAIN_PATH = /^(?:\/[\w-][\w .-]*)+$/;

function isPlainPath(raw: string): boolean {
  return raw === '/' || (raw.length <= MAX_NAME_BYTES && PLAIN_PATH.test(raw));
}

/** A surrogate stands for a character beyond the basic plane, whose bytes sort behind every other. */
function byteRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function hasUnsafeCharacter(raw: string): boolean {
  return CONTROL.test(raw) || !raw.isWellFormed();
}

function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);
}

function checkedLength(path: string): string {
  if (isLongerThan(path, MAX_PATH_BYTES)) throw tooLong();
  return path;
}

function tooLong(): AppError {
  return new AppError('INVALID_ARGUMENT', 'the path is too long');
}

function unsafe(): AppError {
  return new AppError('UNSAFE_PATH', UNSAFE_TEXT);
}
