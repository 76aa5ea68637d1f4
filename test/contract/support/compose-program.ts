import { access } from 'node:fs/promises';
import { isMissing, type Missing, runCommand } from '@wharf/harness';

/** Where Debian and Docker install the plugin; it runs as a program too. */
const PLACES = ['/usr/libexec/docker/cli-plugins/docker-compose', '/usr/lib/docker/cli-plugins/docker-compose'];
const CACHE = '/var/cache/wharf-test/compose-2';
/** Compose v2 is in Debian from trixie on. Its package is fetched and unpacked, nothing of this machine is changed. */
const FETCH = `
set -e
rm -rf "$1.new"; mkdir -p "$1.new/lists/partial" "$1.new/cache/archives/partial"; chmod 755 "$1.new"
cd "$1.new"
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources)
echo "deb $mirror trixie main" > sources.list
options="-o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache"
apt-get $options update -qq
apt-get $options download -qq docker-compose
dpkg -x docker-compose_*.deb .
rm -rf lists cache ./*.deb
mv "$1.new" "$1"
`;

/** Compose v2: this machine's, or Debian's own package of it. */
export async function ensureCompose(): Promise<{ path: string } | Missing> {
  const found = await first([...PLACES, `${CACHE}${PLACES[0]}`]);
  if (!isMissing(found)) return found;
  const fetched = await runCommand('sh', ['-c', FETCH, 'sh', CACHE], { withinMs: 300_000 });
  if (fetched.code !== 0) return { missing: `Compose v2 cannot be fetched: ${fetched.stderr.trim().split('\n').at(-1)}` };
  return first([`${CACHE}${PLACES[0]}`]);
}

async function first(paths: readonly string[]): Promise<{ path: string } | Missing> {
  for (const path of paths) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return { path };
  }
  return { missing: 'there is no Compose v2' };
}
