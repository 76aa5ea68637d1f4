import { storageError } from './storage-error.ts';

/** What a server says of an entry. */
interface Said {
  readonly isFolder: boolean;
  readonly sizeBytes?: number | undefined;
  readonly modifiedAt: Date;
}

/**
 * A server may say that it gave something another name, and not do it, or lose bytes on the way. Whoever believes it would replace what still has the old
 * name. Something else may have that name by now: it looks otherwise.
 *
 * @param source before. @param left what has the old name afterwards. @param placed what has the new one
 * @throws AppError STORAGE_UNAVAILABLE
 */
export function requireRenamed(source: Said, left: Said | undefined, placed: Said): void {
  const isLeft = left !== undefined && isLike(source, left) && left.modifiedAt.getTime() === source.modifiedAt.getTime();
  if (isLeft || !isLike(source, placed)) {
    throw storageError('STORAGE_UNAVAILABLE', new Error('the server did not give the name, and says that it did'));
  }
}

function isLike(one: Said, other: Said): boolean {
  if (one.isFolder !== other.isFolder) return false;
  return one.isFolder || one.sizeBytes === undefined || other.sizeBytes === undefined || one.sizeBytes === other.sizeBytes;
}
