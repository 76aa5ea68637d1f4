// Runs a root script on the right Node and pnpm. Plain JavaScript for Node >= 18, no dependencies: it is what `npm start` starts.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough, NODE_MINIMUM, nodePackage } from './node-package.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOLING = join(ROOT, '.tooling');
const WEB = join(ROOT, 'web');
const PNPM_RANGE = '^12.0.0';

/** What each root script runs, in order; a line that fails ends the script. `node` is the right Node, other words are tools of node_modules. */
const SCRIPTS = {
  start: [['node', 'services/standalone/src/main.ts']],
  services: [['node', 'tools/services.ts']],
  test: [['node', 'tools/test.ts']],
  bench: [['node', 'test/bench/src/main.ts']],
  'test:containers': [['node', 'test/contract/src/main.ts']],
  soak: [['node', 'test/e2e/src/main.ts']],
  scale: [['node', 'test/bench/src/scale.ts']],
  web: [['node', 'tools/build-web.ts']],
  typecheck: [
    ['tsc', '-p', 'tsconfig.json'],
    ['tsc', '-p', 'web/tsconfig.json'],
  ],
  lint: [
    ['biome', 'ci', '--error-on-warnings'],
    ['node', 'tools/lint-imports.ts'],
    ['node', 'tools/lint-docs.ts'],
  ],
  format: [['biome', 'check', '--write']],
  gen: [['node', 'tools/gen.ts']],
  expectations: [['node', 'test/contract/expectations/record.ts']],
  baseline: [['buf', 'build', 'proto', '-o', 'proto/baseline.binpb']],
  'gen:check': [['node', 'tools/gen.ts', '--check']],
  exec: [],
};

/** How often to look whether npm's shell is still there, in milliseconds. */
const ORPHANED_LOOK_MS = 500;
const MEBIBYTE = 1024 ** 2;

const [name, ...rest] = process.argv.slice(2);
if (!name || !Object.hasOwn(SCRIPTS, name)) {
  console.error(`usage: node tools/run.mjs ${Object.keys(SCRIPTS).join('|')}`);
  process.exit(2);
}
const node = findNode();
// Running Wharf takes no tool of its developers, and the page is a workspace of its own.
const isServer = name === 'start' || name === 'services';
if (name !== 'web') installDependencies(node, name === 'start' ? 'production' : 'all');
if (!isServer && existsSync(WEB)) installWeb(node);
const commands = name === 'exec' ? [rest] : SCRIPTS[name].map((words, i, all) => (i === all.length - 1 ? [...words, ...rest] : words));
for (const words of commands) {
  const code = await run(node, words, isServer && process.env.WHARF_WEB_DIR === undefined ? pageFolder() : undefined);
  if (code !== 0) process.exit(code);
}

/** The user's own Node when it is new enough, else one from npm in .tooling. */
function findNode() {
  if (isNewEnough(process.versions.node)) return process.execPath;
  const { name, range, binary } = nodePackage(process.platform, process.arch);
  const installed = join(TOOLING, 'node_modules', name, binary);
  if (nodeVersion(installed) === undefined) {
    note(`this is Node ${process.versions.node}; fetching Node ${range} from npm into .tooling (once)`);
    installTool(`${name}@${range}`);
  }
  const version = nodeVersion(installed);
  if (version === undefined || !isNewEnough(version))
    fail(`npm has no Node ${range} that runs on ${process.platform}-${process.arch}. Install Node ${NODE_MINIMUM.join('.')} or later.`);
  return installed;
}

function nodeVersion(binary) {
  if (!existsSync(binary)) return undefined;
  const answer = spawnSync(binary, ['-v'], { encoding: 'utf8' });
  return answer.status === 0 ? answer.stdout.trim().slice(1) : undefined;
}

