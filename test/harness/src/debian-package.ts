import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand } from './process.ts';
import type { Missing } from './required.ts';

/** On every Debian; /run is writable by root alone, so nobody else can put a link there. The kernel releases the lock of a process that dies. */
const LOCK_FILE = '/run/wharf-test-packages.lock';
const INSTALL_WITHIN_MS = 10 * 60_000;

/**
 * `install` takes a package. Its service is not started, for tests start servers of their own on loopback: what installation scripts start services with
 * is hidden by programs of that name that do nothing, on a path of this one dpkg. Nothing of the system is changed for that, so nothing is left
 * when this is killed. The package lists are fetched when the first try finds them absent or too old.
 */
const INSTALL_FUNCTION = `
idle=$(mktemp -d) || exit 1
trap 'rm -rf "$idle"' EXIT
trap 'exit 1' INT TERM HUP
for name in invoke-rc.d deb-systemd-invoke service; do
  printf '#!/bin/sh\\nexit 0\\n' > "$idle/$name"
  chmod 755 "$idle/$name"
done
try_install() {
  apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o DPkg::Path="$idle:/usr/sbin:/usr/bin:/sbin:/bin" -- "$1"
}
install() {
  try_install "$1" || { apt-get update -q && try_install "$1"; }
}
`;

/** What is said where something could be installed, and may not. */
export const INSTALL_HINT = 'WHARF_TEST_INSTALL=1 lets the tests install it';

/** Nobody's machine is changed unasked: CI, or whoever says so, has packages installed. */
export function mayInstall(env: NodeJS.ProcessEnv = process.env): boolean {
  return env['CI'] === 'true' || env['WHARF_TEST_INSTALL'] === '1';
}

/**
 * Finds a program on PATH or in the sbin folders. When there is none, root on Debian installs the package where that is allowed
 * (`mayInstall`). Parallel test files wait for each other.
 *
 * @param packageName Debian package that has the program.
 * @param part a file of that package beside the program, which may be of another one.
 */
export async function ensureCommand(
  command: string,
  packageName: string,
  env: NodeJS.ProcessEnv = process.env,
  part?: string,
): Promise<{ path: string } | Missing> {
  const isWhole =
    part === undefined ||
    (await access(part).then(
      () => true,
      () => false,
    ));
  const found = isWhole ? await findCommand(command) : undefined;
  if (found !== undefined) return { path: found };
  const missing = `${command} is not on PATH (Debian package ${packageName})`;
  if (!(await isExecutable('/usr/bin/apt-get')) || process.getuid?.() !== 0) return { missing };
  if (!mayInstall(env)) return { missing: `${missing}; ${INSTALL_HINT}` };
  const result = await runCommand('flock', [LOCK_FILE, 'sh', '-c', `${INSTALL_FUNCTION}install "$1"`, 'sh', packageName], {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    withinMs: INSTALL_WITHIN_MS,
  });
  const installed = await findCommand(command);
  if (installed !== undefined) return { path: installed };
  return { missing: `the Debian package ${packageName} cannot be installed: ${result.stderr.trim().split('\n').at(-1) ?? ''}` };
}

/** `$1` is the package, `$2` where it is unpacked; then what it needs. */
const UNPACK_SCRIPT = `
set -e
[ -d "$2" ] && exit 0
mkdir -p "$2.new"
cd "$2.new"
package=$1 target=$2
shift 2
for needed in "$@"; do install "$needed"; done
apt-get download -q "$package" || { apt-get update -q; apt-get download -q "$package"; }
dpkg-deb -x "$package"_*.deb .
mv "$target.new" "$target"
`;
const UNPACKED_DIR = '/var/cache/wharf-test';

/**
 * Finds a package in a folder of its own, for a program that cannot be installed beside another. Where it is not there, it is unpacked as
 * `ensureCommand` installs.
 *
 * @param needs Debian packages that are installed for it.
 */
export async function ensureUnpacked(packageName: string, needs: readonly string[]): Promise<{ path: string } | Missing> {
  const path = `${UNPACKED_DIR}/${packageName}`;
  if (await isExecutable(path)) return { path };
  const missing = `the Debian package ${packageName} is not in ${path}`;
  if (!(await isExecutable('/usr/bin/apt-get')) || process.getuid?.() !== 0) return { missing };
  if (!mayInstall()) return { missing: `${missing}; ${INSTALL_HINT}` };
  const script = INSTALL_FUNCTION + UNPACK_SCRIPT;
  const { code, stderr } = await runCommand('flock', [LOCK_FILE, 'sh', '-c', script, 'sh', packageName, path, ...needs], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    withinMs: INSTALL_WITHIN_MS,
  });
  return code === 0 ? { path } : { missing: `${missing}: ${stderr.trim().split('\n').at(-1) ?? ''}` };
}

async function findCommand(command: string): Promise<string | undefined> {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/sbin']) {
    const path = join(folder, command);
    if (folder !== '' && (await isExecutable(path))) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
