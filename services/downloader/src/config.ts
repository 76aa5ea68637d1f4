import { type ConfigOf, commonKeys, configKey, peerKeys, readConfig, schemas } from '@wharf/service-kit';

export const downloaderConfig = {
  ...commonKeys,
  ...peerKeys,
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50054), 'TCP port for gRPC; 0 takes a free one.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9094), 'TCP port of /healthz, /readyz and /metrics; 0 takes a free one.'),
} as const;

export type DownloaderConfig = ConfigOf<typeof downloaderConfig>;

export const readDownloaderConfig = (): DownloaderConfig => readConfig(downloaderConfig, process.env);
