import { BlockList } from 'node:net';
import { type ConfigOf, commonKeys, configKey, peerKeys, readConfig, schemas } from '@wharf/service-kit';
import { z } from 'zod';
import { addRange } from './http/client-address.ts';

const isRange = (text: string) => {
  try {
    addRange(new BlockList(), text);
    return true;
  } catch {
    return false;
  }
};
const isOrigin = (text: string) => text === '*' || (URL.canParse(text) && new URL(text).origin === text);

export const gatewayConfig = {
  ...commonKeys,
  ...peerKeys,
  httpHost: configKey('WHARF_HTTP_HOST', schemas.text('127.0.0.1'), 'Address that the HTTP API listens on.'),
  httpPort: configKey('WHARF_HTTP_PORT', schemas.port(5244), 'Port of the HTTP API; 0 takes a free one.'),
  opsPort: configKey('WHARF_OPS_PORT', schemas.port(9090), 'Port of /healthz, /readyz and /metrics.'),
  siteUrl: configKey(
    'WHARF_SITE_URL',
    z
      .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
    'What the addresses that we hand out begin with. Without it the address of the request is used.',
  ),
  trustedProxies: configKey(
    'WHARF_TRUSTED_PROXIES',
    schemas.list.refine((list) => list.every(isRange), 'must be a comma-separated list of addresses and CIDRs'),
    'Comma-separated CIDRs whose X-Forwarded-* and X-Request-Id headers are believed.',
  ),
  corsOrigins: configKey(
    'WHARF_CORS_ORIGINS',
    schemas.list.refine((list) => list.every(isOrigin), 'must be a comma-separated list of origins such as https://files.example'),
    'Comma-separated origins that may call /api from a browser; `*` is every origin.',
  ),
  callsPerUser: configKey(
    'WHARF_CALLS_PER_USER',
    z.coerce.number('must be a number').int().min(1).default(64),
    'Requests of one user that a gateway answers at a time, transfers and streams of events apart; also of one address without a login.',
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
