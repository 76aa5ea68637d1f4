import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The unit of times in /proc/<pid>/stat on Linux (USER_HZ, proc_pid_stat(5)): ticks per second. */
const TICKS_PER_S = 100;
/** Written to clear_refs it sets the peak (VmHWM) back to what is resident now (proc_pid_clear_refs(5)). */
const RESET_PEAK = '5';

/** What processes and all that descend from them have used. */
export interface Usage {
  /** User and system time of all threads, and of children that ended; in steps of 10 ms. */
  readonly cpuMs: number;
  /** Sum of the most that each had resident since `resetPeaks`. */
  readonly peakBytes: number;
  readonly residentBytes: number;
  readonly processes: number;
}

/** Reads it from /proc (Linux). Processes that ended since are left out. */
export function readUsage(rootPids: readonly number[]): Usage {
  const pids = processTrees(rootPids);
  let cpuMs = 0;
  let peakBytes = 0;
  let residentBytes = 0;
  for (const pid of pids) {
    const fields = statFields(pid);
    if (fields === undefined) continue;
    // utime, stime, cutime, cstime.
    for (const index of [11, 12, 13, 14]) cpuMs += (Number(fields[index]) * 1000) / TICKS_PER_S;
    const status = readIfThere(`/proc/${pid}/status`) ?? '';
    peakBytes += kibibytes(status, 'VmHWM') * 1024;
    residentBytes += kibibytes(status, 'VmRSS') * 1024;
  }
  return { cpuMs, peakBytes, residentBytes, processes: pids.length };
}

/** What is resident of a process and all that descend from it, each page divided by the number of processes that have it (PSS), in bytes. */
export function proportionalBytes(rootPids: readonly number[]): number {
  const kibibytesOf = (pid: number) => kibibytes(readIfThere(`/proc/${pid}/smaps_rollup`) ?? '', 'Pss');
  return processTrees(rootPids).reduce((sum, pid) => sum + kibibytesOf(pid) * 1024, 0);
}

/** Has peaks count from now on. Where that is not allowed they go on counting from the start of each process. */
export function resetPeaks(rootPids: readonly number[]): void {
  for (const pid of processTrees(rootPids))
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
    } catch {
      // Another user's process, or one that ended.
    }
}

function processTrees(rootPids: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statFields(Number(name))?.[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [...rootPids];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** The fields of /proc/<pid>/stat from the third (state) on: the second may hold blanks and parentheses. */
function statFields(pid: number): string[] | undefined {
  const text = readIfThere(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function kibibytes(status: string, key: string): number {
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
