import type { Logger } from '../ops/logger.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

/**
 * Traces of this process, to an OpenTelemetry collector. The variables of OpenTelemetry (`OTEL_*`) say how they are sent, and which of them.
 *
 * @param service `service.name` is `wharf-<service>`. @param endpoint undefined: there are none, and nothing is loaded
 */
export async function openTracing(service: string, endpoint: string | undefined, logger: Logger): Promise<Tracing> {
  if (endpoint === undefined) return NO_TRACING;
  const { startTracing } = await import('./otel-tracing.ts');
  return startTracing(service === 'wharf' ? service : `wharf-${service}`, logger);
}
