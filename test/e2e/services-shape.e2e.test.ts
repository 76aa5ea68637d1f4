import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { at, httpRequest, login, makeTempDir, programFlags, type TempDir, waitFor } from '@wharf/harness';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { commandOf, descendantsOf } from './support/process-memory.ts';
import { BARE_ENVIRONMENT, ROOT, runProgram } from './support/program.ts';

const PASSWORD = 'services-shape-pass';
const SERVICES = ['auth', 'admin', 'fs', 'downloader', 'api-gateway'];
const START_LIMIT_MS = 90_000;

/** The supervisor as a plain child of ours: nothing but itself clears away what it started. */
interface Supervisor {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly base: string;
  output(): string;
}

describe.runIf(process.platform === 'linux')('the supervisor of the five services', () => {
  let folder: TempDir;
  let supervisor: Supervisor;
  let family: number[];

  beforeEach(async () => {
    folder = await makeTempDir('supervisor');
    supervisor = await startSupervisor(folder.path);
    family = await descendantsOf(supervisor.pid);
  }, START_LIMIT_MS);
  afterEach(async () => {
    for (const pid of [supervisor.pid, ...family]) if (await commandOf(pid)) process.kill(pid, 'SIGKILL');
    await folder.remove();
  });

  const requireNobodyLeft = async () => {
    const left = await waitFor(
      'the end of all processes',
      async () => {
        const commands = await Promise.all(family.map(commandOf));
        return commands.every((command) => command === undefined);
      },
      { withinMs: 5_000 },
    ).catch(() => false);
    expect(left, `still running: ${(await Promise.all(family.map(commandOf))).filter(Boolean).join(', ')}`).toBe(true);
  };

  test('starts each service, the store and the bus as a process of its own', async () => {
    const commands = await Promise.all(family.map(commandOf));
    for (const name of SERVICES) expect(commands.filter((command) => command?.includes(`services/${name}/src/main.ts`))).toHaveLength(1);
    for (const name of ['embedded-mongo', 'embedded-nats'])
      expect(commands.filter((command) => command?.includes(`packages/${name}/src/main.ts`))).toHaveLength(1);
    const admin = await login(supervisor.base, 'admin', PASSWORD);
    expect(at((await admin.post('/api/fs/list', { path: '/' })).data, 'total')).toBe(1);
  });

  test('tells each service where all of them listen, also at free ports, so that nothing that people name leads there', async () => {
    const commands = await Promise.all(family.map(async (pid) => ({ pid, command: await commandOf(pid) })));
    const places = [...supervisor.output().matchAll(/"opsPort":(\d+)/g)].map(([, port]) => `127.0.0.1:${port}`);
    expect(places).toHaveLength(SERVICES.length);
    for (const name of ['fs', 'downloader']) {
      const pid = commands.find(({ command }) => command?.includes(`services/${name}/src/main.ts`))?.pid;
      const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
      const told = environment.find((each) => each.startsWith('WHARF_OWN_ADDRESSES='))?.replace(/^[^=]*=/, '');
      expect(told?.split(',')).toEqual(expect.arrayContaining([...places, new URL(supervisor.base).host]));
    }
  });

  test.each(['fs', 'embedded-mongo', 'api-gateway'])(
    'when %s is killed it says so, ends with 1 and leaves no process behind',
    async (name) => {
      const commands = await Promise.all(family.map(async (pid) => ({ pid, command: await commandOf(pid) })));
      const victim = commands.find(({ command }) => command?.includes(`/${name}/src/main.ts`))?.pid;
      if (victim === undefined) throw new Error(`${name} does not run`);
      const ended = once(supervisor.child, 'exit');
      process.kill(victim, 'SIGKILL');
      expect(await ended).toEqual([1, null]);
      expect(supervisor.output()).toContain(`${name} ended with SIGKILL`);
      await requireNobodyLeft();
    },
  );

  test('SIGTERM ends all of them within 10 seconds, with 0', async () => {
    const ended = once(supervisor.child, 'exit');
    const before = performance.now();
    supervisor.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(performance.now() - before).toBeLessThan(10_000);
    await requireNobodyLeft();
  });

  test('when the supervisor itself is killed, those it started end by themselves', async () => {
    process.kill(supervisor.pid, 'SIGKILL');
    await waitFor(
      'the end of all processes',
      async () => (await Promise.all(family.map(commandOf))).every((command) => command === undefined),
      {
        withinMs: 15_000,
      },
    ).catch(() => undefined);
    await requireNobodyLeft();
  });
});

test('the supervisor with an argument says that it takes none, and starts nothing', async () => {
  const { code, stderr, stdout } = await runProgram(join(ROOT, 'tools/services.ts'), {}, ['--help']);
  expect(code).toBe(2);
  expect(stderr).toContain('It takes no arguments');
  expect(stdout).toBe('');
});

test('the supervisor starts all of them though nothing is logged', async () => {
  const folder = await makeTempDir('supervisor');
  onTestFinished(() => folder.remove());
  const child = spawn(process.execPath, [...programFlags(), 'tools/services.ts'], {
    cwd: ROOT,
    env: { ...environmentIn(folder.path), WHARF_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const said: unknown[] = [];
  child.on('message', (message) => {
    said.push(message);
    child.kill('SIGTERM');
  });
  expect([await once(child, 'exit'), said]).toEqual([[0, null], ['listening']]);
});

const environmentIn = (folder: string) => ({
  ...BARE_ENVIRONMENT,
  WHARF_DATA_DIR: join(folder, 'data'),
  WHARF_ADMIN_PASSWORD: PASSWORD,
  WHARF_HTTP_PORT: '0',
  WHARF_GRPC_PORT: '0',
  WHARF_DATA_PORT: '0',
  WHARF_OPS_PORT: '0',
});

async function startSupervisor(folder: string): Promise<Supervisor> {
  const child = spawn(process.execPath, [...programFlags(), 'tools/services.ts'], {
    cwd: ROOT,
    env: environmentIn(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      output += `${line}\n`;
    });
  const base = await waitFor(
    'the gateway',
    async () => {
      if (child.exitCode !== null) throw new Error(output);
      const url = /"service":"api-gateway","url":"([^"]+)"/.exec(output)?.[1];
      return url !== undefined && (await httpRequest(url, { path: '/ping' })).text() === 'pong' && url;
    },
    { withinMs: START_LIMIT_MS - 5_000 },
  );
  return { child, pid: child.pid ?? 0, base, output: () => output };
}
