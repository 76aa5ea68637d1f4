import { type AdminServiceClient, AdminServiceDefinition } from '@wharf/proto/admin';
import { type AuthServiceClient, AuthServiceDefinition } from '@wharf/proto/auth';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { type TaskServiceClient, TaskServiceDefinition } from '@wharf/proto/task';
import type { Tracing } from '../telemetry/tracing.ts';
import { createGrpcPeer } from './grpc-client.ts';
import type { Peers } from './peers.ts';
import type { OnBroken } from './shared-streams.ts';

/**
 * Clients over gRPC. Nothing connects before its first call.
 *
 * @param options.readDeadlineMs no call that only reads may take longer, in milliseconds; 30 s where it is not said
 */
export function createGrpcPeers(
  addresses: { authAddress: string; adminAddress: string; fsAddress: string; downloaderAddress: string },
  options: { tracing: Tracing; onBroken: OnBroken | undefined; readDeadlineMs?: number },
): {
  peers: Peers;
  close(): void;
} {
  const auth = createGrpcPeer(addresses.authAddress, [AuthServiceDefinition], options);
  const admin = createGrpcPeer(addresses.adminAddress, [AdminServiceDefinition], options);
  const fs = createGrpcPeer(addresses.fsAddress, [FsServiceDefinition, WriteServiceDefinition, TaskServiceDefinition], options);
  const downloader = createGrpcPeer(addresses.downloaderAddress, [DownloaderServiceDefinition, TaskServiceDefinition], options);
  return {
    peers: {
      auth: auth.client<AuthServiceClient>(AuthServiceDefinition),
      admin: admin.client<AdminServiceClient>(AdminServiceDefinition),
      fs: fs.client<FsServiceClient>(FsServiceDefinition),
      fsWrites: fs.client<WriteServiceClient>(WriteServiceDefinition),
      fsTasks: fs.client<TaskServiceClient>(TaskServiceDefinition),
      downloader: downloader.client<DownloaderServiceClient>(DownloaderServiceDefinition),
      downloaderTasks: downloader.client<TaskServiceClient>(TaskServiceDefinition),
    },
    close() {
      for (const peer of [auth, admin, fs, downloader]) peer.close();
    },
  };
}
