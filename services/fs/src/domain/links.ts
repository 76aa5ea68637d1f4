import type { VirtualPath } from '@wharf/paths';
import { ENTRY_TYPE, extensionOf, typeOfName } from './entry-type.ts';
import type { Mount } from './mounts.ts';
import type { Tree } from './tree.ts';

/** Whether links to a file must carry a signature. */
export function needsSign(tree: Tree, mount: Mount, path: VirtualPath): boolean {
  return tree.settings.isOn('sign_all') || mount.storage.enable_sign || tree.rules.isRestricted(path);
}

/** The signature of a link to a file; empty when none is needed. */
export function signOf(tree: Tree, mount: Mount, path: VirtualPath): string {
  return needsSign(tree, mount, path) ? signature(tree, path) : '';
}

export function signature(tree: Tree, path: VirtualPath): string {
  return tree.signer.sign(path, tree.settings.number('link_expiration', 0));
}

/** Downloads of this file pass through us. */
export function shouldProxy(tree: Tree, mount: Mount, name: string): boolean {
  const { config } = mount.definition;
  return config.only_proxy || config.only_local || mount.storage.web_proxy || tree.settings.list('proxy_types').has(extensionOf(name));
}

/** `/p` may serve this file. */
export function canProxy(tree: Tree, mount: Mount, name: string): boolean {
  return (
    shouldProxy(tree, mount, name) ||
    mount.storage.webdav_policy === 'use_proxy_url' ||
    tree.settings.list('text_types').has(extensionOf(name))
  );
}

/** Where the storage's own download proxy serves a file; undefined when it has none. */
export function downProxyUrl(tree: Tree, mount: Mount, path: VirtualPath): string | undefined {
  const [base] = mount.storage.down_proxy_url.split('\n');
  if (base === undefined || base.trim() === '') return undefined;
  const query = mount.storage.disable_proxy_sign ? '' : `?sign=${encodeURIComponent(signature(tree, path))}`;
  return `${base.trim()}${encodePath(path)}${query}`;
}

/** The address under which we serve a file ourselves. */
export function proxyUrl(tree: Tree, mount: Mount, path: VirtualPath, siteUrl: string): string {
  const sign = signOf(tree, mount, path);
  return `${siteUrl}/p${encodePath(path)}${sign === '' ? '' : `?sign=${encodeURIComponent(sign)}`}`;
}

/** Pictures that we can show small: videos, and pictures made of drawing commands, are not among them. */
const SHOWN_SMALL: ReadonlySet<string> = new Set(['jpg', 'jpeg', 'png', 'gif', 'bmp', 'webp', 'tiff', 'tif', 'ico']);

/** Whether there is a small picture of a file, as far as its name tells. */
export function hasThumbnail(tree: Tree, mount: Mount, name: string): boolean {
  return mount.thumbnails !== undefined && SHOWN_SMALL.has(extensionOf(name)) && typeOfName(name, tree.settings) === ENTRY_TYPE.image;
}

/** The address of the small picture of a file; always signed, as the family does it. */
export function thumbnailUrl(tree: Tree, path: VirtualPath, siteUrl: string): string {
  return `${siteUrl}/d${encodePath(path)}?type=thumb&sign=${encodeURIComponent(signature(tree, path))}`;
}

/** Percent-encodes each segment as the family does: unreserved characters and `$&+=:@` stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeSegment).join('/');
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(24|26|2B|3D|3A|40)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
