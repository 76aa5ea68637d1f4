import { INSTALL_HINT, mayInstall } from './debian-package.ts';
import { debianMirror } from './debian-system.ts';
import { runCommand } from './process.ts';
import type { Missing } from './required.ts';

const FOLDER = '/var/cache/wharf-test';
const LOCK_FILE = '/run/wharf-test-newest.lock';
const WITHIN_MS = 5 * 60_000;

/** `$1` is the package, `$2` where it is unpacked, `$3` the mirror. The lists of this machine stay as they are. */
const UNPACK = `
set -e
package=$1 target=$2 mirror=$3
rm -rf "$target.new"
mkdir -p "$target.new/apt/lists/partial" "$target.new/apt/cache/archives/partial"
cd "$target.new"
printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\\n' "$mirror" > apt/sources
apt() {
  apt-get -q -o Dir::Etc::sourcelist="$PWD/apt/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/apt/lists" \\
    -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root "$@"
}
apt update
apt download "$package"
dpkg-deb -x "$package"_*.deb .
rm -rf apt
rm -rf "$target"
mv "$target.new" "$target"
`;

/**
 * Unpacks the newest version that Debian has of a package, that of its unstable suite, beside what this machine runs. Only a program that needs
 * nothing newer of the machine runs from there. Asked anew each time.
 */
export async function unpackNewest(packageName: string): Promise<{ path: string } | Missing> {
  if (process.getuid?.() !== 0) return { missing: `only root can unpack ${packageName} in ${FOLDER}` };
  if (!mayInstall()) return { missing: `the newest ${packageName} is to be fetched (${INSTALL_HINT})` };
  const mirror = await debianMirror();
  if (mirror === undefined) return { missing: 'no Debian mirror is configured on this machine' };
  const path = `${FOLDER}/${packageName}-newest`;
  const args = [LOCK_FILE, 'sh', '-c', UNPACK, 'sh', packageName, path, mirror];
  const { code, stderr } = await runCommand('flock', args, { withinMs: WITHIN_MS });
  return code === 0 ? { path } : { missing: `the newest ${packageName} cannot be fetched: ${stderr.trim().split('\n').at(-1) ?? ''}` };
}
