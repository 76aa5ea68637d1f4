import { fileURLToPath } from 'node:url';
import { type ExitStatus, type RunningProcess, startProcess } from '@wharf/harness';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { type Task, type TaskServiceClient, TaskServiceDefinition } from '@wharf/proto/task';
import { callHeaders, createInternalTokens, deriveKeys, type Identity, outgoingCall } from '@wharf/service-kit';
import { createGrpcPeer } from '@wharf/service-kit/grpc';
import { ADMIN, type Installation, SECRET } from './installation.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const tokens = createInternalTokens(deriveKeys(SECRET).internal, Date.now);

const callOf = (identity: Identity) => ({ identity, requestId: 'test', revisions: { auth: 0, admin: 0 } });

/** Call options of somebody; of the admin by default. */
export const as = (identity: Identity = ADMIN) => outgoingCall(tokens, callOf(identity));

/** The same as headers of the data plane. */
export const headersAs = (identity: Identity = ADMIN) => callHeaders(tokens, { ...callOf(identity), siteUrl: 'http://wharf.test' });

/** A replica of fs that is a process of its own, and can be killed. */
export interface FsProcess {
  readonly fs: FsServiceClient;
  readonly tasks: TaskServiceClient;
  /** Of the data plane. */
  readonly url: string;
  readonly pid: number;
  task(list: string, id: string): Promise<Task>;
  /** SIGKILL. */
  kill(): Promise<ExitStatus>;
  stop(): Promise<ExitStatus>;
  output(): string;
}

/** @param dataDir undefined: it keeps nothing. @param env added to what it gets */
export async function startFsProcess(installation: Installation, dataDir?: string, env: Record<string, string> = {}): Promise<FsProcess> {
  const running: RunningProcess<{ url: string; grpcPort: number }> = await startProcess({
    name: 'fs',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', MAIN],
    env: {
      PATH: process.env['PATH'],
      TMPDIR: process.env['TMPDIR'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      MONGO_URL: installation.storeUrl,
      WHARF_SECRET: SECRET.reveal(),
      WHARF_GRPC_PORT: '0',
      WHARF_DATA_PORT: '0',
      WHARF_OPS_PORT: '0',
      WHARF_DRAIN_SECONDS: '0',
      ...(dataDir === undefined ? {} : { WHARF_DATA_DIR: dataDir }),
      ...env,
    },
    ready: {
      line: (line) => (line.includes('"msg":"listening"') ? (JSON.parse(line) as { url: string; grpcPort: number }) : undefined),
    },
  });
  const { grpcPort, url } = running.ready;
  const peer = createGrpcPeer(`127.0.0.1:${grpcPort}`, [FsServiceDefinition, TaskServiceDefinition]);
  const tasks = peer.client<TaskServiceClient>(TaskServiceDefinition);
  return {
    fs: peer.client<FsServiceClient>(FsServiceDefinition),
    tasks,
    url,
    pid: running.pid,
    async task(list, id) {
      const { task } = await tasks.getTask({ list, id }, as());
      if (!task) throw new Error('no task was answered');
      return task;
    },
    kill() {
      peer.close();
      return running.kill();
    },
    stop() {
      peer.close();
      return running.stop();
    },
    output: () => running.output(),
  };
}
