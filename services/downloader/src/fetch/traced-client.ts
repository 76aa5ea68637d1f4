import type { GuardedClient } from '@wharf/egress';
import { inSpan, NO_TRACING, type Tracing } from '@wharf/service-kit';

/** A client whose requests are spans until the head of their answer. Of the address only the host is told: paths and queries sign links. */
export function tracedClient(client: GuardedClient, tracing: Tracing): GuardedClient {
  if (tracing === NO_TRACING) return client;
  return {
    request(request) {
      const { url, method = 'GET' } = request;
      const facts = { 'http.request.method': method, 'server.address': url.hostname, 'server.port': Number(url.port) || undefined };
      return inSpan(tracing, `${method} source`, { kind: 'client', facts }, async (span) => {
        const answer = await client.request(request);
        span?.tell({ 'http.response.status_code': answer.statusCode });
        return answer;
      });
    },
    close: () => client.close(),
  };
}
