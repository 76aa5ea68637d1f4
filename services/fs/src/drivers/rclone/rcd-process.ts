import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fchownSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { AppError } from '@wharf/errors';
import { countProcess } from '@wharf/pace';
import { type ConnectTo, openWebWay } from './web-way.ts';

/** A `rclone rcd` that answers. */
export interface RcdProcess {
  /** Begins with `http://` or `https://`, without a slash at its end. */
  readonly url: string;
  /** The value of the header by which we prove who we are. */
  readonly authorization: string;
  /** Aborted when it has ended, however that came. */
  readonly ended: AbortSignal;
  /** Ends it at once. Safe twice. */
  kill(): void;
}

const START_MS = 20_000;
/** `nobody` on Debian and most others: where we are root, it is this user. */
const NOBODY = 65_534;
const USERNAME = 'wharf';
/** Where programs are looked for. Of our own environment nothing is passed on. */
const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
/** What the shell says of a program that is not there (POSIX, 2.8.2). */
const NOT_FOUND = 127;
const MAX_SAID_BYTES = 4_096;
/** The part of the memory that this process may have that it may take. It gathers all of a listing before it answers. */
const MOST_MEMORY_PART = 0.5;
/** From this part on it looks for garbage all the time. */
const TIDY_FROM = 0.8;
/** How often is looked at what it takes, in milliseconds. */
const LOOK_MS = 250;

/**
 * Runs `$@` until it ends, or until its own input does: that is a pipe from us, so it ends when we do, whatever ends us. The program must not hold that
 * pipe (4); the watcher must not hold the files of the password and of the certificates (3 and 5). Where memory is short the system ends the program first, and
 * not us, who may have more.
 */
const WATCH = `
ulimit -c 0
umask 077
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
exec 4<&0
command -v "$1" >/dev/null || exit ${NOT_FOUND}
"$@" 4<&- </dev/null &
child=$!
echo "process $child" >&2
( read -r _ <&4; kill -KILL $child ) 3<&- 5<&- 2>/dev/null &
watcher=$!
wait $child
status=$?
kill -KILL $watcher 2>/dev/null
exit $status
`;

const FLAGS = [
  // Kept in memory alone.
  ...['--config', ''],
  ...['--rc-addr', '127.0.0.1:0', '--rc-htpasswd', '/dev/fd/3', '--rc-serve'],
  // A transfer may take its time; who asked for it ends it.
  ...['--rc-server-read-timeout', '168h', '--rc-server-write-timeout', '168h'],
  // Trying again is ours.
  ...['--low-level-retries', '1', '--retries', '1', '--contimeout', '15s', '--timeout', '2m'],
  // What goes elsewhere than to this machine must go by the ports that we open for it: its own sockets do not get there.
  ...['--bind', '127.0.0.1'],
  // A small content that is cut off would be taken for whole.
  ...['--streaming-upload-cutoff', '0'],
  // A copy is asked for, not an update; dates are the server's.
  ...['--ignore-times', '--use-server-modtime'],
  // What is uploaded comes in small pieces: without a buffer each would be a question to the server.
  ...['--buffer-size', '4M', '--cache-dir', '/dev/null/none', '--temp-dir', '/dev/null/none', '--log-level', 'NOTICE'],
];

/**
 * Starts it.
 *
 * @param connect how it reaches servers that speak HTTP
 * @param program its name, or its path
 * @param mostBytes it takes no more memory, where the system tells of it: it is ended. Others than the standard ones are given by tests only
 * @throws AppError FAILED_PRECONDITION: there is no rclone | STORAGE_UNAVAILABLE: it does not start
 */
