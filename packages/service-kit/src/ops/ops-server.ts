import type { RequestListener } from 'node:http';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { knownMetrics } from './known-metrics.ts';
import { gauge } from './metrics.ts';
import type { Readiness } from './readiness.ts';

/**
 * `/healthz`: the event loop turns. `/readyz`: everything needed works, else 503 with the names of what does not. `/metrics`: Prometheus text, which costs
 * milliseconds: whoever asks while it is made has the same.
 */
export function opsHandler(readiness: Readiness, metrics: Registry): RequestListener {
  // Measuring the process costs something too: only where somebody can ask.
  collectDefaultMetrics({ register: metrics });
  gauge(metrics, 'wharf_part_working', (parts) => {
    for (const [part, isWorking] of readiness.parts()) parts.set({ part }, isWorking ? 1 : 0);
  });
  let shared: Promise<string> | undefined;
  const known = () => {
    shared ??= knownMetrics(metrics).finally(() => {
      shared = undefined;
    });
    return shared;
  };
  return (request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'Content-Type': type }).end(text);
    switch (request.url) {
      case '/healthz':
        return void answer(200, 'ok\n');
      case '/readyz': {
        const missing = readiness.missing();
        return void (missing.length === 0 ? answer(200, 'ready\n') : answer(503, `not ready: ${missing.join(', ')}\n`));
      }
      case '/metrics':
        return void known().then((text) => answer(200, text, metrics.contentType));
      default:
        return void answer(404, 'not found\n');
    }
  };
}
