import { access } from 'node:fs/promises';
import { ensureCommand, INSTALL_HINT, mayInstall } from './debian-package.ts';
import { debianMirror } from './debian-system.ts';
import { runCommand } from './process.ts';
import { isMissing, type Missing } from './required.ts';

/** Builds a folder of Kustomize. @throws Error with what it says when it cannot */
export type Kustomize = (folder: string) => Promise<string>;

const FOLDER = '/var/cache/wharf-test/kustomize-1';
const PROGRAM = `${FOLDER}/usr/bin/kustomize`;
const WITHIN_MS = 5 * 60_000;

/** `$1` is the folder, `$2` the mirror. Trixie's package is taken apart, and nothing of this machine's own packages is touched. */
const FETCH = `
set -e
rm -rf "$1.new"
mkdir -p "$1.new/lists/partial" "$1.new/cache/archives/partial"
cd "$1.new"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $2 trixie main" > sources
set -- "$1" -o Dir::Etc::SourceList="$PWD/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD/cache" \\
  -o APT::Sandbox::User=root
target=$1; shift
apt-get -q "$@" update
apt-get -q "$@" download kustomize
dpkg-deb -x kustomize_*.deb "$target.new"
rm -rf lists cache sources kustomize_*.deb "$target"
mv "$target.new" "$target"
`;

/** Kustomize, or kubectl which has it, from PATH; else Debian trixie's, for root on Debian where tests may install. */
export async function ensureKustomize(): Promise<Kustomize | Missing> {
  for (const [command, args] of [
    ['kustomize', ['build']],
    ['kubectl', ['kustomize']],
  ] as const) {
    const found = await ensureCommand(command, command, {});
    if (!isMissing(found)) return builder(found.path, args);
  }
  if (!(await isThere(PROGRAM))) {
    if (process.getuid?.() !== 0 || !(await isThere('/usr/bin/apt-get'))) return { missing: 'neither kustomize nor kubectl is on PATH' };
    if (!mayInstall()) return { missing: `neither kustomize nor kubectl is on PATH; ${INSTALL_HINT}` };
    const mirror = await debianMirror();
    if (mirror === undefined) return { missing: 'no Debian mirror is configured on this machine' };
    const fetched = await runCommand('flock', ['/run/wharf-test-kustomize.lock', 'sh', '-c', FETCH, 'sh', FOLDER, mirror], {
      withinMs: WITHIN_MS,
    });
    if (fetched.code !== 0) return { missing: `kustomize cannot be fetched: ${fetched.stderr.trim().split('\n').at(-1) ?? ''}` };
  }
  return builder(PROGRAM, ['build']);
}

function builder(command: string, args: readonly string[]): Kustomize {
  return async (folder) => {
    const { code, stdout, stderr } = await runCommand(command, [...args, folder]);
    if (code !== 0) throw new Error(`${folder} cannot be built:\n${stderr}`);
    return stdout;
  };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
