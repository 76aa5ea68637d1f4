import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AppError } from '@wharf/errors';

/** What a caller may ask for. Port 0 takes a free one. */
export type ListenOption = 'socket' | { readonly host: '127.0.0.1'; readonly port: number };

/** `sun_path` has 108 bytes on Linux and 104 on macOS, with a zero at the end. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The driver takes a host for a socket when it ends so. */
const SOCKET_NAME = 'store.sock';

/**
 * The path of the store's socket: in the data directory, or, where that path is too long, in a directory of our own (0700) in the temp folder.
 *
 * @throws AppError FAILED_PRECONDITION when no safe place is found.
 */
export function socketPathOf(dataDir: string): string {
  const path = join(resolve(dataDir), SOCKET_NAME);
  const chosen = Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : join(privateTempDirectory(resolve(dataDir)), SOCKET_NAME);
  if (Buffer.byteLength(chosen) > MAX_SOCKET_PATH_BYTES) {
    throw new AppError(
      'FAILED_PRECONDITION',
      `no path for a socket is short enough (${chosen}); choose a shorter data directory or TMPDIR`,
    );
  }
  return chosen;
}

/** A URL for MongoDB drivers. */
export function socketUrl(path: string): string {
  return `mongodb://${encodeURIComponent(path)}/?directConnection=true`;
}

export function tcpUrl(host: string, port: number): string {
  return `mongodb://${host}:${port}/?directConnection=true`;
}

/** Always the same for a data directory, so that a killed process leaves no growing heap of directories. */
function privateTempDirectory(dataDir: string): string {
  const uid = process.getuid?.() ?? 0;
  const directory = join(tmpdir(), `wharf-${createHash('sha256').update(`${uid}:${dataDir}`).digest('hex').slice(0, 16)}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const state = lstatSync(directory);
  // The temp folder is everybody's: somebody else may have made this directory, or a link, before us.
  if (!state.isDirectory() || (process.getuid && state.uid !== uid)) {
    throw new AppError('FAILED_PRECONDITION', `${directory} belongs to somebody else; remove it, or choose a shorter data directory`);
  }
  chmodSync(directory, 0o700);
  return directory;
}
