import { type ConfigOf, commonKeys, configKey, egressKeys, peerKeys, readConfig, schemas, taskKeys } from '@wharf/service-kit';
import { z } from 'zod';

const bytes = z.coerce.number('must be a number of bytes').int().min(0).default(0);
const MAX_CONNECTIONS = 16;

/** What has the same meaning in a process of its own and in one with all services. */
export const downloadKeys = {
  egressAllow: egressKeys.egressAllow,
  scratchMaxBytes: configKey(
    'WHARF_SCRATCH_MAX_BYTES',
    bytes,
    'Bytes that files may take in the scratch folder together; 0 is what the disk has. Downloads that find no room wait for it.',
  ),
  downloadConnections: configKey(
    'WHARF_DOWNLOAD_CONNECTIONS',
    z.coerce.number('must be a number').int().min(1).max(MAX_CONNECTIONS).default(8),
    'Connections for one file, 1 to 16, where its server allows ranges.',
  ),
  downloadRate: configKey('WHARF_DOWNLOAD_RATE', bytes, 'Bytes a second for all downloads of a replica together; 0 is no limit.'),
  downloadTaskRate: configKey('WHARF_DOWNLOAD_TASK_RATE', bytes, 'Bytes a second for one download; 0 is no limit.'),
  downloadMaxBytes: configKey('WHARF_DOWNLOAD_MAX_BYTES', bytes, 'The biggest file that is fetched, in bytes; 0 is no limit.'),
  downloadsPerTool: configKey(
    'WHARF_DOWNLOADS_PER_TOOL',
    z.coerce.number('must be a number').int().min(0).default(0),
    'Downloads of one tool that a replica works on at a time; 0 is no limit of its own for SimpleHttp, and 64 for each of the others.',
  ),
  egressProxyPort: configKey(
    'WHARF_EGRESS_PROXY_PORT',
    schemas.port(0),
    'Port of the proxy that aria2 fetches through, on WHARF_BIND; 0 takes a free one.',
  ),
  egressProxyUrl: configKey(
    'WHARF_EGRESS_PROXY_URL',
    schemas.optionalUrl,
    'Address of that proxy as aria2 reaches it; each replica has its own. Empty: aria2 runs on this machine.',
  ),
  toolsDir: configKey(
    'WHARF_TOOLS_DIR',
    schemas.optionalText,
    'Folder that aria2, qBittorrent and Transmission download into. They and every downloader see it under this path. Empty: `downloads` in the data folder, else in the folder for temporary files.',
  ),
  downloadsPerUser: configKey(
    'WHARF_DOWNLOADS_PER_USER',
    z.coerce.number('must be a number').int().min(0).default(0),
    'Downloads of one user that a replica works on at a time; 0 is all places of a tool but one, which is for others (at least one).',
  ),
} as const;

export const downloaderConfig = {
  ...commonKeys,
  ...peerKeys,
  ...egressKeys,
  ...downloadKeys,
  ...taskKeys,
  fsDataUrl: configKey(
    'WHARF_FS_DATA_URL',
    z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' }).default('http://127.0.0.1:50063'),
    'Address of the data plane of fs, to which the bytes of downloads go.',
  ),
  dataDir: configKey(
    'WHARF_DATA_DIR',
    schemas.optionalText,
    'Data folder of Wharf, where that is on this machine: files that wait, and what tools download, leave a reserve on its disk. Empty: they take what theirs has.',
  ),
  scratchDir: configKey(
    'WHARF_SCRATCH_DIR',
    schemas.optionalText,
    'Folder for files whose storage takes only whole ones; shared by the replicas, another one can go on. Empty: one in the folder for temporary files, which must be our own.',
  ),
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50054), 'TCP port for gRPC; 0 takes a free one.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9094), 'TCP port of /healthz, /readyz and /metrics; 0 takes a free one.'),
} as const;

export type DownloaderConfig = ConfigOf<typeof downloaderConfig>;

export const readDownloaderConfig = (): DownloaderConfig => readConfig(downloaderConfig, process.env);
