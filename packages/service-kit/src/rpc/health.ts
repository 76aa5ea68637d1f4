import type { CallContext } from 'nice-grpc-common';
import { HealthDefinition } from 'nice-grpc-server-health';

export { HealthDefinition };

/** Values of grpc.health.v1.HealthCheckResponse.ServingStatus. */
const SERVING = 1;
const NOT_SERVING = 2;
/** How often a watcher is looked after, in milliseconds. */
const WATCH_INTERVAL_MS = 1_000;

/** gRPC's standard health service over the real readiness of this process. */
export function healthImplementation(isReady: () => boolean) {
  const status = () => ({ status: isReady() ? SERVING : NOT_SERVING });
  return {
    check: async () => status(),
    async *watch(_request: unknown, context: CallContext) {
      let last: number | undefined;
      while (!context.signal.aborted) {
        const now = status();
        if (now.status !== last) yield now;
        last = now.status;
        await pause(context.signal);
      }
    },
  };
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, WATCH_INTERVAL_MS);
    signal.addEventListener('abort', done);
  });
}
