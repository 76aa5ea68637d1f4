import { parentPath, type VirtualPath } from '@wharf/paths';
import { type DirectLink, type Entry, type LinkOptions, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { ENTRY_TYPE, extensionOf, typeOfName } from '../snapshot/entry-type.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { KeptLinks } from './kept-links.ts';

/** Whether links to a file must carry a signature. @param mount undefined: no storage covers it */
export function needsSign(snapshot: Snapshot, mount: Mount | undefined, path: VirtualPath): boolean {
  return snapshot.settings.isOn('sign_all') || mount?.storage.enable_sign === true || snapshot.rules.isRestricted(path);
}

/** The signature of a link to a file; empty when none is needed, and when its folder has no password either. */
export function signOf(snapshot: Snapshot, mount: Mount, path: VirtualPath): string {
  return needsSign(snapshot, mount, path) || snapshot.rules.isGuarded(parentPath(path)) ? signature(snapshot, path) : '';
}

export function signature(snapshot: Snapshot, path: VirtualPath): string {
  return snapshot.signer.sign(path, snapshot.settings.number('link_expiration', 0));
}

/** Downloads of this file pass through us. */
export function shouldProxy(snapshot: Snapshot, mount: Mount, name: string): boolean {
  return isProxied(mount) || snapshot.settings.list('proxy_types').has(extensionOf(name));
}

/** Downloads of all files of the storage do. */
function isProxied({ definition, storage }: Mount): boolean {
  return definition.config.only_proxy || definition.config.only_local || storage.web_proxy;
}

/** `/p` may serve this file. */
export function canProxy(snapshot: Snapshot, mount: Mount, name: string, driver: StorageDriver): boolean {
  return (
    !supports(driver, 'link') ||
    shouldProxy(snapshot, mount, name) ||
    mount.storage.webdav_policy === 'use_proxy_url' ||
    snapshot.settings.list('text_types').has(extensionOf(name))
  );
}

/**
 * The storage's own address of a file, where a client may be sent there: undefined where it has none, and for one that takes headers or is
 * not of the web.
 *
 * @throws what the driver's `link` throws
 */
export async function directLink(
  links: KeptLinks,
  driver: StorageDriver,
  { path: place }: Located<Mount>,
  path: VirtualPath,
  options: LinkOptions,
): Promise<DirectLink | undefined> {
  const link = await links.find(driver, place, path, options);
  if (!link) return undefined;
  const isPlain = Object.keys(link.headers ?? {}).length === 0 && /^https?:\/\//i.test(link.url);
  return isPlain ? link : undefined;
}

/** Adds a request's parameters to the address it is sent to, where the settings say so. */
export function forwardParameters(snapshot: Snapshot, url: string, query: URLSearchParams): string {
  if (!snapshot.settings.isOn('forward_direct_link_params')) return url;
  const ignored = snapshot.settings.list('ignore_direct_link_params');
  const kept = new URLSearchParams([...query].filter(([name]) => !ignored.has(name.toLowerCase()))).toString();
  if (kept === '') return url;
  // The address may be signed as it is written: nothing of it is written anew.
  const [address = '', fragment] = url.split('#', 2);
  return `${address}${address.includes('?') ? '&' : '?'}${kept}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** Where the storage's own download proxy serves a file; undefined when it has none. */
export function downProxyUrl(snapshot: Snapshot, mount: Mount, path: VirtualPath): string | undefined {
  const [base] = mount.storage.down_proxy_url.split('\n');
  if (base === undefined || base.trim() === '') return undefined;
  const query = mount.storage.disable_proxy_sign ? '' : `?sign=${encodeURIComponent(signature(snapshot, path))}`;
  return `${base.trim()}${encodePath(path)}${query}`;
}

/** Where the bytes of a file are, for whoever may read it. @throws what the driver's `link` throws */
export async function rawUrl(
  snapshot: Snapshot,
  links: KeptLinks,
  located: Located<Mount>,
  path: VirtualPath,
  name: string,
  siteUrl: string,
  options: LinkOptions,
): Promise<string> {
  const { mount } = located;
  const driver = await mount.driver();
  const direct = isProxied(mount) ? undefined : await directLink(links, driver, located, path, options);
  if (direct) return direct.url;
  return downProxyUrl(snapshot, mount, path) ?? ownUrl(snapshot, mount, path, canProxy(snapshot, mount, name, driver) ? 'p' : 'd', siteUrl);
}

function ownUrl(snapshot: Snapshot, mount: Mount, path: VirtualPath, route: 'd' | 'p', siteUrl: string): string {
  const sign = signOf(snapshot, mount, path);
  return `${siteUrl}/${route}${encodePath(path)}${sign === '' ? '' : `?sign=${encodeURIComponent(sign)}`}`;
}

/** Pictures that we can show small: videos, and pictures made of drawing commands, are not among them. */
const SHOWN_SMALL: ReadonlySet<string> = new Set(['jpg', 'jpeg', 'png', 'gif', 'bmp', 'webp', 'tiff', 'tif', 'ico']);

/** Whether a file may be a picture that we can show small, as far as its name tells. */
export function isPicture(snapshot: Snapshot, name: string): boolean {
  return SHOWN_SMALL.has(extensionOf(name)) && typeOfName(name, snapshot.settings) === ENTRY_TYPE.image;
}

/** Whether there is a thumbnail of a file: its storage has one, or we make one of what may be a picture. */
export function hasThumbnail(snapshot: Snapshot, mount: Mount, entry: Pick<Entry, 'name' | 'hasThumbnail'>): boolean {
  return entry.hasThumbnail === true || (mount.thumbnails !== undefined && isPicture(snapshot, entry.name));
}

/** The address of the thumbnail of a file; always signed, as the family does it. */
export function thumbnailUrl(snapshot: Snapshot, path: VirtualPath, siteUrl: string): string {
  return `${siteUrl}/d${encodePath(path)}?type=thumb&sign=${encodeURIComponent(signature(snapshot, path))}`;
}

/** The folder that was encoded last: entries of one are asked for one after another, and its path may have two thousand segments. */
let last = { folder: '', encoded: '' };

/** Percent-encodes each segment as the family does: unreserved characters and `$&+=:@` stay. */
export function encodePath(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  const folder = path.slice(0, at);
  if (last.folder !== folder) last = { folder, encoded: folder.split('/').map(encodeSegment).join('/') };
  return last.encoded + encodeSegment(path.slice(at));
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(24|26|2B|3D|3A|40)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
