import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** They concern only two ends of one connection (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/** The headers that are passed on. */
export function passedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = { ...headers };
  for (const name of HOP_BY_HOP) delete passed[name];
  return passed;
}
