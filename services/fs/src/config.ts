import { type ConfigOf, commonKeys, configKey, peerKeys, readConfig, schemas } from '@wharf/service-kit';
import { z } from 'zod';

export const fsConfig = {
  ...commonKeys,
  ...peerKeys,
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50053), 'TCP port for gRPC; 0 takes a free one.'),
  httpPort: configKey(
    'WHARF_DATA_PORT',
    schemas.port(50063),
    'TCP port of the HTTP data plane (uploads and downloads); 0 takes a free one.',
  ),
  dataDir: configKey(
    'WHARF_DATA_DIR',
    schemas.optionalText,
    'Folder for what fs can make again, such as thumbnails, and for uploads that wait as tasks. Empty: none of that is kept.',
  ),
  waitingUploadBytes: configKey(
    'WHARF_WAITING_UPLOAD_BYTES',
    schemas.bytes(64 * 1024 ** 3),
    'Bytes that uploads which wait as tasks may take together in the data folder.',
  ),
  uploadIdleHours: configKey(
    'WHARF_UPLOAD_IDLE_HOURS',
    z.coerce.number('must be a number of hours').int().min(1).max(47).default(24),
    'Hours after which an unfinished upload in parts is taken away that nobody goes on with, at most 47. Until then its room is held.',
  ),
  filesDir: configKey(
    'WHARF_FILES_DIR',
    schemas.optionalText,
    'A folder that storages may show although it lies in the data folder. Empty: only `files` there.',
  ),
  searchDir: configKey(
    'WHARF_SEARCH_DIR',
    schemas.optionalText,
    'Folder of the search index, only where a single fs runs. Empty: the index is in the store and shared by all replicas.',
  ),
  dataSelfUrl: configKey(
    'WHARF_DATA_SELF_URL',
    schemas.optionalUrl,
    'Address of the data plane of this replica as other services reach it. Empty: they use WHARF_FS_DATA_URL.',
  ),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9093), 'TCP port of /healthz, /readyz and /metrics; 0 takes a free one.'),
} as const;

export type FsConfig = ConfigOf<typeof fsConfig>;

export const readFsConfig = (): FsConfig => readConfig(fsConfig, process.env);
