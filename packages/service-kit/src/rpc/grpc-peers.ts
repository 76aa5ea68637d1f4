import { type AdminServiceClient, AdminServiceDefinition } from '@wharf/proto/admin';
import { type AuthServiceClient, AuthServiceDefinition } from '@wharf/proto/auth';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { type FsServiceClient, FsServiceDefinition } from '@wharf/proto/fs';
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
  const downloader = createGrpcPeer<DownloaderServiceClient>(DownloaderServiceDefinition, addresses.downloaderAddress);
  return {
    peers: { auth: auth.client, admin: admin.client, fs: fs.client, downloader: downloader.client },
    close() {
      for (const peer of [auth, admin, fs, downloader]) peer.close();
    },
  };
}
