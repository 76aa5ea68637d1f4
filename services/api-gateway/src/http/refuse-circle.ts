import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AppError, ERROR_CODES } from '@wharf/errors';
import { failureEnvelope, hopsOf, INSTALLATION_HEADER, nameError, refusalOfHops } from '@wharf/service-kit';
import { beforeRefusal, sendJson, sendText } from './send-answer.ts';

/**
 * Refuses a request that has come through this very installation, or through more gateways than may stand behind each other. One that comes from
 * a gateway is told whose the answer is.
 *
 * @returns undefined: it goes on
 */
export function refuseCircle(installation: string, request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
  const hops = hopsOf(request);
  if (hops.length === 0) return undefined;
  response.setHeader(INSTALLATION_HEADER, installation);
  const error = refusalOfHops(installation, hops);
  return error && refuse(error, request, response);
}

async function refuse(error: AppError, request: IncomingMessage, response: ServerResponse): Promise<void> {
  nameError(response, error);
  if (!(await beforeRefusal(request, response))) return;
  if (request.url?.startsWith('/api')) sendJson(response, JSON.stringify(failureEnvelope(error)));
  else sendText(response, ERROR_CODES[error.code].http, `${error.message}\n`);
}
