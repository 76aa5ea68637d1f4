import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type HttpServer, startHttpServer } from '@wharf/harness';
import type { Page } from 'playwright-core';
import { build } from 'vite';

/** What a page with Uppy is told. */
export interface UppyOptions {
  /** Where Wharf is, which is another origin than the page's. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunkBytes: number;
}

/** A page of somebody else's, with Uppy as its package has it and a field to choose files by. */
export async function startUppyPage(): Promise<HttpServer> {
  const uppy = await bundle(fileURLToPath(import.meta.resolve('@uppy/core')), fileURLToPath(import.meta.resolve('@uppy/tus')));
  return startHttpServer((request, response) => {
    const isScript = request.url === '/uppy.js';
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? uppy : '<!doctype html><title>uploads</title><input type="file"><script src="/uppy.js"></script>');
  });
}

/** Opens the page, or opens it again, and lets Uppy send whatever is chosen there. */
export async function openUppy(page: Page, url: string, options: UppyOptions): Promise<void> {
  await page.goto(url);
  await page.evaluate(`{
    const { Uppy, Tus } = bundled;
    window.ended = undefined;
    window.uppy = new Uppy({ autoProceed: true }).use(Tus, {
      endpoint: ${JSON.stringify(`${options.base}/api/fs/tus`)},
      headers: ${JSON.stringify(options.headers)},
      chunkSize: ${options.chunkBytes},
      retryDelays: Array.from({ length: 120 }, () => 500),
    });
    uppy.on('complete', ({ successful, failed }) => {
      window.ended = { successful: successful.length, failed: failed.map(({ error }) => String(error)) };
    });
    document.querySelector('input').addEventListener('change', ({ target }) => {
      for (const data of target.files) uppy.addFile({ name: data.name, type: data.type, data });
    });
  }`);
}

/** @param core the file whose default export is called Uppy. @param tus the same of Tus */
async function bundle(core: string, tus: string): Promise<string> {
  // There is no such file.
  const entry = join(import.meta.dirname, 'uppy-entry.js');
  const built = await build({
    ...{ configFile: false, logLevel: 'error', root: import.meta.dirname, publicDir: false },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) =>
          id === entry
            ? `export { default as Uppy } from ${JSON.stringify(core)}; export { default as Tus } from ${JSON.stringify(tus)};`
            : undefined,
      },
    ],
    build: { write: false, minify: false, lib: { entry, formats: ['iife'], name: 'bundled' } },
  });
  const [first] = [built].flat();
  const chunk = first && 'output' in first ? first.output.find((each) => each.type === 'chunk') : undefined;
  if (!chunk) throw new Error('Uppy was not bundled');
  return chunk.code;
}
