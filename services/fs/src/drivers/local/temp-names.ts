import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';

/** The folder right below the root that holds files on their way, mode 0700, there only while it is needed. */
export const TEMP_FOLDER = '.wharf-tmp';

/** Beside a target, where the folder above is on another file system. */
const BESIDE_PREFIX = `${TEMP_FOLDER}-`;

/** `<host>-<pid>-<start of the process>-<random>`, so that anybody can tell whether its owner still lives. */
const TEMP_NAME = /^([0-9a-f]{12})-(\d+)-([0-9a-f]{12})-[0-9a-f]{16}$/;

/** A file that is put together over several processes: it belongs to none, and goes by its age. */
const DRAFT_NAME = /^draft-[0-9a-f]{32}$/;

const OTHERS_MAX_AGE_MS = 24 * 60 * 60 * 1000;
const DRAFTS_MAX_AGE_MS = 48 * 60 * 60 * 1000;

/** A process, as it appears in the names of its temporary files. */
export interface TempOwner {
  readonly host: string;
  readonly pid: number;
  readonly start: string;
}

export function currentOwner(): TempOwner {
  return { host: hostId(), pid: process.pid, start: readProcess(process.pid)?.start ?? digest('unknown') };
}

export function newTempName(owner: TempOwner): string {
  return `${owner.host}-${owner.pid}-${owner.start}-${randomBytes(8).toString('hex')}`;
}

export function newBesideName(owner: TempOwner): string {
  return BESIDE_PREFIX + newTempName(owner);
}

/** What a draft is called below the root, and beside its target. */
export function draftNames(id: string): { inArea: string; beside: string } {
  return { inArea: `draft-${id}`, beside: `${BESIDE_PREFIX}draft-${id}` };
}

/** Whether a name belongs to us: such entries are not listed, and no call reaches them. */
export function isReservedName(name: string): boolean {
  if (!name.startsWith('.')) return false;
  const lower = name.toLowerCase();
  if (lower === TEMP_FOLDER) return true;
  const own = lower.startsWith(BESIDE_PREFIX) ? lower.slice(BESIDE_PREFIX.length) : '';
  return TEMP_NAME.test(own) || DRAFT_NAME.test(own);
}

export function isReservedPath(path: string): boolean {
  return path.includes('/.') && path.toLowerCase().includes(`/${TEMP_FOLDER}`) && path.split('/').some(isReservedName);
}

/**
 * Whether a temporary file may go: its owner is a process of this host that has ended, or is somebody else's and was not written for a day.
 * A name that is not ours never may.
 */
export function isAbandoned(name: string, modifiedMs: number, self: TempOwner, nowMs: number): boolean {
  const own = name.startsWith(BESIDE_PREFIX) ? name.slice(BESIDE_PREFIX.length) : name;
  if (DRAFT_NAME.test(own)) return nowMs - modifiedMs > DRAFTS_MAX_AGE_MS;
  const parsed = TEMP_NAME.exec(own);
  const [, host, pid, start] = parsed ?? [];
  if (host === undefined) return false;
  if (host !== self.host) return nowMs - modifiedMs > OTHERS_MAX_AGE_MS;
  const found = readProcess(Number(pid));
  return found === undefined ? !answersSignals(Number(pid)) : found.hasEnded || found.start !== start;
}

/** Whether a temporary file belongs to another process of this host: when that still lives, the file is to be looked at again. */
export function isOfAnotherProcess(name: string, self: TempOwner): boolean {
  const [, host, pid, start] = TEMP_NAME.exec(name) ?? [];
  return host === self.host && (Number(pid) !== self.pid || start !== self.start);
}

/**
 * Tells one space of process numbers from every other: two containers can share a host name and a disk, and one must not take the other's
 * files for those of a dead process.
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
  return { start: digest(read('/proc/sys/kernel/random/boot_id') ?? '', ticks), hasEnded: 'ZXx'.includes(state) };
}

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
