import { ensureCommand, isMissing, type Missing } from '@wharf/harness';
import { type Browser, chromium } from 'playwright-core';

/** Of Debian; the browser that is on the machine, not one that the driver downloads. */
const PROGRAM = 'chromium-headless-shell';
const FLAGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A browser without a window; whoever opened it closes it. */
export async function openBrowser(...flags: readonly string[]): Promise<Browser | Missing> {
  const program = await ensureCommand(PROGRAM, PROGRAM);
  if (isMissing(program)) return program;
  // Without a language it takes no name of a download that is not plain English.
  return chromium.launch({ executablePath: program.path, args: [...FLAGS, ...flags], env: { ...process.env, LC_ALL: 'C.UTF-8' } });
}
