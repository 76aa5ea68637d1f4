import { BlockList } from 'node:net';
import { addRange } from '../http/client-address.ts';
import { configKey, schemas } from './config.ts';

const isRange = (text: string) => {
  try {
    addRange(new BlockList(), text);
    return true;
  } catch {
    return false;
  }
};
const isOrigin = (text: string) => text === '*' || (URL.canParse(text) && new URL(text).origin === text);

/** Of services that clients reach, maybe by proxies. */
export const edgeKeys = {
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
} as const;
