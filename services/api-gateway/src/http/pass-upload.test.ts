import { Agent, request as ask, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Duplex, PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createPassUpload, passPiped } from './pass-upload.ts';

/** Pieces of one byte, of which there is room for half a million by their bytes alone. */
const PIECES = 2_000;

/** Its connections take nothing. */
class StuckAgent extends Agent {
  override createConnection(): Duplex {
    const socket = new Duplex({ read() {}, write() {} });
    onTestFinished(() => void socket.destroy());
    return socket;
  }
}

const passPlainly = (request: IncomingMessage, agent: Agent) =>
  createPassUpload('http://127.0.0.1:1', agent)(request, new PassThrough() as unknown as ServerResponse, () => {});
const passByProxy = (request: IncomingMessage, agent: Agent) => {
  const outgoing: ClientRequest = ask({ agent, method: 'PUT', headers: { 'Transfer-Encoding': 'chunked' } });
  outgoing.on('error', () => {});
  passPiped(request);
  request.pipe(outgoing);
};

it.each([
  ['with a length', passPlainly],
  ['by a proxy', passByProxy],
])('a body %s that comes byte by byte waits at its client when the data plane takes nothing', async (_how, pass) => {
  const body = new PassThrough();
  pass(Object.assign(body, { method: 'PUT', url: '/', headers: {} }) as unknown as IncomingMessage, new StuckAgent());
  let taken = 0;
  for (; taken < PIECES && !body.isPaused(); taken += 1) {
    body.write('a');
    await setImmediate();
  }
  expect(taken).toBeLessThan(PIECES);
});
