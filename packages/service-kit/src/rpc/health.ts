import { type CallContext, ServerError, Status } from 'nice-grpc-common';
import { HealthDefinition } from 'nice-grpc-server-health';

export { HealthDefinition };

/** Values of grpc.health.v1.HealthCheckResponse.ServingStatus. */
const SERVING = 1;
const NOT_SERVING = 2;
/** How often watchers are looked after, in milliseconds. */
const WATCH_INTERVAL_MS = 1_000;
/** Watchers at a time: whoever reaches the port may watch, for as long as the server runs. @internal exported for its test */
export const MAX_WATCHERS = 100;

/** gRPC's standard health service over the real readiness of this process. All watchers share one timer. */
export function healthImplementation(isReady: () => boolean) {
  const status = () => ({ status: isReady() ? SERVING : NOT_SERVING });
  const wakes = new Set<() => void>();
  let watchers = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    for (const wake of wakes) wake();
  };
  const nextLook = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const wake = () => {
        wakes.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      wakes.add(wake);
      signal.addEventListener('abort', wake);
    });
  return {
    check: async () => status(),
    async *watch(_request: unknown, { signal }: Pick<CallContext, 'signal'>) {
      if (watchers >= MAX_WATCHERS) throw new ServerError(Status.RESOURCE_EXHAUSTED, `no more than ${MAX_WATCHERS} watch at a time`);
      watchers += 1;
      timer ??= setInterval(look, WATCH_INTERVAL_MS).unref();
      try {
        let last: number | undefined;
        while (!signal.aborted) {
          const now = status();
          if (now.status !== last) yield now;
          last = now.status;
          if (!signal.aborted) await nextLook(signal);
        }
      } finally {
        watchers -= 1;
        if (watchers === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },
  };
}
