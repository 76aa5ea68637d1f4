import { AdminServiceDefinition } from '@wharf/proto/admin';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';

/** The services that are called by others: the port of each one's gRPC in its image, and its contracts by the names of their clients. */
export const PROVIDERS = {
  auth: { port: 50_051, contracts: { auth: AuthServiceDefinition } },
  admin: { port: 50_052, contracts: { admin: AdminServiceDefinition } },
  fs: { port: 50_053, contracts: { fs: FsServiceDefinition, fsWrites: WriteServiceDefinition, fsTasks: TaskServiceDefinition } },
  downloader: { port: 50_054, contracts: { downloader: DownloaderServiceDefinition, downloaderTasks: TaskServiceDefinition } },
} as const;

export type Provider = keyof typeof PROVIDERS;
