import { expect, test } from 'vitest';
import { toAppError } from './errors.ts';

test.each([
  [404, 'object not found', 'ENTRY_NOT_FOUND'],
  [404, 'error in ListJSON: directory not found', 'ENTRY_NOT_FOUND'],
  [500, 'remove nope: file does not exist', 'ENTRY_NOT_FOUND'],
  [500, 'is a directory not a file', 'IS_A_DIRECTORY'],
  [500, 'mkdir f.txt: not a directory', 'NOT_A_DIRECTORY'],
  [500, 'about call failed: not supported with shell type "none"', 'UNSUPPORTED_OPERATION'],
  [500, 'readdir f.txt: response error: The request is not supported.', 'NOT_A_DIRECTORY'],
  [500, `readdir ${'x'.repeat(100_000)}: The request is not supported.`, 'NOT_A_DIRECTORY'],
  [500, 'remove d: response error: Indicates that the directory trying to be deleted is not empty.', 'DIRECTORY_NOT_EMPTY'],
  [
    500,
    'response error: {Access Denied} A process has requested access to an object but has not been granted those access rights.',
    'PERMISSION_DENIED',
  ],
  [500, 'response error: {Disk Full} There is not enough space on the disk.', 'QUOTA_EXCEEDED'],
  [
    500,
    "couldn't connect SMB: response error: The attempted logon is invalid. This is either due to a bad username or authentication information.",
    'STORAGE_LOGIN_FAILED',
  ],
  [
    500,
    "couldn't initialize SMB: response error: {Network Name Not Found} The specified share name cannot be found on the remote server.",
    'FAILED_PRECONDITION',
  ],
  [500, 'response error: A file cannot be opened because the share access flags are incompatible.', 'FAILED_PRECONDITION'],
  [500, "couldn't connect SMB: EOF", 'STORAGE_UNAVAILABLE'],
  [500, '', 'STORAGE_UNAVAILABLE'],
  [500, "couldn't list files: AccessDenied: Access Denied", 'PERMISSION_DENIED'],
  [500, 'Propfind "https://x/": Forbidden', 'PERMISSION_DENIED'],
  [500, 'read metadata failed: 401 Unauthorized: 401 Unauthorized', 'STORAGE_LOGIN_FAILED'],
  [500, 'oauth2: cannot fetch token: 400 Bad Request', 'STORAGE_LOGIN_FAILED'],
  [500, 'ssh: handshake failed: ssh: unable to authenticate, attempted methods [none password]', 'STORAGE_LOGIN_FAILED'],
  [500, 'NoSuchBucket: status code: 404', 'ENTRY_NOT_FOUND'],
  [500, 'http remotes are read only', 'STORAGE_READ_ONLY'],
  [401, '', 'INTERNAL'],
])('%i %s is %s', (status, text, code) => {
  const error = toAppError(status, text);
  expect(error.code).toBe(code);
  // What a server says is for the log alone.
  expect(error.message).not.toMatch(/response error|rclone answered|f\.txt/);
});
