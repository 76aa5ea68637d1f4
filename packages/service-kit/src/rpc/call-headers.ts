import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import type { InternalTokens } from '../identity/identity.ts';
import { TRACEPARENT } from '../telemetry/tracing.ts';
import { type Call, callFromTexts, callToTexts } from './call.ts';

/** Headers that only our own processes may send; the gateway drops whatever a client sends under this prefix. */
const PREFIX = 'wharf-';
/** The addresses that an answer hands out start with this. */
const SITE_URL = 'wharf-site-url';

const FROM_PROXY = 'wharf-from-proxy';

/** Answers requests for bytes in the process of the gateway: the call is handed over with the request. */
export type ByteServer = (...args: [...Parameters<RequestListener>, call: Omit<Call, 'signal'>]) => void;

/** What the data plane of fs is told with a request for bytes that comes from another process. */
type ForwardedCall = Omit<Call, 'signal'> & { readonly siteUrl: string };

/** The headers that carry a call to the HTTP data plane: the same ones that carry it over gRPC. */
export function callHeaders(tokens: InternalTokens, call: ForwardedCall): Record<string, string> {
  return { [SITE_URL]: call.siteUrl, ...(call.isFromProxy && { [FROM_PROXY]: 'yes' }), ...callToTexts(tokens, call) };
}

/**
 * Reads what callHeaders() wrote; undefined when the request did not come through a gateway, which always proves who it is.
 *
 * @throws AppError UNAUTHENTICATED: the proof is not valid
 */
export function readCallHeaders(
  tokens: InternalTokens,
  headers: IncomingHttpHeaders,
  signal: AbortSignal,
): (Call & { siteUrl: string }) | undefined {
  const text = (name: string) => textOf(headers[name]);
  const siteUrl = text(SITE_URL);
  if (siteUrl === undefined) return undefined;
  const call = callFromTexts(tokens, text, signal);
  const isFromProxy = text(FROM_PROXY) === 'yes';
  return call.identity === undefined ? undefined : { ...call, siteUrl, ...(isFromProxy && { isFromProxy }) };
}

/** Removes from a client's headers what only our own processes may say. */
export function dropCallHeaders(headers: IncomingHttpHeaders): void {
  for (const name of Object.keys(headers)) if (name.startsWith(PREFIX) || name === TRACEPARENT) delete headers[name];
}

const textOf = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined);