export async function startRcd(connect: ConnectTo, program = 'rclone', mostBytes = mostMemory()): Promise<RcdProcess> {
  const password = randomBytes(32).toString('base64url');
  const web = await openWebWay(connect);
  const proxy = `http://127.0.0.1:${web.port}`;
  const files: number[] = [];
  let child: ChildProcess;
  try {
    // What is hashed is as long as the hash: nobody guesses it, so it need not be slow.
    files.push(openNameless(`${USERNAME}:{SHA}${createHash('sha1').update(password).digest('base64')}\n`));
    files.push(openNameless(`${getCACertificates('default').join('\n')}\n`));
    const [passwords, certificates] = files;
    child = spawn('/bin/sh', ['-c', WATCH, 'sh', program, 'rcd', ...FLAGS], {
      stdio: ['pipe', 'ignore', 'pipe', passwords, 'ignore', certificates],
      env: {
        ...{ PATH, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, SSL_CERT_FILE: '/dev/fd/5', SSL_CERT_DIR: '/dev/null' },
        GOMEMLIMIT: String(Math.floor(mostBytes * TIDY_FROM)),
      },
      cwd: '/',
      // A group of its own, to be ended whole.
      detached: true,
      ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
    });
  } catch (error) {
    web.close();
    throw error;
  } finally {
    for (const file of files) closeSync(file);
  }
  const ended = new AbortController();
  ended.signal.addEventListener('abort', () => web.close(), { once: true });
  const kill = () => {
    if (ended.signal.aborted || child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  child.once('error', (error) => ended.abort(error));
  child.once('exit', (code) => {
    // Its program may be left where it was the shell that ended.
    kill();
    ended.abort(code);
  });
  child.stdin?.on('error', () => undefined);
  const { pid, port } = await readyAt(child, ended.signal).catch((error: unknown) => {
    kill();
    throw error;
  });
  countProcess(pid, ended.signal);
  boundMemory(pid, mostBytes, ended.signal, () => {
    kill();
    ended.abort(
      unavailable(
        `rclone took more than ${Math.round(mostBytes / 1024 ** 2)} MiB of memory, as for a listing without an end, and was ended`,
      ),
    );
  });
  // It keeps no process alive that has nothing else to do.
  child.unref();
  for (const pipe of [child.stdin, child.stderr]) (pipe as unknown as { unref?(): void } | null)?.unref?.();
  return {
    url: `http://127.0.0.1:${port}`,
    authorization: `Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`,
    ended: ended.signal,
    kill,
  };
}

/** A file without a name, in memory where the system has such a place, that the child reads. @returns its descriptor */
function openNameless(text: string): number {
  const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const path = join(folder, `.wharf-${randomBytes(16).toString('hex')}`);
  const file = openSync(path, 'wx+', 0o600);
  try {
    unlinkSync(path);
    writeSync(file, text, 0);
    if (process.getuid?.() === 0) fchownSync(file, NOBODY, NOBODY);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/**
 * What all children together may take, in bytes.
 * @param constrained bytes that the system leaves this process: without a bound it is 0, or more than there is
 */
export function mostMemory(total = totalmem(), constrained = process.constrainedMemory()): number {
  return Math.floor(Math.min(total, constrained || Number.POSITIVE_INFINITY) * MOST_MEMORY_PART);
}

/** @param onMore called once. Never where the system does not tell */
function boundMemory(pid: number, mostBytes: number, ended: AbortSignal, onMore: () => void): void {
  const look = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
    const [, kib = 0] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    if (!ended.aborted && Number(kib) * 1024 > mostBytes) onMore();
  };
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  ended.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** Waits until it says who it is and where it listens. What it says later is read and forgotten: it may name files of users. */
function readyAt(child: ChildProcess, ended: AbortSignal): Promise<{ readonly pid: number; readonly port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly pid: number; readonly port: number }>();
  const late = setTimeout(() => reject(unavailable('rclone does not start')), START_MS);
  let said = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    if (said.length < MAX_SAID_BYTES) said += text;
    const [, pid] = /^process (\d+)$/m.exec(said) ?? [];
    const [, port] = /remote control on http:\/\/127\.0\.0\.1:(\d+)\//.exec(said) ?? [];
    if (pid !== undefined && port !== undefined) resolve({ pid: Number(pid), port: Number(port) });
  });
  const onEnd = () => {
    if (ended.reason === NOT_FOUND)
      reject(new AppError('FAILED_PRECONDITION', 'rclone is not installed where fs runs: this storage needs it'));
    else reject(unavailable('rclone ends as soon as it is started', new Error(said)));
  };
  if (ended.aborted) onEnd();
  else ended.addEventListener('abort', onEnd, { once: true });
  return promise.finally(() => {
    clearTimeout(late);
    ended.removeEventListener('abort', onEnd);
  });
}

function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', message, { cause });
}
