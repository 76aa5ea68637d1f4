import { readdir, readFile } from 'node:fs/promises';

export interface ProcessMemory {
  readonly pid: number;
  /** What it runs, shortened. */
  readonly command: string;
  /** The most resident memory it ever had (VmHWM), in MiB. */
  readonly peakMib: number;
}

/** A process and all that it started, as far as they run (Linux). */
export async function memoryOfFamily(pid: number): Promise<ProcessMemory[]> {
  const family = [pid, ...(await descendantsOf(pid))];
  const found = await Promise.all(family.map((each) => memoryOfProcess(each).catch(() => undefined)));
  return found.flatMap((each) => each ?? []);
}

/** Pids of all that a process started and that runs. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = new Map(await Promise.all(pids.map(async (each) => [each, await parentOf(each).catch(() => 0)] as const)));
  const below = (parent: number): number[] => pids.filter((each) => parents.get(each) === parent).flatMap((each) => [each, ...below(each)]);
  return below(pid);
}

/** What a process was started with, or undefined when it has ended. */
export async function commandOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line === '' ? undefined : line.replaceAll('\0', ' ').trim();
}

export async function memoryOfProcess(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const peakKib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  return { pid, command: ((await commandOf(pid)) ?? '').split(' ').slice(-3).join(' '), peakMib: Math.round(peakKib / 1024) };
}

async function parentOf(pid: number): Promise<number> {
  // The name in parentheses may hold anything; what follows it is the state and the parent.
  const line = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1]);
}
