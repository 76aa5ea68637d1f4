import { type ConfigOf, commonKeys, configKey, edgeKeys, egressKeys, peerKeys, readConfig, schemas, taskKeys } from '@wharf/service-kit';
import { z } from 'zod';
import { parseAccelFolder } from './data-plane/accel-redirect.ts';

const accelFolders = schemas.list.transform((list, issues) =>
  list.flatMap((text) => {
    const folder = parseAccelFolder(text);
    if (folder === undefined) issues.addIssue('must be a comma-separated list such as /srv/photos=/_photos');
    return folder ?? [];
  }),
);

export const fsConfig = {
  ...commonKeys,
  ...peerKeys,
  ...egressKeys,
  ...edgeKeys,
  ...taskKeys,
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50053), 'TCP port for gRPC; 0 takes a free one.'),
  httpPort: configKey(
    'WHARF_DATA_PORT',
    schemas.port(50063),
    'TCP port of the HTTP data plane (uploads and downloads); 0 takes a free one.',
  ),
  dataDir: configKey(
    'WHARF_DATA_DIR',
    schemas.optionalText,
    'Folder for what fs can make again, such as thumbnails, for uploads that wait as tasks, and for parts of files whose storages take whole ones only. Empty: none of that is kept, and contents whose size a storage must be told wait in the folder for temporary files.',
  ),
  waitingUploadBytes: configKey(
    'WHARF_WAITING_UPLOAD_BYTES',
    schemas.bytes(64 * 1024 ** 3),
    'Bytes that uploads which wait as tasks may take together in the data folder, and as much again parts of files whose storages take whole ones only. One user has three quarters of each at most.',
  ),
  uploadIdleHours: configKey(
    'WHARF_UPLOAD_IDLE_HOURS',
    z.coerce.number('must be a number of hours').int().min(1).max(47).default(24),
    'Hours after which an unfinished upload in parts is taken away that nobody goes on with, at most 47. Until then its room is held.',
  ),
  uploadsPerUser: configKey(
    'WHARF_UPLOADS_PER_USER',
    z.coerce.number('must be a number').int().min(1).default(1_000),
    'Unfinished uploads in parts that one user may have, and guests of one address a tenth of it.',
  ),
  uploadsOfAll: configKey(
    'WHARF_UPLOADS_OF_ALL',
    z.coerce.number('must be a number').int().min(1).default(20_000),
    'Unfinished uploads in parts that all users may have together.',
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
  siteUrl: configKey(
    'WHARF_SITE_URL',
    schemas.optionalUrl,
    'What the addresses in files of Strm storages begin with, where the storage names none.',
  ),
  dataSelfUrl: configKey(
    'WHARF_DATA_SELF_URL',
    schemas.optionalUrl,
    'Address of the data plane of this replica as other services reach it. Empty: they use WHARF_FS_DATA_URL.',
  ),
  accelRedirect: configKey(
    'WHARF_ACCEL_REDIRECT',
    accelFolders,
    'Comma-separated `<folder>=<location>`: downloads of files below this folder that come by one of WHARF_TRUSTED_PROXIES are answered with `X-Accel-Redirect` to the location, from which the proxy takes them by itself. Empty: Wharf sends all bytes.',
  ),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9093), 'TCP port of /healthz, /readyz and /metrics; 0 takes a free one.'),
} as const;

export type FsConfig = ConfigOf<typeof fsConfig>;

export const readFsConfig = (): FsConfig => readConfig(fsConfig, process.env);