function installTool(spec) {
  mkdirSync(TOOLING, { recursive: true });
  const manifest = join(TOOLING, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const args = ['install', '--prefix', TOOLING, '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', spec];
  const answer = spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, {
    cwd: TOOLING,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (answer.status !== 0) fail(`npm could not install ${spec}. Is the npm registry reachable?`);
}

/** Installs the workspace's packages unless exactly these manifests were installed before, with at least these packages. */
function installDependencies(nodeBinary, extent) {
  const stamp = join(TOOLING, 'installed');
  const manifests = fingerprint();
  const [installed, knownExtent] = existsSync(stamp) ? readFileSync(stamp, 'utf8').split(' ') : [];
  // A developer's tools stay when Wharf is started.
  const wanted = knownExtent === 'all' ? 'all' : extent;
  const isEnough = installed === manifests && knownExtent === wanted;
  if (isEnough && existsSync(join(ROOT, 'node_modules'))) return;
  note('installing packages');
  const [command, ...args] = findPnpm(nodeBinary);
  const options = [
    'install',
    '--frozen-lockfile',
    '--prefer-offline',
    '--reporter=append-only',
    ...(wanted === 'production' ? ['--prod'] : []),
  ];
  const answer = spawnSync(command, [...args, ...options], { cwd: ROOT, stdio: ['ignore', 2, 2], env: environment(nodeBinary) });
  if (answer.status !== 0) fail('pnpm could not install the packages; its messages are above');
  mkdirSync(TOOLING, { recursive: true });
  writeFileSync(stamp, `${manifests} ${wanted}`);
}

/** The same for the page. Its packages lie apart, so that those of a Wharf that runs stay as they are. */
function installWeb(nodeBinary) {
  const stamp = join(TOOLING, 'installed-web');
  const manifests = hashOf(['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((file) => join('web', file)));
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === manifests && existsSync(join(WEB, 'node_modules'))) return;
  note('installing packages of the web page');
  const [command, ...args] = findPnpm(nodeBinary);
  const options = ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'];
  const answer = spawnSync(command, [...args, ...options], { cwd: WEB, stdio: ['ignore', 2, 2], env: environment(nodeBinary) });
  if (answer.status !== 0) fail('pnpm could not install the packages of the web page; its messages are above');
  writeFileSync(stamp, manifests);
}

/** Where the page lies once it is built from its present sources; undefined: there are none. */
function pageFolder() {
  if (!existsSync(WEB)) return undefined;
  const isSource = (file) => !/(^|[\\/])(node_modules|dist)([\\/]|$)/.test(file) && /\.(tsx?|css|html|json|yaml)$/.test(file);
  const sources = readdirSync(WEB, { recursive: true }).filter(isSource).sort();
  return join(TOOLING, 'web', hashOf(['tools/build-web.ts', ...sources.map((file) => join('web', file))]).slice(0, 16));
}

/**
 * Builds the page beside a Wharf that answers already, at the lowest priority. Why it could not be built is left where the gateway looks for it.
 */
function buildPage(nodeBinary, folder) {
  rmSync(join(folder, 'failed.txt'), { force: true });
  const child = spawn(nodeBinary, [join(ROOT, 'tools', 'run.mjs'), 'web', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environment(nodeBinary),
  });
  try {
    setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // Then it takes its turns with the others.
  }
  let said = '';
  child.stderr.on('data', (chunk) => {
    said = (said + chunk).slice(-2_000);
  });
  child.once('close', (code) => {
    if (code === 0) return removeOthers(folder);
    // Another process may have built it meanwhile.
    if (code === null || existsSync(join(folder, 'index.html'))) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'failed.txt'), said.trim().split('\n').at(-1) ?? '');
    note(`the web page could not be built; the API is there all the same:\n${said.trim()}`);
  });
  return child;
}

/** Builds of earlier sources; what another process builds just now stays. */
function removeOthers(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(dirname(folder)))
    if (name !== basename(folder) && !/\.\d+\.(former\.)?draft$/.test(name))
      rmSync(join(dirname(folder), name), { recursive: true, force: true });
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) if (existsSync(join(ROOT, file))) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

