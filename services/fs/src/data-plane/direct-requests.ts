import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import {
  type Call,
  clientOf,
  createCors,
  createTrustedProxies,
  hopsOf,
  INSTALLATION_HEADER,
  identify,
  isTusPath,
  preflightDownload,
  refusalOfHops,
  requestIdOf,
} from '@wharf/service-kit';
import { drain, refuseDownload } from './refusal.ts';

/** What clients find who reach us without a gateway, as by an ingress that sends bytes straight here: what they would find at the gateway. */
export interface DirectRequests {
  /** The call of a request, whose caller is not established. */
  callOf(request: IncomingMessage, signal: AbortSignal): Call;
  /**
   * Tells what the gateway tells with each answer, and answers what is not about a file.
   *
   * @returns whether it is answered. @throws AppError CIRCULAR_MOUNT
   */
  answer(request: IncomingMessage, response: ServerResponse, asked: { readonly path: string; readonly call: Call }): Promise<boolean>;
}

/** @param installation whose gateways and fs these are. @param trustedProxies and @param corsOrigins as the gateway has them */
export function createDirectRequests(
  installation: string,
  { trustedProxies, corsOrigins }: { readonly trustedProxies: readonly string[]; readonly corsOrigins: readonly string[] },
): DirectRequests {
  const proxies = createTrustedProxies(trustedProxies);
  const cors = createCors(corsOrigins);

  const answerDownload = async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (request.method === 'GET' || request.method === 'HEAD') return false;
    if (request.method === 'OPTIONS') preflightDownload(response);
    else {
      await drain(request);
      refuseDownload(request, response, new AppError('UNSUPPORTED_OPERATION', 'this address is only read'), 405);
    }
    return true;
  };
  const answerUpload = (request: IncomingMessage, response: ServerResponse, path: string): boolean => {
    cors.allow(request, response);
    // By tus it asks what we can do, unless a browser asks what a page may.
    const isPreflight = !isTusPath(path) || request.headers['access-control-request-method'] !== undefined;
    if (request.method !== 'OPTIONS' || !isPreflight) return false;
    cors.preflight(request, response);
    return true;
  };

  return {
    callOf: (request, signal) => ({
      identity: undefined,
      requestId: requestIdOf(request, proxies),
      revisions: { auth: 0, admin: 0 },
      ...clientOf(proxies, request),
      signal,
    }),
    async answer(request, response, { path, call }) {
      identify(response, call.requestId);
      const hops = hopsOf(request);
      if (hops.length > 0) response.setHeader(INSTALLATION_HEADER, installation);
      const refusal = refusalOfHops(installation, hops);
      if (refusal) throw refusal;
      if (path.startsWith('/d/') || path.startsWith('/p/')) return answerDownload(request, response);
      return path.startsWith('/api/fs/') ? answerUpload(request, response, path) : false;
    },
  };
}
