// Builds the web page: `node tools/build-web.ts [folder]`, without one into `web/dist`. Scripts and styles are there compressed as well. The folder is
// there whole or not at all, however many processes build it at the same time.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const WEB = join(import.meta.dirname, '..', 'web');

const folder = resolve(process.argv[2] ?? join(WEB, 'dist'));
const draft = `${folder}.${process.pid}.draft`;
removeLeftDrafts();
try {
  // The page's own packages lie beside it, not in ours.
  const vite = createRequire(join(WEB, 'package.json')).resolve('vite');
  const { build } = await import(pathToFileURL(vite).href);
  process.env['NODE_ENV'] = 'production';
  await build({ root: WEB, configFile: join(WEB, 'vite.config.ts'), logLevel: 'warn', build: { outDir: draft, emptyOutDir: true } });
  for (const name of readdirSync(join(draft, 'assets'))) if (/\.(js|css)$/.test(name)) compress(join(draft, 'assets', name));
  putInPlace();
} finally {
  rmSync(draft, { recursive: true, force: true });
}

function compress(file: string): void {
  const text = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}

/** What is there goes first. Where somebody else is sooner with theirs, that goes too. */
function putInPlace(): void {
  const former = `${folder}.${process.pid}.former.draft`;
  for (;;) {
    try {
      renameSync(folder, former);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    rmSync(former, { recursive: true, force: true });
    try {
      renameSync(draft, folder);
      return;
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    }
  }
}

/** Of processes that were killed, also of one that had our number. */
function removeLeftDrafts(): void {
  if (!existsSync(dirname(folder))) return;
  for (const name of readdirSync(dirname(folder))) {
    const [, pid] = /\.(\d+)\.(?:former\.)?draft$/.exec(name) ?? [];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      rmSync(join(dirname(folder), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
