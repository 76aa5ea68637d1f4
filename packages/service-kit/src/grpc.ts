export { createGrpcPeer, type GrpcPeer } from './rpc/grpc-client.ts';
export { createGrpcPeers } from './rpc/grpc-peers.ts';
export { type GrpcServer, startGrpcServer } from './rpc/grpc-server.ts';
