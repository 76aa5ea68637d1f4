// Inside the build of an image: puts together what one service runs with. usage: node assemble.mjs SERVICE FOLDER
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';

const [service, out] = process.argv.slice(2);
const target = join(out, 'wharf');
mkdirSync(target, { recursive: true });
const folders = new Map(
  ['packages', 'services']
    .flatMap((group) => readdirSync(group).map((name) => join(group, name)))
    .concat('proto')
    .map((folder) => [manifestOf(folder).name, folder]),
);

const needed = closureOf(`@wharf/${service}`);
for (const folder of needed) copy(folder);
for (const store of storesOf(needed)) copy(store);
for (const file of ['LICENSE', 'package.json', 'sbom.json']) copy(file);
copy('deploy/docker/healthcheck.mjs', 'healthcheck.mjs');
// Whoever needs the gateway shows the page.
if (needed.has(join('services', 'api-gateway'))) copy('/page', 'page');
symlinkSync(`services/${service}/src/main.ts`, join(target, 'main.ts'));

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The folders of a package of the workspace and of all that it needs of the workspace. */
function closureOf(name, found = new Set()) {
  const folder = folders.get(name);
  if (folder === undefined) throw new Error(`there is no ${name} in the workspace`);
  if (found.has(folder)) return found;
  found.add(folder);
  for (const [needed, range] of Object.entries(manifestOf(folder).dependencies ?? {}))
    if (range.startsWith('workspace:')) closureOf(needed, found);
  return found;
}

/** The folders in pnpm's store of the packages that these folders need, and of those that they need in turn. */
function storesOf(workspace) {
  const found = new Set();
  const look = (modules) => {
    for (const link of linksIn(modules)) {
      const [store] = /^.*\/node_modules\/\.pnpm\/[^/]+/.exec(realpathSync(link)) ?? [];
      if (store === undefined || found.has(store)) continue;
      found.add(store);
      look(join(store, 'node_modules'));
    }
  };
  for (const folder of workspace) look(join(folder, 'node_modules'));
  return [...found].map((store) => relative('.', store));
}

/** All packages in a folder of packages, those with a scope too. */
function linksIn(modules) {
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
  return names.flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((part) => join(modules, name, part)) : [join(modules, name)],
  );
}

/** Without what the packages of others bring for compilers and debuggers alone. */
function copy(from, to = from) {
  const isOfUse = (path) => !/\.(map|d\.[cm]?ts|tsbuildinfo)$/.test(path);
  cpSync(from, join(target, to), { recursive: true, verbatimSymlinks: true, filter: isOfUse });
}
