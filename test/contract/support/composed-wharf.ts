import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freePort, makeTempDir, type Wharf, type WharfOptions } from '@wharf/harness';
import { SERVICES, startComposed } from './composed.ts';
import { lendLoopback } from './loopback.ts';

/** Every address that the engine gives to its networks. */
const ENGINE_NETWORKS = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
const FETCHERS = ['fs-1', 'fs-2', 'downloader-1', 'downloader-2'];

/**
 * The composed containers as one Wharf behind the balancer, for tests that were written for a process of this machine. The folder that holds the files
 * folder lies at the same path in all of fs, and what listens on loopback here is on loopback there. Needs root and a umask of 0: the containers
 * are another user.
 */
export async function startComposedWharf(options: WharfOptions = {}): Promise<Wharf> {
  const dir = await makeTempDir('composed');
  const filesDir = options.filesDir ?? join(dir.path, 'files');
  const [outside, toolsDir] = [dirname(filesDir), join(dir.path, 'tools')];
  await mkdir(filesDir, { recursive: true });
  await mkdir(toolsDir);
  for (const path of [dir.path, outside, filesDir, toolsDir]) await chmod(path, 0o777);
  const env = Object.fromEntries(Object.entries(options.env ?? {}).filter(([, value]) => value !== undefined));
  // Connections to a published port come from the engine's own address.
  if (env['WHARF_TRUSTED_PROXIES'] !== undefined) env['WHARF_TRUSTED_PROXIES'] = ENGINE_NETWORKS;
  const environment = { ...env, WHARF_FILES_DIR: filesDir };
  const shared = [...new Set([outside, dir.path])].map((path) => `${path}:${path}`);
  const proxies = await Promise.all(['downloader-1', 'downloader-2'].map(async (name) => [name, await freePort()] as const));
  const own: Record<string, object> = {
    ...Object.fromEntries(['fs-1', 'fs-2'].map((name) => [name, { volumes: shared }])),
    ...Object.fromEntries(
      proxies.map(([name, port]) => [
        name,
        {
          volumes: shared,
          ports: [`127.0.0.1:${port}:8118`],
          environment: { ...environment, WHARF_TOOLS_DIR: toolsDir, WHARF_EGRESS_PROXY_URL: `http://127.0.0.1:${port}` },
        },
      ]),
    ),
  };
  const composed = await startComposed({
    services: Object.fromEntries(SERVICES.map((name) => [name, { environment, ...own[name] }])),
  });
  const takeBack = await lendLoopback(composed, FETCHERS);
  const log = await composed.followLogs();
  const format = '{{(index .IPAM.Config 0).Gateway}}';
  const stop = async () => {
    await composed.compose('stop', '--timeout', '60', ...SERVICES);
    const codes = new Set(
      await Promise.all(SERVICES.map((name) => composed.docker('inspect', '--format', '{{.State.ExitCode}}', composed.container(name)))),
    );
    await log.stop();
    await takeBack();
    await composed.stop();
    await dir.remove();
    return { code: Number([...codes].find((code) => code.trim() !== '0') ?? 0), signal: null };
  };
  const never = () => Promise.reject(new Error('containers are not killed or started as a whole'));
  return {
    base: composed.balancer.url,
    seesClientsAt: (await composed.docker('network', 'inspect', '--format', format, 'wharf-test_front')).trim(),
    dataDir: '/data',
    filesDir,
    adminPassword: composed.adminPassword,
    pid: log.pid,
    log: () => log.output(),
    stop,
    kill: never,
    restart: never,
  };
}