/** pnpm 12 as a command line: the user's own, else one from npm in .tooling. */
function findPnpm(nodeBinary) {
  const own = spawnSync('pnpm', ['--version'], { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' });
  if (own.status === 0 && own.stdout.startsWith('12.')) return ['pnpm'];
  // The launcher that finds the native binary of this platform: the package's own `pnpm` file is replaced by an install script, which does not run here.
  const launcher = join(TOOLING, 'node_modules', 'pnpm', 'bin', 'pnpm.mjs');
  if (!existsSync(launcher)) installTool(`pnpm@${PNPM_RANGE}`);
  return [nodeBinary, launcher];
}

/** Changes whenever what pnpm would install may change. */
function fingerprint() {
  const files = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'proto/package.json'];
  for (const group of ['packages', 'services', 'test'])
    if (existsSync(join(ROOT, group)))
      for (const member of readdirSync(join(ROOT, group)).sort()) files.push(join(group, member, 'package.json'));
  return hashOf(files);
}

function environment(nodeBinary) {
  const path = [dirname(nodeBinary), join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  return {
    ...process.env,
    PATH: path,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(TOOLING, 'compile-cache'),
    // A disk that hangs holds three of them for each storage on it (services/fs/src/drivers/local/io-slots.ts).
    UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? '16',
    // For glibc: two heaps instead of eight for each core, and what is free at the end of one goes back to the system. Left to itself it keeps up to
    // 64 MiB once a large block was freed. 15 MiB less at rest after hard work, 100 to 200 less after an answer with 100,000 entries.
    MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? '2',
    MALLOC_TRIM_THRESHOLD_: process.env.MALLOC_TRIM_THRESHOLD_ ?? String(4 * MEBIBYTE),
    MALLOC_MMAP_THRESHOLD_: process.env.MALLOC_MMAP_THRESHOLD_ ?? String(2 * MEBIBYTE),
  };
}

/**
 * Runs one command in the foreground; signals to us go on to it, and its exit code is ours.
 *
 * @param page where a server that answers finds the web page; built then, if it is not there.
 */
function run(nodeBinary, [command, ...args], page) {
  const words = command === 'node' ? [nodeBinary, ...nodeFlags(), ...args] : [command, ...args];
  const child = spawn(words[0], words.slice(1), {
    cwd: ROOT,
    stdio: page !== undefined ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
    env: { ...environment(nodeBinary), ...(page === undefined ? {} : { WHARF_WEB_DIR: page }) },
    shell: process.platform === 'win32' && command !== 'node',
  });
  let builder;
  // The channel stays: a server whose channel ends, ends as well.
  child.once('message', () => {
    if (!existsSync(join(page, 'index.html'))) builder = buildPage(nodeBinary, page);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // npm runs us in a shell and passes signals to that shell alone, which ends without a word: then whoever asked npm to end meant us.
  if (process.env.npm_lifecycle_event !== undefined) {
    const shell = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === shell) return;
      clearInterval(watch);
      note(`npm's shell has ended, so ${name} ends, too`);
      child.kill('SIGTERM');
    }, ORPHANED_LOOK_MS);
    watch.unref();
  }
  return new Promise((resolve) => {
    child.once('error', (error) => fail(`cannot run ${words[0]}: ${error.message}`));
    child.once('exit', (code, signal) => {
      builder?.kill();
      if (signal !== null) note(`${words.slice(1).join(' ')} was ended by ${signal}`);
      // A server that is told to end has done what it should; a test or a measurement has not.
      resolve(code ?? (isServer && (signal === 'SIGTERM' || signal === 'SIGINT') ? 0 : 1));
    });
  });
}

/**
 * Flags that every process of ours runs with. A small young generation: what passes through (chunks of files) is freed soon, instead of
 * piling up to a hundred megabytes before the collector looks. The heap may double between two whole collections: after one at rest V8 leaves
 * it a tenth, which the buffers of ten long answers fill, so that a process that had rested collected for half of its time (test/bench/README.md).
 */
function nodeFlags() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).config.nodeFlags.split(' ');
}

function note(text) {
  console.error(`wharf: ${text}`);
}

function fail(text) {
  console.error(`wharf: ${text}`);
  process.exit(1);
}
