import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, isMissing, login, makeTempDir, startCephRgw, startSshServer, startStandalone } from '@wharf/harness';
import { mountRemotes } from './remote-storages.ts';
import { startReplicas } from './replicas.ts';
import {
  CLIENT_FAULTS,
  type Fault,
  makeUploadSource,
  runUploadChaos,
  type UploadReport,
  type UploadSource,
  type UploadWay,
} from './upload-chaos.ts';
import { openWorld } from './world.ts';

const MIB = 1024 * 1024;
/** A connection lasts no longer, for a minute. */
const BREAK_EVERY_MS = 5_000;
const SAMPLE_MS = 200;
const LAST_LINES = 40;
/** Of the bucket, which lies on the disk: a file whose draft is copied is there twice, and what is replaced is collected after a minute. */
const BUCKET_COPIES = 3;

export const LONG_SHAPES = ['standalone', 'services'] as const;
export type LongShape = (typeof LONG_SHAPES)[number];
export const LONG_STORAGES = ['Local', 'S3', 'SFTP'] as const;
export type LongStorage = (typeof LONG_STORAGES)[number];

export interface LongUploadReport extends UploadReport {
  readonly shape: LongShape;
  readonly seconds: number;
  /** What each process that bytes pass took more than before the upload, at the most, in MiB, pages of files apart. */
  readonly memoryMib: Readonly<Record<string, number>>;
}

export interface LongUploadsOptions {
  readonly sizeMib: number;
  readonly shapes: readonly LongShape[];
  readonly storages: readonly LongStorage[];
  readonly ways: readonly UploadWay[];
  readonly tell: (text: string) => void;
}

/** A Wharf that is damaged while big files come. */
interface Damaged {
  readonly gateways: readonly string[];
  readonly admin: Api;
  /** On this machine, in a folder that all of its processes see. */
  readonly folder: string;
  readonly faults: readonly Fault[];
  /** Processes that bytes pass, by their names. */
  pids(): Readonly<Record<string, number>>;
  /** What its processes wrote at last. */
  lastLines(): string;
  stop(): Promise<void>;
}

const START: Readonly<Record<LongShape, () => Promise<Damaged>>> = { standalone: startOne, services: startTwoOfEach };

/** One big upload after the other: to storages of each kind, by both protocols, through one process and through two gateways and two fs. */
export async function runLongUploads({ sizeMib, shapes, storages, ways, tell }: LongUploadsOptions): Promise<LongUploadReport[]> {
  const reports: LongUploadReport[] = [];
  const dir = await makeTempDir('long-uploads');
  try {
    // What is loaded and compiled by the end of a small one is no upload's.
    const small = await makeUploadSource(dir.path, 32 * MIB);
    const big = await makeUploadSource(dir.path, sizeMib * MIB);
    for (const shape of shapes) {
      const damaged = await START[shape]();
      try {
        for (const storage of storages) {
          const place = await mount(damaged, storage, sizeMib);
          try {
            for (const way of ways) {
              tell(`${shape}, ${storage} by ${way}`);
              const send = (source: UploadSource, faults: readonly Fault[], breakEveryMs: number) =>
                runUploadChaos(
                  { ...damaged, places: { [storage]: place.path }, faults },
                  { source, ways: [way], breakEveryMs, isRemoved: true, tell },
                ).catch((error: unknown) => {
                  tell(damaged.lastLines());
                  throw error;
                });
              await send(small, [], 0);
              const memory = watchMemory(damaged);
              const startedAt = performance.now();
              const [report] = await send(big, damaged.faults, BREAK_EVERY_MS);
              const seconds = Math.round((performance.now() - startedAt) / 1000);
              const memoryMib = await memory.stop();
              if (report) reports.push({ shape, ...report, seconds, memoryMib });
              tell(JSON.stringify(reports.at(-1)));
            }
          } finally {
            await place.stop();
          }
        }
      } finally {
        await damaged.stop();
      }
    }
    return reports;
  } finally {
    await dir.remove();
  }
}

