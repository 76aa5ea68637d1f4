import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { LONG_TEXT_LETTERS, NO_TRACING } from '@wharf/service-kit';
import { expect, it } from 'vitest';
import { createDataPlane, type DataPlaneOptions } from './data-plane.ts';

it.each(['file-path', 'upload-metadata'])('of requests with a long text in %s one goes on in each turn of the event loop', async (name) => {
  const options = { context: {}, kit: { tracing: NO_TRACING }, transfers: { begin: () => undefined } };
  const plane = createDataPlane(options as unknown as DataPlaneOptions);
  const call = { requestId: '', revisions: { auth: 0, admin: 0 }, identity: undefined };
  let ended = 0;
  const ask = (text: string) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { url: '/api/fs/tus', method: 'OPTIONS', headers: { [name]: text } });
    const response = new ServerResponse(request);
    response.end = () => {
      ended += 1;
      return response;
    };
    plane.serve(request, response, call as never);
  };
  const counts: number[] = [];
  for (let index = 0; index < 3; index += 1) ask('a'.repeat(LONG_TEXT_LETTERS + 1));
  for (let turn = 0; turn < 10; turn += 1) {
    await setImmediate();
    counts.push(ended);
  }
  expect(counts[0]).toBeLessThan(2);
  expect(counts.at(-1)).toBe(3);
});
