import { ensureCommand, isMissing, runCommand } from '@wharf/harness';
import { type RemoteKind, type RemoteName, STARTERS } from './remote-kinds.ts';

/** One kind of storage with its server, and rclone beside it. */
export interface RemoteField {
  readonly kind: RemoteKind;
  /** Undefined, and said, where there is none. */
  rclone: ((args: readonly string[]) => Promise<{ elapsedMs: number; cpuMs: number }>) | undefined;
  /** As it names itself. */
  readonly rcloneVersion: string;
}

const WITHIN_MS = 30 * 60_000;

/** Starts what a kind needs. Undefined, and said, where it cannot be. @param storedBytes what a bucket has to take */
export async function startRemoteField(name: RemoteName, storedBytes: number): Promise<RemoteField | undefined> {
  const program = await ensureCommand('rclone', 'rclone');
  if (isMissing(program)) console.error(`without rclone: ${program.missing}`);
  const obscured = async (password: string) =>
    isMissing(program) ? '' : (await runCommand(program.path, ['obscure', password], { withinMs: WITHIN_MS })).stdout.trim();
  const kind = await STARTERS[name]({ storedBytes, obscured });
  if (isMissing(kind)) {
    console.error(`without ${name}: ${kind.missing}`);
    return undefined;
  }
  if (isMissing(program)) return { kind, rclone: undefined, rcloneVersion: '' };
  const version = await runCommand(program.path, ['version'], { withinMs: WITHIN_MS });
  return {
    kind,
    rclone: (args) => runRclone(program.path, kind, args),
    rcloneVersion: /v(\d+\.\d+\.\d+)/.exec(version.stdout)?.[1] ?? '',
  };
}

/** Its output goes nowhere; the shell around it tells the processor time that it took. */
async function runRclone(path: string, kind: RemoteKind, args: readonly string[]): Promise<{ elapsedMs: number; cpuMs: number }> {
  const startedAt = performance.now();
  const script = '"$@" >/dev/null || exit 1; times';
  const result = await runCommand('bash', ['-c', script, 'bash', path, ...args, '--config', '/dev/null', '--retries', '1'], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...kind.rcloneEnv },
    withinMs: WITHIN_MS,
  });
  if (result.code !== 0) throw new Error(`rclone ${args[0]}: ${result.stderr.slice(-500)}`);
  const elapsedMs = performance.now() - startedAt;
  const [user, system] = [...(result.stdout.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60_000 + Number(seconds) * 1000,
  );
  return { elapsedMs, cpuMs: (user ?? 0) + (system ?? 0) };
}
