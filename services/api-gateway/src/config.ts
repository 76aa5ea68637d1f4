import { withoutEnd } from '@wharf/pace';
import { type ConfigOf, commonKeys, configKey, edgeKeys, peerKeys, readConfig, schemas } from '@wharf/service-kit';
import { z } from 'zod';

export const gatewayConfig = {
  ...commonKeys,
  ...peerKeys,
  ...edgeKeys,
  httpHost: configKey('WHARF_HTTP_HOST', schemas.text('127.0.0.1'), 'Address that the HTTP API listens on.'),
  httpPort: configKey('WHARF_HTTP_PORT', schemas.port(5244), 'Port of the HTTP API; 0 takes a free one.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9090), 'Port of /healthz, /readyz and /metrics.'),
  siteUrl: configKey(
    'WHARF_SITE_URL',
    z
      .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
      .transform((url) => withoutEnd(url, '/'))
      .optional(),
    'What the addresses that we hand out begin with. Without it the address of the request is used.',
  ),
  callsPerUser: configKey(
    'WHARF_CALLS_PER_USER',
    z.coerce.number('must be a number').int().min(1).default(64),
    'Requests of one user that a gateway answers at a time, transfers (with all calls of uploads in parts) and streams of events apart; also of one address without a login.',
  ),
  connectionsPerAddress: configKey(
    'WHARF_CONNECTIONS_PER_ADDRESS',
    z.coerce.number('must be a number').int().min(1).default(4_000),
    'Connections of one address (of IPv6: one network, /64) that the port of the HTTP API takes at a time, never more than half of all; proxies of `WHARF_TRUSTED_PROXIES` are not counted.',
  ),
  webDir: configKey(
    'WHARF_WEB_DIR',
    schemas.optionalText,
    'Folder of the built web page, which may come while Wharf runs. Empty: there is none.',
  ),
  fsDataUrl: configKey(
    'WHARF_FS_DATA_URL',
    z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' }).default('http://127.0.0.1:50063'),
    'Address of the data plane of fs, to which requests for bytes are passed on.',
  ),
} as const;

export type GatewayConfig = ConfigOf<typeof gatewayConfig>;

export const readGatewayConfig = (): GatewayConfig => readConfig(gatewayConfig, process.env);
