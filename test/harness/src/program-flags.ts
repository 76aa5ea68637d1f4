import { readFileSync } from 'node:fs';

const MANIFEST = new URL('../../../package.json', import.meta.url);

/** The flags of Node that Wharf's programs run with, as `npm start` gives them. */
export function programFlags(): string[] {
  const manifest: { config: { nodeFlags: string } } = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  return manifest.config.nodeFlags.split(' ');
}

/** Variables that `npm start` and the images run Wharf's programs with: without the last three the C library keeps what it does not need. */
export const PROGRAM_VARIABLES = [
  ...['NODE_COMPILE_CACHE', 'UV_THREADPOOL_SIZE'],
  ...['MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_'],
] as const;
