import type { ContainerEngine } from './container-engine.ts';
import { type DebianSystem, ensureSystem, systemPath } from './debian-system.ts';
import { runCommand } from './process.ts';
import type { Missing } from './required.ts';

/** As the base of our images is by default (node:24-bookworm-slim): for machines that reach no registry of images. */
const BASE_SYSTEM: DebianSystem = {
  name: 'the base of images',
  folder: 'image-base-1',
  suite: 'bookworm',
  packages: ['ca-certificates', 'libstdc++6'],
  needs: [['npm', 'npm']],
  prepare: `
npm install --prefix "$PWD/tools" --ignore-scripts --no-audit --no-fund --loglevel=error node-linux-$(node -p process.arch)@^24.11.0 npm@^11
install -D -m 755 tools/node_modules/node-linux-*/bin/node usr/local/bin/node
mkdir -p usr/local/lib/node_modules
mv tools/node_modules/npm usr/local/lib/node_modules/npm
chmod 755 usr/local/lib/node_modules/npm/bin/npm-cli.js
ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm
rm -r tools
`,
};

const IMPORT_WITHIN_MS = 300_000;
const BUILD_WITHIN_MS = 600_000;

/** Makes the base from Debian's and npm's packages, which takes a minute once. @returns its name */
export function ensureBaseImage(engine: ContainerEngine): Promise<string | Missing> {
  return importSystem(engine, BASE_SYSTEM, 'wharf-test/node:24', 'root');
}

/** An image of a Debian system in a folder, under this name, unless there is one. @returns the name */
export async function importSystem(
  { docker }: ContainerEngine,
  system: DebianSystem,
  image: string,
  user: string,
): Promise<string | Missing> {
  if (await isThere(docker, image)) return image;
  const problem = await ensureSystem(system);
  if (problem !== undefined) return problem;
  const script = 'tar -C "$1" --exclude=./var/lib/apt/lists/* --exclude=./var/cache/apt/* -c . | "$2" import --change "USER $4" - "$3"';
  const imported = await runCommand('sh', ['-c', script, 'sh', systemPath(system), docker, image, user], { withinMs: IMPORT_WITHIN_MS });
  return imported.code === 0 ? image : { missing: `${image} cannot be imported: ${imported.stderr.trim()}` };
}

/** An image with a package of Debian, on the base. @returns its name */
export async function ensurePackageImage(engine: ContainerEngine, base: string, packageName: string): Promise<string | Missing> {
  const image = `wharf-test/${packageName}:1`;
  if (await isThere(engine.docker, image)) return image;
  const script =
    'printf "FROM %s\\nRUN apt-get update -qq && apt-get install -y -qq --no-install-recommends %s\\n" "$2" "$3" | "$1" build -q -t "$4" -';
  const built = await runCommand('sh', ['-c', script, 'sh', engine.docker, base, packageName, image], { withinMs: BUILD_WITHIN_MS });
  return built.code === 0 ? image : { missing: `${image} cannot be built: ${built.stderr.trim()}` };
}

async function isThere(docker: string, image: string): Promise<boolean> {
  return (await runCommand(docker, ['image', 'inspect', image])).code === 0;
}
