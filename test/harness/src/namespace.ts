import { readdir, readFile, readlink } from 'node:fs/promises';
import { type ProcessOptions, startProcess } from './process.ts';
import { waitFor } from './wait-for.ts';

/** Mounts and processes that end with the first of them, whatever ends it: nothing needs to be cleared away. For `unshare`. */
export const CONFINED = ['--mount', '--pid', '--ipc', '--fork', '--kill-child'] as const;

/** A process with all that it starts, in namespaces of their own. */
export interface Confined<T> {
  readonly ready: T;
  /** The last of what was written to stdout and stderr. */
  output(): string;
  /** Stops them all where they are (SIGSTOP); their connections stay open. */
  pause(): Promise<void>;
  /** Lets them go on. */
  resume(): Promise<void>;
  /** Ends them all, paused or not; safe to call twice. */
  stop(): Promise<void>;
}

/** Starts a process that sees its own mounts and processes, and the network of this machine. Only root can. */
export async function startConfined<T>(options: ProcessOptions<T>): Promise<Confined<T>> {
  const running = await startProcess({
    ...options,
    command: 'unshare',
    args: [...CONFINED, options.command, ...(options.args ?? [])],
  });
  return {
    ready: running.ready,
    output: running.output,
    async pause() {
      // Again and again, for one that still runs may start another.
      await waitFor(`${options.name} to be paused`, async () => {
        const awake = await membersOf(running.pid, (state) => state !== 'T');
        for (const pid of awake) signal(pid, 'SIGSTOP');
        return awake.length === 0;
      });
    },
    async resume() {
      for (const pid of await membersOf(running.pid)) signal(pid, 'SIGCONT');
    },
    async stop() {
      await running.kill();
    },
  };
}

/** The processes in the namespace that this one has made for its children; the ended are not counted. */
async function membersOf(maker: number, isWanted: (state: string) => boolean = () => true): Promise<number[]> {
  const namespace = await readlink(`/proc/${maker}/ns/pid_for_children`);
  const members: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // One that ended meanwhile has no namespace or no state.
    const own = await readlink(`/proc/${name}/ns/pid`).catch(() => undefined);
    if (own !== namespace) continue;
    const state = /\) (\S)/.exec(await readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''))?.[1] ?? 'X';
    if (state !== 'Z' && state !== 'X' && isWanted(state)) members.push(Number(name));
  }
  return members;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
