import { request as open } from 'node:http';
import { startHttpServer } from '@wharf/harness';
import { pass } from './upload-proxy.ts';

/** A proxy before Wharf that loses one answer. */
export interface LosingProxy {
  readonly base: string;
  /** How many requests for the address came until now. */
  requests(): number;
  stop(): Promise<void>;
}

/**
 * @param target the address of a Wharf. @param path of the first request for this the answer is lost, with its connection, once Wharf has given it
 * @param meanwhile what happens between these two
 */
export async function startLosingProxy(target: string, path: string, meanwhile: () => Promise<void>): Promise<LosingProxy> {
  let requests = 0;
  const server = await startHttpServer(async (request, response) => {
    if (request.url === path) requests += 1;
    if (request.url !== path || requests > 1) return await pass(target, request, response);
    const { method, headers } = request;
    await new Promise<void>((resolve, reject) => {
      const onward = open(new URL(path, target), { method, headers }, (answer) => answer.resume().on('end', resolve));
      request.pipe(onward.on('error', reject));
    });
    await meanwhile();
    request.socket.destroy();
  });
  return { base: server.url, requests: () => requests, stop: () => server.stop() };
}
