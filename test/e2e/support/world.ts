import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, login, makeTempDir, type Wharf, type WharfOptions } from '@wharf/harness';

/** A started Wharf that scenarios run against, one after the other, each in folders of its own. */
export interface World {
  readonly wharf: Wharf;
  readonly base: string;
  /** A folder of this world alone, which holds the files folder (`<outside>/files`, mounted at /local) and whatever must stay out of reach. */
  readonly outside: string;
  /** Logged in as the admin. */
  readonly admin: Api;
  /** Makes a folder that nobody else uses: its path in the tree and on the disk. */
  folder(purpose: string): Promise<Folder>;
  /** A name that nobody else uses. */
  unique(purpose: string): string;
  /** Ends the Wharf and removes all folders. @throws Error when it did not end in order, or logged what nobody foresaw */
  close(): Promise<void>;
}

export interface Folder {
  /** In the tree, such as `/local/tour-1`. */
  readonly path: string;
  readonly disk: string;
}

/** The proxy that scenarios pretend to be when they need another client address. */
const TRUSTED_PROXY = '127.0.0.1/32';

export async function openWorld(start: (options: WharfOptions) => Promise<Wharf>, options: WharfOptions = {}): Promise<World> {
  const outside = await makeTempDir('e2e');
  const filesDir = options.filesDir ?? join(outside.path, 'files');
  await mkdir(filesDir, { recursive: true });
  const wharf = await start({ ...options, filesDir, env: { WHARF_TRUSTED_PROXIES: TRUSTED_PROXY, ...options.env } });
  let made = 0;
  const unique = (purpose: string) => `${purpose}-${++made}`;
  return {
    wharf,
    base: wharf.base,
    outside: outside.path,
    admin: await login(wharf.base, 'admin', wharf.adminPassword),
    async folder(purpose) {
      const name = unique(purpose);
      await mkdir(join(filesDir, name));
      return { path: `/local/${name}`, disk: join(filesDir, name) };
    },
    unique,
    async close() {
      const status = await wharf.stop();
      await outside.remove();
      const unforeseen = wharf
        .log()
        .split('\n')
        .filter((line) => /unforeseen|uncaught|"level":"fatal"/.test(line));
      if (status.code !== 0 || unforeseen.length > 0)
        throw new Error(`ended with ${status.signal ?? status.code}\n${unforeseen.join('\n') || wharf.log().slice(-2000)}`);
    },
  };
}
