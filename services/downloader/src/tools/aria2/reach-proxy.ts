import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { wrongSetup } from '../probe-folder.ts';
import type { ToolProxy } from '../tool-proxy.ts';
import type { Aria2Client } from './aria2-client.ts';
import { throughProxy } from './aria2-tool.ts';

const statusShape = z.object({ status: z.string(), errorMessage: z.string().optional() });
const LOOK_MS = 100;
const CONNECT_SECONDS = 5;

/**
 * Has aria2 ask our proxy for a host that is nowhere. One that is busy with other downloads is not waited for.
 *
 * @throws AppError FAILED_PRECONDITION: aria2 tried, and did not come | anything else: it could not be found out
 */
export async function requireProxyReached(client: Aria2Client, proxy: ToolProxy, signal: AbortSignal): Promise<void> {
  const visit = proxy.expectVisit();
  const options = {
    ...throughProxy(proxy),
    ...{ 'dry-run': 'true', 'max-tries': '1', 'connect-timeout': String(CONNECT_SECONDS), timeout: String(CONNECT_SECONDS) },
  };
  let id: string | undefined;
  try {
    id = z.string().parse(await client.call('aria2.addUri', [[`http://${visit.host}/`], options], { signal }));
    for (;;) {
      const { status, errorMessage = '' } = statusShape.parse(
        await client.call('aria2.tellStatus', [id, ['status', 'errorMessage']], { signal }),
      );
      if (visit.hasCome()) return;
      if (status === 'error')
        throw wrongSetup(
          `aria2 does not reach the proxy of the downloader at ${proxy.url} (WHARF_EGRESS_PROXY_URL): ${errorMessage.slice(0, 200)}`,
        );
      if (status !== 'active') return;
      await delay(LOOK_MS, undefined, { signal });
    }
  } finally {
    visit.forget();
    if (id !== undefined) {
      await client.call('aria2.forceRemove', [id]).catch(() => undefined);
      await client.call('aria2.removeDownloadResult', [id]).catch(() => undefined);
    }
  }
}
