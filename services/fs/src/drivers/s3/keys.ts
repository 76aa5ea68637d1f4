import { ownText } from '@wharf/pace';
import { type EntryName, isEntryName, MOUNT_ROOT, type MountPath, parentPath, pathSegments } from '@wharf/paths';
import type { S3Settings } from './config.ts';

/** Where the notes of uploads in parts are kept, right below the root. */
export const UPLOADS_FOLDER = '.wharf-uploads';

/** Longest key in bytes of UTF-8: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html */
export const MAX_KEY_BYTES = 1024;

/** Bytes of the longest path of a file: what the root takes of a key is not left to paths, which begin with a slash that keys have not. */
export const longestPath = (keyPrefix: string): number => MAX_KEY_BYTES - Buffer.byteLength(keyPrefix) + 1;

/** Paths of the storage as keys of the bucket, all of them below the root. */
export interface Keys {
  /** The key of a file; undefined for what no file can be: the root, names of our own, and what is too long. */
  fileKey(path: MountPath): string | undefined;
  /** What the keys below a folder begin with; undefined for what no folder can be. */
  folderPrefix(path: MountPath): string | undefined;
  /** The keys of the folders above, the root left out, from the top. */
  keysAbove(path: MountPath): string[];
  /** The object that keeps a folder without entries. */
  placeholderKey(prefix: string): string;
  /** The name that is left of a key, or of a common prefix without its slash; undefined for what is not shown. */
  nameBelow(prefix: string, key: string): EntryName | undefined;
}

export function createKeys({ keyPrefix, placeholder }: Pick<S3Settings, 'keyPrefix' | 'placeholder'>): Keys {
  const isOwn = (segments: readonly EntryName[]) => segments[0] === UPLOADS_FOLDER || segments.includes(placeholder);
  const keyOf = (path: MountPath, behind: string): string | undefined => {
    const segments = pathSegments(path);
    const key = keyPrefix + segments.join('/');
    return isOwn(segments) || Buffer.byteLength(key + behind) > MAX_KEY_BYTES ? undefined : key;
  };
  return {
    fileKey: (path) => (path === MOUNT_ROOT ? undefined : keyOf(path, '')),
    folderPrefix(path) {
      if (path === MOUNT_ROOT) return keyPrefix;
      const key = keyOf(path, `/${placeholder}`);
      return key === undefined ? undefined : `${key}/`;
    },
    keysAbove(path) {
      const above: string[] = [];
      for (let folder = parentPath(path); folder !== MOUNT_ROOT; folder = parentPath(folder)) {
        above.unshift(keyPrefix + pathSegments(folder).join('/'));
      }
      return above;
    },
    placeholderKey: (prefix) => prefix + placeholder,
    nameBelow(prefix, key) {
      const name = key.slice(prefix.length);
      if (name === placeholder || (prefix === keyPrefix && name === UPLOADS_FOLDER)) return undefined;
      return isEntryName(name) ? (ownText(name) as EntryName) : undefined;
    },
  };
}
