import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { at, freePort, isMissing, login, makeTempDir, startNginx, startServices, startStandalone, type Wharf } from '@wharf/harness';
import type { Fixture } from './fixture.ts';
import type { Shape } from './options.ts';
import type { Server } from './servers.ts';

const START = { standalone: startStandalone, services: startServices, direct: startServices, accel: startStandalone };
const ACCEL_LOCATION = '/_files';

/** Wharf over the fixture, mounted at /local, with what requests to it need. */
export interface WharfServer extends Server {
  /** Its shape, and what else is special about it. */
  readonly name: string;
  /** Its base is for bytes: the data plane of fs, or an nginx. */
  readonly isForBytes: boolean;
  readonly adminPassword: string;
  /** Of the admin, who sends every request. */
  readonly token: string;
  /** Milliseconds until `GET /ping` answered `pong`: with an empty data folder, and with that folder again. */
  readonly firstStartMs: number;
  readonly secondStartMs: number;
  /** Path and query of the link to the bytes of a file below /local. */
  linkTo(path: string): Promise<string>;
  /** The same of each file in a folder. */
  linksIn(folder: string): Promise<string[]>;
}

/** @param special what is added to its environment, `MONGO_URL` and the like, and to its name */
export async function startWharf(
  shape: Shape,
  fixture: Fixture,
  cpuProfileDir: string | undefined,
  special: { readonly name?: string; readonly env: Readonly<Record<string, string>> } = { env: {} },
): Promise<WharfServer> {
  const dir = await makeTempDir(`bench-${shape}`);
  const adminPassword = randomBytes(12).toString('base64url');
  const profiling = cpuProfileDir === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${cpuProfileDir}` };
  const start = async (env: Record<string, string>): Promise<{ wharf: Wharf; startMs: number }> => {
    const startedAt = performance.now();
    const wharf = await START[shape]({
      dataDir: join(dir.path, 'data'),
      filesDir: fixture.filesDir,
      env: {
        WHARF_ADMIN_PASSWORD: adminPassword,
        WHARF_SECRET: secret,
        NODE_ENV: 'production',
        WHARF_EGRESS_ALLOW: '127.0.0.1',
        ...(dataPort === undefined ? {} : { WHARF_DATA_PORT: String(dataPort) }),
        ...(shape === 'accel' && { WHARF_TRUSTED_PROXIES: '127.0.0.1', WHARF_ACCEL_REDIRECT: `${fixture.filesDir}=${ACCEL_LOCATION}` }),
        ...special.env,
        ...env,
      },
    });
    return { wharf, startMs: performance.now() - startedAt };
  };
  const dataPort = shape === 'direct' ? await freePort() : undefined;
  const secret = randomBytes(32).toString('hex');
  const first = await start({});
  await first.wharf.stop();
  const { wharf, startMs } = await start(profiling);
  const admin = await login(wharf.base, 'admin', adminPassword);
  const files = { location: ACCEL_LOCATION, folder: fixture.filesDir };
  const nginx = shape === 'accel' ? await startNginx({ to: wharf.base, maxBody: '0', files }) : undefined;
  if (nginx && isMissing(nginx)) throw new Error(`nginx: ${nginx.missing}`);
  const bytesAt = nginx?.url ?? (dataPort === undefined ? undefined : `http://127.0.0.1:${dataPort}`);
  return {
    name: special.name === undefined ? shape : `${shape}, ${special.name}`,
    base: bytesAt ?? wharf.base,
    isForBytes: bytesAt !== undefined,
    pids: () => (nginx ? [wharf.pid, nginx.pid] : [wharf.pid]),
    adminPassword,
    token: admin.token ?? '',
    firstStartMs: first.startMs,
    secondStartMs: startMs,
    async linkTo(path) {
      const url = at(await admin.call('/api/fs/get', { path }), 'raw_url');
      if (typeof url !== 'string') throw new Error(`${path} has no raw_url`);
      const { pathname, search } = new URL(url);
      return pathname + search;
    },
    async linksIn(folder) {
      const content = at(await admin.call('/api/fs/list', { path: folder, per_page: 0 }), 'content');
      if (!Array.isArray(content)) throw new Error(`${folder} cannot be listed`);
      return content.map((entry: unknown) => {
        const [name, sign] = [at(entry, 'name'), at(entry, 'sign')];
        return `/p${folder}/${encodeURIComponent(String(name))}?sign=${encodeURIComponent(String(sign))}`;
      });
    },
    async stop() {
      await nginx?.stop();
      await wharf.stop();
      await dir.remove();
    },
  };
}
