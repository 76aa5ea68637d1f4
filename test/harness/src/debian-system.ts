import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { ensureCommand, INSTALL_HINT, mayInstall } from './debian-package.ts';
import { CONFINED, type Confined, startConfined } from './namespace.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';

/** A Debian system in a folder, for a server that this machine's own release does not have. It is made once and kept for the next tests. */
export interface DebianSystem {
  /** Names it in messages. */
  readonly name: string;
  /** Its folder's name. It ends with a number that is to be counted up with every change of what the system is made of. */
  readonly folder: string;
  /** The release of Debian, such as `trixie`. */
  readonly suite: string;
  readonly packages: readonly string[];
  /** What is needed on this machine beside debootstrap: a command and its package. */
  readonly needs?: readonly (readonly [command: string, packageName: string])[];
  /** Shell commands that run on this machine in the new folder, before the packages are installed. */
  readonly prepare?: string;
}

const CACHE_DIR = '/var/cache/wharf-test';
const BUILD_WITHIN_MS = 15 * 60_000;

/** `$1` is the folder, `$2` the mirror, `$3` the suite, `$4` what prepares it; then the packages. What was begun and not finished is begun anew. */
const BUILD = `
set -e
target=$1 mirror=$2 suite=$3 prepare=$4
shift 4
if [ -d "$target" ]; then echo built; exit; fi
rm -rf --one-file-system "$target.new"
mkdir -p "$target.new"
debootstrap --variant=minbase "$suite" "$target.new" "$mirror"
cd "$target.new"
eval "$prepare"
cp /etc/resolv.conf etc/resolv.conf
printf '#!/bin/sh\\nexit 101\\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
mount -t proc proc proc
chroot . apt-get -q -o Acquire::Check-Valid-Until=false update
chroot . apt-get -q -y --no-install-recommends install "$@"
chroot . apt-get clean
umount proc
mv "$target.new" "$target"
echo built
`;

/**
 * `$1` is the folder, `$2` the user, `$3` what runs in it, `$4` a folder of this machine that it sees as /tmp/disk, or nothing. /tmp lies in memory: what is
 * written there ends with the server. Who becomes another user loses the signal that ends it with its parent, so that is asked for again.
 */
const ENTER = `
set -e
cd "$1"
mount -t proc proc proc
mount -t tmpfs -o mode=1777 tmpfs tmp
mount --rbind /dev dev
if [ -n "$4" ]; then
  mkdir tmp/disk
  mount --bind "$4" tmp/disk
  chroot . chown "$2" /tmp/disk
fi
exec chroot . setpriv --reuid "$2" --regid "$2" --clear-groups --pdeathsig KILL bash -c "$3"
`;

/**
 * Makes the system when it is not there, which takes some minutes and needs root on Debian and the permission to install. Parallel test files wait
 * for the one that makes it.
 */
export async function ensureSystem(system: DebianSystem): Promise<Missing | undefined> {
  const { name, folder, suite, packages, needs = [], prepare = '' } = system;
  const path = systemPath(system);
  if (process.getuid?.() !== 0) return { missing: `${name} runs in a folder that only root can make its world` };
  if (await isThere(path)) return undefined;
  if (!mayInstall()) return { missing: `${name} is not in ${path} (${INSTALL_HINT})` };
  for (const [command, packageName] of [['debootstrap', 'debootstrap'] as const, ...needs]) {
    const found = await ensureCommand(command, packageName);
    if (isMissing(found)) return found;
  }
  const mirror = await debianMirror();
  if (mirror === undefined) return { missing: 'no Debian mirror is configured on this machine' };
  const lock = `/run/wharf-test-${folder}.lock`;
  try {
    const building = await startProcess({
      name: `the making of ${name}`,
      command: 'unshare',
      args: [...CONFINED, 'flock', lock, 'sh', '-c', BUILD, 'sh', path, mirror, suite, prepare, ...packages],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' },
      ready: { line: (line) => (line === 'built' ? true : undefined) },
      readyWithinMs: BUILD_WITHIN_MS,
    });
    await building.exited;
    return undefined;
  } catch (error) {
    return { missing: `${name} cannot be made: ${error instanceof Error ? error.message.trim().split('\n').at(-1) : error}` };
  }
}

/**
 * Runs a bash script in the system, as one of the system's users, with the network of this machine. Its /tmp is empty and in memory.
 *
 * @param diskDir an empty folder of this machine, which becomes the user's: the script sees it as /tmp/disk.
 * @param settings environment of the script; beside it there is only PATH and LANG.
 */
export function startInSystem<T>(
  system: DebianSystem,
  run: {
    user: string;
    script: string;
    settings?: Readonly<Record<string, string>>;
    diskDir?: string | undefined;
    readyLine: (line: string) => T | undefined;
    readyWithinMs: number;
  },
): Promise<Confined<T>> {
  return startConfined({
    name: system.name,
    command: 'sh',
    args: ['-c', ENTER, 'sh', systemPath(system), run.user, run.script, run.diskDir ?? ''],
    env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', ...run.settings },
    ready: { line: run.readyLine },
    readyWithinMs: run.readyWithinMs,
  });
}

/** Where it lies. */
export function systemPath({ folder }: DebianSystem): string {
  return `${CACHE_DIR}/${folder}`;
}

/** The archive this machine gets its own packages from. */
export async function debianMirror(): Promise<string | undefined> {
  const sources = [
    { path: '/etc/apt/sources.list.d/debian.sources', pattern: /^URIs:\s*(\S+)/m },
    { path: '/etc/apt/sources.list', pattern: /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/m },
  ];
  for (const { path, pattern } of sources) {
    const found = (await isThere(path)) ? pattern.exec(await readFile(path, 'utf8'))?.[1] : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isThere(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}
