import { join } from 'node:path';
import { adminConfig } from '@wharf/admin/config';
import { gatewayConfig } from '@wharf/api-gateway/config';
import { authConfig } from '@wharf/auth/config';
import { downloadKeys } from '@wharf/downloader/config';
import { fsConfig } from '@wharf/fs/config';
import { type ConfigOf, commonKeys, configKey, readConfig, Secret, schemas, taskKeys } from '@wharf/service-kit';
import { z } from 'zod';

const { httpHost, httpPort, siteUrl, trustedProxies, corsOrigins, callsPerUser, connectionsPerAddress, webDir } = gatewayConfig;
const { adminPassword, tokenHours } = authConfig;
const { accelRedirect, uploadIdleHours, uploadsPerUser, uploadsOfAll, waitingUploadBytes } = fsConfig;
const { mongoUrl, natsUrl, bind, logLevel, otlpEndpoint } = commonKeys;

/** The variables of all services in one process; what they need to find each other falls away. */
export const standaloneConfig = {
  httpHost,
  httpPort,
  siteUrl,
  trustedProxies,
  corsOrigins,
  callsPerUser,
  connectionsPerAddress,
  webDir,
  adminPassword,
  tokenHours,
  mongoUrl,
  natsUrl,
  bind,
  logLevel,
  otlpEndpoint,
  filesDir: {
    ...adminConfig.filesDir,
    description: 'Folder that is mounted at /local on a first start. Empty: `files` in the data folder.',
  },
  dataDir: configKey('WHARF_DATA_DIR', schemas.text('./data'), 'Folder for everything Wharf keeps; made with mode 0700.'),
  secret: configKey(
    'WHARF_SECRET',
    z
      .string()
      .min(32, 'must be at least 32 bytes')
      .transform((text) => new Secret(text))
      .optional(),
    'The secret that all keys are derived from. Empty: one is made at the first start and kept in the data folder.',
    { mayBeInFile: true },
  ),
  accelRedirect,
  uploadIdleHours,
  uploadsPerUser,
  uploadsOfAll,
  waitingUploadBytes,
  ...downloadKeys,
  ...taskKeys,
  opsPort: configKey('WHARF_OPS_PORT', schemas.optionalPort, 'Port of /healthz, /readyz and /metrics. Empty: none.'),
} as const;

export type StandaloneConfig = ConfigOf<typeof standaloneConfig>;

export function readStandaloneConfig(): StandaloneConfig & { readonly filesDir: string; readonly argv: readonly string[] } {
  const config = readConfig(standaloneConfig, process.env);
  return { ...config, argv: process.argv.slice(2), filesDir: config.filesDir ?? join(config.dataDir, 'files') };
}
