import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { withoutEnd } from '@wharf/pace';

/** The key by which a server shows that it is the one we know. */
export interface HostKey {
  /** `ssh-ed25519` and the like; undefined where only a fingerprint was given. */
  readonly type: string | undefined;
  /** `SHA256:...`, as ssh-keygen writes it. */
  readonly fingerprint: string;
}

const FINGERPRINT = /SHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/])/;
const TYPE = /(?:^|\s)((?:ssh|ecdsa|sk)-[a-z0-9@.-]+)\s/;
/** Every key in its binary form begins with the length of its type, three bytes of which are 0. */
const PUBLIC_KEY = /(?:^|\s)(AAAA[A-Za-z0-9+/]+={0,2})(?:\s|$)/;

/** @param blob the public key as the protocol sends it */
export function hostKeyOf(blob: Buffer): HostKey {
  const lengthBytes = blob.byteLength < 4 ? 0 : blob.readUInt32BE(0);
  const digest = createHash('sha256').update(blob).digest('base64');
  return { type: blob.toString('latin1', 4, 4 + lengthBytes), fingerprint: `SHA256:${withoutEnd(digest, '=')}` };
}

/**
 * Reads what an admin entered or we have kept: a fingerprint, with the type before it or not, or a public key as in known_hosts.
 *
 * @returns undefined for an empty text
 * @throws AppError INVALID_ARGUMENT
 */
export function parseHostKey(text: string): HostKey | undefined {
  if (text.trim() === '') return undefined;
  const blob = PUBLIC_KEY.exec(text)?.[1];
  if (blob !== undefined) return hostKeyOf(Buffer.from(blob, 'base64'));
  const fingerprint = FINGERPRINT.exec(text)?.[0];
  if (fingerprint === undefined) throw new AppError('INVALID_ARGUMENT', 'host_key is neither SHA256:... nor a public key');
  return { type: TYPE.exec(text)?.[1], fingerprint };
}

/** As it is kept. */
export function formatHostKey({ type, fingerprint }: HostKey): string {
  return type === undefined ? fingerprint : `${type} ${fingerprint}`;
}

/** What the admin reads when the server is not the one we know. Nothing was sent to it but our greeting. */
export function changedHostKey(address: string, known: HostKey, seen: HostKey): AppError {
  return new AppError(
    'STORAGE_LOGIN_FAILED',
    `the host key of ${address} is ${formatHostKey(seen)}, but this storage knows it by ${formatHostKey(known)}: somebody else may answer in its ` +
      'place. If the server did get another key, put the new one into host_key, or empty host_key to take the next one it shows',
  );
}