async function startOne(): Promise<Damaged> {
  const world = await openWorld(startStandalone, { env: { WHARF_DRAIN_SECONDS: '0' } });
  const crash = async () => {
    await world.wharf.kill();
    await world.wharf.restart();
  };
  return {
    ...{ gateways: [world.base], admin: world.admin, folder: world.wharf.filesDir },
    faults: [
      [CLIENT_FAULTS.clients, async () => {}],
      ['kill -9 of the process, its store in it', crash],
      ['restart', () => world.wharf.restart()],
      ['kill -9 again', crash],
    ],
    pids: () => ({ standalone: world.wharf.pid }),
    lastLines: () => world.wharf.log().trimEnd().split('\n').slice(-LAST_LINES).join('\n'),
    stop: () => world.close(),
  };
}

async function startTwoOfEach(): Promise<Damaged> {
  const replicas = await startReplicas();
  const services = ['api-gateway', 'fs'] as const;
  return {
    ...{ gateways: [replicas.first, replicas.second], folder: replicas.folder, lastLines: replicas.lastLines, stop: replicas.stop },
    admin: await login(replicas.first, 'admin', replicas.adminPassword),
    faults: [
      [CLIENT_FAULTS.clients, async () => {}],
      ['kill -9 of a gateway', () => replicas.restart('api-gateway', 0)],
      ['kill -9 of an fs', () => replicas.restart('fs', 1)],
      ['kill -9 of the store', () => replicas.restartStore()],
    ],
    pids: () =>
      Object.fromEntries(services.flatMap((service) => ([0, 1] as const).map((n) => [`${service} ${n + 1}`, replicas.pidOf(service, n)]))),
  };
}

/** Mounts a storage of the kind, over a server of its own where it needs one. */
async function mount({ admin, folder }: Damaged, storage: LongStorage, sizeMib: number): Promise<{ path: string; stop(): Promise<void> }> {
  if (storage === 'Local') {
    const root = join(folder, 'long');
    await mkdir(root);
    const addition = JSON.stringify({ root_folder_path: root, mkdir_perm: '777' });
    await admin.call('/api/admin/storage/create', { mount_path: '/long', driver: 'Local', addition });
    return { path: '/long', stop: async () => {} };
  }
  const isBucket = storage === 'S3';
  const rgw = await startCephRgw({ sizeBytes: (isBucket ? BUCKET_COPIES * sizeMib + 1024 : 512) * MIB, isOnDisk: isBucket });
  const sshd = await startSshServer();
  if (isMissing(rgw) || isMissing(sshd)) throw new Error(`without servers: ${JSON.stringify([rgw, sshd])}`);
  const remotes = await mountRemotes({ admin, unique: (purpose) => `${purpose}-of-${storage}` }, rgw, sshd);
  return {
    path: (storage === 'S3' ? remotes.s3 : remotes.sftp).mount,
    async stop() {
      await remotes.stop();
      await sshd.stop();
      await rgw.stop();
    },
  };
}

/** Looks at the memory of those that bytes pass; one that was killed comes back smaller than it was. */
function watchMemory({ pids }: Damaged) {
  const idle = new Map<string, number>();
  const most = new Map<string, number>();
  const look = async () => {
    for (const [name, pid] of Object.entries(pids())) {
      const mib = await heldMib(pid).catch(() => 0);
      if (!idle.has(name)) idle.set(name, mib);
      most.set(name, Math.max(most.get(name) ?? 0, mib));
    }
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, SAMPLE_MS);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
      return Object.fromEntries([...most].map(([name, mib]) => [name, Math.round(mib - (idle.get(name) ?? 0))]));
    },
  };
}

/** Memory of its own: pages of its program's files come and go as the system likes, up to 60 MiB. Linux alone tells. */
async function heldMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
