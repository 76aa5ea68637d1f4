// Builds the web page: `node tools/build-web.ts [folder]`, without one into `web/dist`. Scripts and styles are there compressed as well. The folder is
// there whole or not at all.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const WEB = join(import.meta.dirname, '..', 'web');

const folder = process.argv[2] ?? join(WEB, 'dist');
const draft = `${folder}.draft`;
// The page's own packages lie beside it, not in ours.
const vite = createRequire(join(WEB, 'package.json')).resolve('vite');
const { build } = await import(pathToFileURL(vite).href);
process.env['NODE_ENV'] = 'production';
await build({ root: WEB, configFile: join(WEB, 'vite.config.ts'), logLevel: 'warn', build: { outDir: draft, emptyOutDir: true } });
for (const name of readdirSync(join(draft, 'assets'))) if (/\.(js|css)$/.test(name)) compress(join(draft, 'assets', name));
rmSync(folder, { recursive: true, force: true });
renameSync(draft, folder);

function compress(file: string): void {
  const text = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}
