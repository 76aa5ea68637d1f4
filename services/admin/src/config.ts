import { type ConfigOf, commonKeys, configKey, peerKeys, readConfig, schemas } from '@wharf/service-kit';
import type { FolderMount } from './domain/first-storage.ts';

/** Every environment variable of the admin service. */
export const adminConfig = {
  ...commonKeys,
  ...peerKeys,
  grpcPort: configKey('WHARF_GRPC_PORT', schemas.port(50_052), 'Port of the gRPC server.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9_092), 'Port of /healthz, /readyz and /metrics.'),
  filesDir: configKey(
    'WHARF_FILES_DIR',
    schemas.optionalText,
    'Folder that is mounted at /local on a first start with no storage configured. Empty: none.',
  ),
} as const;

/** What the service itself needs of its configuration; the rest is for its process. */
export type AdminConfig = Partial<Pick<ConfigOf<typeof adminConfig>, 'filesDir'>> & {
  /** Folders of this machine that are to be storages, when they are not yet. */
  readonly mounts?: readonly FolderMount[];
};

export const readAdminConfig = () => readConfig(adminConfig, process.env);
