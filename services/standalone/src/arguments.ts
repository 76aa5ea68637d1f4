import { stat } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError } from '@wharf/service-kit';

/** A folder of this machine that is to be a storage. */
export interface FolderMount {
  /** In the tree, such as `/photos`. */
  readonly mountPath: string;
  /** Absolute; it is there. */
  readonly folder: string;
}

/** The arguments behind `npm start --`. */
export interface Arguments {
  readonly mounts: readonly FolderMount[];
  readonly resetAdminPassword: boolean;
  /** The secret of the store is lost: it goes on with another one. */
  readonly newSecret: boolean;
  /** Where a backup is to be written, absolute; then nothing else is done. */
  readonly backupFile: string | undefined;
}

const USAGE = [
  'npm start -- --mount /photos=/srv/photos   shows the folder /srv/photos at /photos; can be given several times',
  'npm start -- --reset-admin-password        prints a new password for the admin, switches the second factor of the admin off and ends all logins of the admin',
  'npm start -- --new-secret                  goes on with another secret where the one of before is lost, and with it all that it sealed',
  'npm start -- --backup /srv/wharf.tar       writes a backup of the data folder and ends; alone, also while another Wharf runs',
];

/** @throws ConfigError: every argument that cannot be used, and how to do it */
export async function readArguments(words: readonly string[]): Promise<Arguments> {
  const options = {
    mount: { type: 'string', multiple: true },
    'reset-admin-password': { type: 'boolean' },
    'new-secret': { type: 'boolean' },
    backup: { type: 'string' },
  } as const;
  let values: { mount?: string[]; 'reset-admin-password'?: boolean; 'new-secret'?: boolean; backup?: string };
  try {
    values = parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw unusable([error instanceof Error ? error.message : String(error)]);
  }
  const problems: string[] = [];
  const mounts: FolderMount[] = [];
  for (const text of values.mount ?? []) {
    const mount = parseMount(text);
    const problem = typeof mount === 'string' ? mount : await whyNotMounted(mount, mounts);
    if (problem !== undefined) problems.push(`--mount ${text}: ${problem}`);
    else if (typeof mount !== 'string') mounts.push(mount);
  }
  const { backup: backupFile, 'reset-admin-password': resetAdminPassword = false, 'new-secret': newSecret = false } = values;
  const problem = backupFile === undefined ? undefined : await whyNoBackup(backupFile);
  if (problem !== undefined) problems.push(`--backup ${backupFile}: ${problem}`);
  if (backupFile !== undefined && (resetAdminPassword || newSecret || values.mount)) problems.push('--backup: give it alone');
  if (problems.length > 0) throw unusable(problems);
  return { mounts, resetAdminPassword, newSecret, backupFile };
}

async function whyNoBackup(file: string): Promise<string | undefined> {
  if (!isAbsolute(file)) return 'give the file with its whole path, such as /srv/wharf.tar';
  const [found, folder] = await Promise.all([file, dirname(file)].map((place) => stat(place).catch(() => undefined)));
  if (!folder?.isDirectory()) return `the folder ${dirname(file)} is not there; make it first`;
  return found === undefined || found.isFile() ? undefined : `${file} is no file`;
}

/** A text is what is wrong with it. */
function parseMount(text: string): FolderMount | string {
  const at = text.indexOf('=');
  if (at < 1) return 'write it as <path in Wharf>=<folder>, such as /photos=/srv/photos';
  const [mountPath, folder] = [text.slice(0, at).replace(/\/+$/, ''), text.slice(at + 1)];
  if (!mountPath.startsWith('/') || mountPath.split('/').some((segment) => segment === '.' || segment === '..'))
    return 'the path in Wharf begins with a slash and has neither . nor .. in it, such as /photos';
  if (!isAbsolute(folder)) return 'give the folder with its whole path, such as /srv/photos';
  return { mountPath, folder };
}

async function whyNotMounted({ mountPath, folder }: FolderMount, before: readonly FolderMount[]): Promise<string | undefined> {
  if (before.some((mount) => mount.mountPath === mountPath)) return `${mountPath} is given twice`;
  const found = await stat(folder).catch(() => undefined);
  if (!found) return `the folder ${folder} is not there; make it first`;
  return found.isDirectory() ? undefined : `${folder} is no folder`;
}

function unusable(problems: readonly string[]): ConfigError {
  return new ConfigError([...problems, '', 'What can be given:', ...USAGE.map((line) => `  ${line}`)]);
}
