import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';

/** `<host>-<pid>-<start of the process>-<random>`, so that anybody can tell whether its owner still lives. */
export const OWNED_NAME = /^([0-9a-f]{12})-(\d+)-([0-9a-f]{12})-[0-9a-f]{16}$/;

/** A process, as it appears in the names of its files. */
export interface ProcessOwner {
  readonly host: string;
  readonly pid: number;
  readonly start: string;
}

/** The state of a file's owner: this process, another one that lives or has ended, or one whose state cannot be read from here. */
export type OwnerState = 'self' | 'lives' | 'gone' | 'elsewhere';

export function currentOwner(): ProcessOwner {
  return { host: hostId(), pid: process.pid, start: readProcess(process.pid)?.start ?? digest('unknown') };
}

export function newOwnedName(owner: ProcessOwner): string {
  // Its first and its last digits are random, and many are drawn from the system at a time.
  const drawn = randomUUID();
  return `${owner.host}-${owner.pid}-${owner.start}-${drawn.slice(0, 8)}${drawn.slice(-8)}`;
}

/** Undefined for a name that was not made by {@link newOwnedName}. */
export function ownerOf(name: string, self: ProcessOwner): OwnerState | undefined {
  const [, host, pid, start] = OWNED_NAME.exec(name) ?? [];
  if (host === undefined) return undefined;
  if (host !== self.host) return 'elsewhere';
  if (Number(pid) === self.pid && start === self.start) return 'self';
  const found = readProcess(Number(pid));
  if (found === undefined) return answersSignals(Number(pid)) ? 'lives' : 'gone';
  return found.hasEnded || found.start !== start ? 'gone' : 'lives';
}

/**
 * Names the space of process numbers that this process lives in. Two containers can share a host name and a disk. Neither may take the
 * other's files for files of a dead process.
 */
function hostId(): string {
  return digest(os.hostname(), read('/etc/machine-id') ?? '', readLink('/proc/self/ns/pid') ?? '');
}

/**
 * When a process began, in this run of the system, and whether it has ended though its number is still taken; undefined when nothing can be
 * read of it. Numbers are used again, the pair of number and start is not.
 */
function readProcess(pid: number): { start: string; hasEnded: boolean } | undefined {
  if (process.platform !== 'linux') return answersSignals(pid) ? { start: digest(String(pid)), hasEnded: false } : undefined;
  // Absent for a process that is gone, and with `hidepid` for those of other users.
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name of the program, in parentheses, may hold anything; behind it come the state, and 19 fields later the start (proc(5), fields 3 and 22).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', ticks = ''] = [fields[0], fields[19]];
  // What was killed stays a zombie until its parent asks how it ended, and some never do.
  runOfSystem ??= read('/proc/sys/kernel/random/boot_id') ?? '';
  return { start: digest(runOfSystem, ticks), hasEnded: 'ZXx'.includes(state) };
}

/** It stays the same for as long as this process runs: thousands of names may be looked at. */
let runOfSystem: string | undefined;

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function digest(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12);
}

function read(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function readLink(path: string): string | undefined {
  try {
    return fs.readlinkSync(path);
  } catch {
    return undefined;
  }
}
