import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from './wait-for.ts';

/** How a process ended: by itself (`code`) or by a signal. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessOptions<T> {
  /** Names the process in error messages. */
  name: string;
  command: string;
  args?: readonly string[];
  cwd?: string;
  /** The whole environment of the child; default: ours. */
  env?: NodeJS.ProcessEnv;
  /**
   * When the process counts as started. `line` sees each line of stdout and stderr, `probe` is tried every 20 ms and counts as "not yet" when it
   * throws; the first answer that is not `undefined` becomes `ready`.
   */
  ready: { line: (line: string) => T | undefined | Promise<T | undefined> } | { probe: () => Promise<T | undefined> };
  /** Default 30,000. */
  readyWithinMs?: number;
  /** How long `stop` waits between SIGTERM and SIGKILL, default 10,000. */
  stopWithinMs?: number;
  /** How much of the end of the output is kept, default 1 MiB of characters. */
  outputLimit?: number;
}

export interface RunningProcess<T> {
  readonly pid: number;
  readonly ready: T;
  /** The last of what was written to stdout and stderr, line by line as it came. */
  output(): string;
  /** Settles when the process has ended and its output was read; never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** SIGTERM, and SIGKILL when that is not obeyed in time. Answers how it ended, also when it had ended before. */
  stop(): Promise<ExitStatus>;
  /** Sends one signal (default SIGKILL) to the process and all that it started, and waits for its end. */
  kill(signal?: NodeJS.Signals): Promise<ExitStatus>;
}

/** What is to be done when this process exits. */
const atExit = new Set<() => void>();
process.on('exit', () => {
  for (const run of atExit) run();
});

const SETPRIV = '/usr/bin/setpriv';

/**
 * Starts a process, alone in a process group, and waits until it is ready.
 *
 * It outlives neither its own `stop` nor this process: whatever is left of its group is killed when it ends and when we exit, and on Linux the
 * kernel kills it when we are killed. Rejects with its output when it ends or the deadline passes before it is ready; nothing is left then.
 */
export async function startProcess<T>(options: ProcessOptions<T>): Promise<RunningProcess<T>> {
  const { name, ready, readyWithinMs = 30_000, stopWithinMs = 10_000, outputLimit = 1024 * 1024 } = options;
  const [command, ...args] = withParentDeathSignal([options.command, ...(options.args ?? [])]);
  const child = spawn(command, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const found = Promise.withResolvers<T>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      output = `${output}${line}\n`.slice(-outputLimit);
      if ('line' in ready)
        Promise.resolve(ready.line(line)).then((answer) => {
          if (answer !== undefined) found.resolve(answer);
        }, found.reject);
    });

  const killGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      // ESRCH: nobody is left; macOS says EPERM when only the ended leader is.
      if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error;
    }
  };
  const killRest = () => killGroup('SIGKILL');
  atExit.add(killRest);
  child.once('exit', () => {
    killRest();
    atExit.delete(killRest);
  });
  const ended = Promise.withResolvers<ExitStatus>();
  child.once('close', (code, signal) => ended.resolve({ code, signal }));
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    atExit.delete(killRest);
    output += `${error.message}\n`;
    ended.resolve({ code: 127, signal: null });
  });

  const stop = async (): Promise<ExitStatus> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const limit = new AbortController();
    const late = delay(stopWithinMs, undefined, { signal: limit.signal }).then(killRest, () => undefined);
    const status = await ended.promise;
    limit.abort();
    await late;
    return status;
  };
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<ExitStatus> => {
    if (child.exitCode === null && child.signalCode === null) killGroup(signal);
    return ended.promise;
  };

  const limit = new AbortController();
  const failures = [
    ended.promise.then(({ code, signal }) => Promise.reject(new Error(`${name} ended (${signal ?? `exit ${code}`}) before it was ready`))),
    delay(readyWithinMs, undefined, { signal: limit.signal }).then(() =>
      Promise.reject(new Error(`${name} was not ready within ${readyWithinMs} ms`)),
    ),
  ];
  for (const failure of failures) failure.catch(() => undefined);
  if ('probe' in ready)
    waitFor(`${name} to be ready`, async () => limit.signal.aborted || wrap(await ready.probe()), { withinMs: readyWithinMs }).then(
      (answer) => answer !== true && found.resolve(answer.value),
      found.reject,
    );
  try {
    const answer = await Promise.race([found.promise, ...failures]);
    return { pid: child.pid ?? 0, ready: answer, output: () => output, exited: ended.promise, stop, kill };
  } catch (error) {
    await kill();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}. Its output:\n${output}`, { cause: error });
  } finally {
    limit.abort();
  }
}

function wrap<T>(value: T | undefined): { value: T } | undefined {
  return value === undefined ? undefined : { value };
}

/** Has Linux kill the process when this one dies without an exit hook (SIGKILL, crash): setpriv(1) asks for that and becomes the command. */
function withParentDeathSignal(words: [string, ...string[]]): [string, ...string[]] {
  return process.platform === 'linux' && existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--', ...words] : words;
}

/** Runs a command to its end. Rejects when it cannot be started or runs longer than `withinMs` (default 60,000); it is killed then. */
export async function runCommand(
  command: string,
  args: readonly string[] = [],
  { withinMs = 60_000, env = process.env }: { withinMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: withinMs, killSignal: 'SIGKILL' });
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      texts[stream] += text;
    });
  const [code, signal] = await once(child, 'close');
  if (signal !== null) throw new Error(`${command} was ended by ${signal} (limit ${withinMs} ms)\n${texts.stderr}`);
  return { code, ...texts };
}

/** Runs a command that must succeed; answers what it wrote to stdout. */
export async function runToEnd(command: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, args);
  if (code !== 0) throw new Error(`${command} failed: ${stderr}`);
  return stdout;
}
