import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import {
  ensureCommand,
  type FaultProxy,
  isMissing,
  type Missing,
  makeTempDir,
  runCommand,
  startCephRgw,
  startFaultProxy,
  startSshServer,
} from '@wharf/harness';

/** A storage on another server, as Wharf and as rclone are told of it. Both go by the same proxy. */
export interface RemoteKind {
  readonly name: 'S3' | 'SFTP';
  readonly proxy: FaultProxy;
  readonly addition: string;
  /** Variables by which rclone knows it as `remote:`, and the folder there. */
  readonly rcloneEnv: Readonly<Record<string, string>>;
  readonly rclonePath: string;
}

export interface RemoteField {
  readonly kinds: readonly RemoteKind[];
  /** Undefined, and said, where there is none. */
  rclone: ((kind: RemoteKind, args: readonly string[]) => Promise<{ elapsedMs: number; cpuMs: number }>) | undefined;
  stop(): Promise<void>;
}

const BUCKET = 'bench';
const WITHIN_MS = 30 * 60_000;

/** Ceph RGW and OpenSSH, each behind a proxy that can delay. @param storedBytes what the bucket has to take */
export async function startRemoteField(storedBytes: number): Promise<RemoteField | Missing> {
  const rgw = await startCephRgw({ sizeBytes: storedBytes });
  if (isMissing(rgw)) return rgw;
  const sshd = await startSshServer();
  if (isMissing(sshd)) {
    await rgw.stop();
    return sshd;
  }
  const dir = await makeTempDir('bench-remote');
  const keyFile = join(dir.path, 'key');
  await writeFile(keyFile, sshd.privateKey);
  await chmod(keyFile, 0o600);
  const sdk = new S3Client({
    endpoint: rgw.url,
    region: rgw.region,
    credentials: { accessKeyId: rgw.accessKeyId, secretAccessKey: rgw.secretAccessKey },
    forcePathStyle: true,
  });
  await sdk.send(new CreateBucketCommand({ Bucket: BUCKET }));
  sdk.destroy();
  const s3Proxy = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(rgw.url).port) } });
  const sftpProxy = await startFaultProxy({ to: { host: sshd.host, port: sshd.port } });
  const endpoint = `http://${s3Proxy.host}:${s3Proxy.port}`;
  const keys = { access_key_id: rgw.accessKeyId, secret_access_key: rgw.secretAccessKey };
  const program = await ensureCommand('rclone', 'rclone');
  if (isMissing(program)) console.error(`without rclone: ${program.missing}`);
  return {
    kinds: [
      {
        name: 'S3',
        proxy: s3Proxy,
        addition: JSON.stringify({ root_folder_path: '/', bucket: BUCKET, endpoint, region: rgw.region, force_path_style: true, ...keys }),
        rcloneEnv: {
          RCLONE_CONFIG_REMOTE_TYPE: 's3',
          RCLONE_CONFIG_REMOTE_PROVIDER: 'Ceph',
          RCLONE_CONFIG_REMOTE_ENDPOINT: endpoint,
          RCLONE_CONFIG_REMOTE_REGION: rgw.region,
          RCLONE_CONFIG_REMOTE_ACCESS_KEY_ID: rgw.accessKeyId,
          RCLONE_CONFIG_REMOTE_SECRET_ACCESS_KEY: rgw.secretAccessKey,
        },
        rclonePath: `remote:${BUCKET}`,
      },
      {
        name: 'SFTP',
        proxy: sftpProxy,
        addition: JSON.stringify({
          root_folder_path: sshd.rootPath,
          address: `${sftpProxy.host}:${sftpProxy.port}`,
          username: sshd.username,
          private_key: sshd.privateKey,
        }),
        rcloneEnv: {
          RCLONE_CONFIG_REMOTE_TYPE: 'sftp',
          RCLONE_CONFIG_REMOTE_HOST: sftpProxy.host,
          RCLONE_CONFIG_REMOTE_PORT: String(sftpProxy.port),
          RCLONE_CONFIG_REMOTE_USER: sshd.username,
          RCLONE_CONFIG_REMOTE_KEY_FILE: keyFile,
          RCLONE_CONFIG_REMOTE_DISABLE_HASHCHECK: 'true',
          RCLONE_CONFIG_REMOTE_SHELL_TYPE: 'none',
        },
        rclonePath: `remote:${sshd.rootPath}`,
      },
    ],
    rclone: isMissing(program) ? undefined : (kind, args) => runRclone(program.path, kind, args),
    async stop() {
      await s3Proxy.stop();
      await sftpProxy.stop();
      await rgw.stop();
      await sshd.stop();
      await dir.remove();
    },
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
