import { readFileSync } from 'node:fs';

const MANIFEST = new URL('../../../package.json', import.meta.url);

/** The flags of Node that Wharf's programs run with, as `npm start` gives them. */
export function programFlags(): string[] {
  const manifest: { config: { nodeFlags: string } } = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  return manifest.config.nodeFlags.split(' ');
}
