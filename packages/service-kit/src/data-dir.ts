import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Secret } from './config/secret.ts';

const SECRET_FILE = 'secret';
const SECRET_BYTES = 48;
const MIN_SECRET_LENGTH = 32;

/** The folder that a Wharf on one machine keeps everything in. */
export interface DataDir {
  readonly path: string;
  /** The given secret, or the one that this folder was made with. */
  readonly secret: Secret;
}

/**
 * Makes the folder (0700) when it is missing, and in it the secret (0600) when none is given. The first secret made is kept for ever:
 * everything encrypted at rest and every login depends on it.
 *
 * @throws Error saying what to do when the folder cannot be used
 */
export async function openDataDir(dataDir: string, given: Secret | undefined): Promise<DataDir> {
  const path = resolve(dataDir);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  return { path, secret: given ?? new Secret(await secretOf(join(path, SECRET_FILE))) };
}

async function secretOf(file: string): Promise<string> {
  const known = await readIfThere(file);
  if (known !== undefined) return checked(known, file);
  // Written aside, synced and linked, so that a secret is there whole or not at all, and of two starts at once one wins.
  const made = `${file}.${process.pid}.new`;
  const handle = await open(made, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(made, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(made);
  }
  return checked(await readFile(file, 'utf8'), file);
}

function checked(text: string, file: string): string {
  const secret = text.trim();
  if (secret.length < MIN_SECRET_LENGTH)
    throw new Error(`${file} does not hold a secret. Restore it from a backup: what is stored cannot be read without it.`);
  return secret;
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
