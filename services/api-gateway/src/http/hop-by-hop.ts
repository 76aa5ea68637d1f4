import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** They concern only two ends of one connection (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/** What a proxy needs that frames a body itself. */
const OF_FRAMING: ReadonlySet<string> = new Set(['connection', 'transfer-encoding']);

/**
 * Leaves of a client's headers what a proxy may copy. Node's client throws for some others once it writes its head, where nobody catches it: a `Trailer`
 * needs a chunked body. `Expect` has been answered by our server.
 */
export function dropHopHeaders(headers: IncomingHttpHeaders): void {
  delete headers['expect'];
  for (const name of HOP_BY_HOP) if (!OF_FRAMING.has(name)) delete headers[name];
}

const IS_HOP_BY_HOP: ReadonlySet<string> = new Set(HOP_BY_HOP);

/** The headers that are passed on. */
export function passedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {};
  // One of which something is deleted is slow to all who use it afterwards.
  for (const name of Object.keys(headers)) if (!IS_HOP_BY_HOP.has(name)) passed[name] = headers[name];
  return passed;
}
