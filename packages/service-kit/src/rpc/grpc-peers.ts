import { type AdminServiceClient, AdminServiceDefinition } from '@wharf/proto/admin';
import { type AuthServiceClient, AuthServiceDefinition } from '@wharf/proto/auth';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
import { type WriteServiceClient, WriteServiceDefinition } from '@wharf/proto/fs-write';
import { type TaskServiceClient, TaskServiceDefinition } from '@wharf/proto/task';
import { createGrpcPeer } from './grpc-client.ts';

import type { Peers } from './peers.ts';

/** Clients over gRPC. Nothing connects before its first call. */
export function createGrpcPeers(addresses: { authAddress: string; adminAddress: string; fsAddress: string; downloaderAddress: string }): {
  peers: Peers;
  close(): void;
} {
  const auth = createGrpcPeer<AuthServiceClient>(AuthServiceDefinition, addresses.authAddress);
  const admin = createGrpcPeer<AdminServiceClient>(AdminServiceDefinition, addresses.adminAddress);
  const fs = createGrpcPeer<FsServiceClient>(FsServiceDefinition, addresses.fsAddress);
  const fsWrites = createGrpcPeer<WriteServiceClient>(WriteServiceDefinition, addresses.fsAddress);
  const downloader = createGrpcPeer<DownloaderServiceClient>(DownloaderServiceDefinition, addresses.downloaderAddress);
  const fsTasks = createGrpcPeer<TaskServiceClient>(TaskServiceDefinition, addresses.fsAddress);
  const downloaderTasks = createGrpcPeer<TaskServiceClient>(TaskServiceDefinition, addresses.downloaderAddress);
  return {
    peers: {
      auth: auth.client,
      admin: admin.client,
      fs: fs.client,
      fsWrites: fsWrites.client,
      downloader: downloader.client,
      fsTasks: fsTasks.client,
      downloaderTasks: downloaderTasks.client,
    },
    close() {
      for (const peer of [auth, admin, fs, fsWrites, downloader, fsTasks, downloaderTasks]) peer.close();
    },
  };
}
