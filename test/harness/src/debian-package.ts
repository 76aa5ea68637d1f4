import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand } from './process.ts';
import type { Missing } from './required.ts';

/** On every Debian; /run is writable by root alone, so nobody else can put a link there. The kernel releases the lock of a process that dies. */
const LOCK_FILE = '/run/wharf-test-packages.lock';
const INSTALL_WITHIN_MS = 10 * 60_000;

/**
 * `$1` is the package. policy-rc.d keeps the package's service from being started (https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt):
 * tests start servers of their own on loopback. The package lists are fetched when the first try finds them absent or too old.
 */
const INSTALL_SCRIPT = `
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
fi
install() { apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -- "$1"; }
install "$1" || { apt-get update -q && install "$1"; }
`;

/**
 * Finds a program on PATH or in the sbin folders; as root on Debian it installs the package when there is none. Parallel test files wait for each other.
 *
 * @param packageName Debian package that has the program.
 */
export async function ensureCommand(command: string, packageName: string): Promise<{ path: string } | Missing> {
  const found = await findCommand(command);
  if (found !== undefined) return { path: found };
  if (!(await isExecutable('/usr/bin/apt-get')) || process.getuid?.() !== 0)
    return { missing: `${command} is not on PATH (Debian package ${packageName})` };
  const result = await runCommand('flock', [LOCK_FILE, 'sh', '-c', INSTALL_SCRIPT, 'sh', packageName], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    withinMs: INSTALL_WITHIN_MS,
  });
  const installed = await findCommand(command);
  if (installed !== undefined) return { path: installed };
  return { missing: `the Debian package ${packageName} cannot be installed: ${result.stderr.trim().split('\n').at(-1) ?? ''}` };
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
