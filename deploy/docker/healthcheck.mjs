// Whether the service of this image is ready: ends with 0 or 1.

import { realpathSync } from 'node:fs';
import { get } from 'node:http';

/** Where each service says so unless its environment says otherwise. Standalone has no ops port by itself. */
const OPS_PORTS = { 'api-gateway': 9090, auth: 9091, admin: 9092, fs: 9093, downloader: 9094 };

const [, service] = /\/services\/([^/]+)\//.exec(realpathSync('main.ts'));
const opsPort = process.env.WHARF_OPS_PORT || OPS_PORTS[service];
const url = opsPort ? `http://127.0.0.1:${opsPort}/readyz` : `http://127.0.0.1:${process.env.WHARF_HTTP_PORT || 5244}/ping`;
get(url, { timeout: 4_000 }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1));
