import { once } from 'node:events';
import { createServer, IncomingMessage, request as sendRequest } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { refusalOf } from '../domain/testing/refusal.ts';
import { BATCH_BYTES } from '../driver-contract/batches.ts';
import { bodyOf } from './body-of.ts';

it('a body that its client breaks off is a cancelled upload, after what came of it', async () => {
  const request = new IncomingMessage(new Socket());
  const body = bodyOf(request);
  const first = body.next();
  request.push('begun');
  request.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  expect((await first).value?.toString()).toBe('begun');
  expect(await refusalOf(body.next())).toEqual(['CANCELLED', 'the upload was cancelled']);
});

const SIZES = [0, 1, 10_240, 65_537, BATCH_BYTES - 1, BATCH_BYTES, BATCH_BYTES + 1, 5 * BATCH_BYTES + 77];

it.each(SIZES.flatMap((sizeBytes) => [true, false].map((isAnnounced) => ({ sizeBytes, isAnnounced }))))(
  '$sizeBytes bytes, announced: $isAnnounced, come as they were sent, in as few pieces as there may be',
  async ({ sizeBytes, isAnnounced }) => {
    const sent = Buffer.from(Uint8Array.from({ length: sizeBytes }, (_, index) => (index * 31 + (index >> 8)) % 251));
    const taken: Buffer[] = [];
    const server = createServer(async (request, response) => {
      for await (const piece of bodyOf(request)) {
        taken.push(Buffer.from(piece));
        // What is lent stays as it is until the next is asked for, while more of the body comes.
        await new Promise((resolve) => setImmediate(resolve));
        if (!taken.at(-1)?.equals(piece)) response.statusCode = 500;
      }
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const headers = isAnnounced ? { 'Content-Length': sizeBytes } : {};
      const request = sendRequest({ host: '127.0.0.1', port, method: 'PUT', headers });
      Readable.from(isAnnounced || sizeBytes > 0 ? [sent] : [], { objectMode: false }).pipe(request);
      const [answer] = await once(request, 'response');
      await buffer(answer);
      expect(answer.statusCode).toBe(200);
      expect(Buffer.concat(taken).equals(sent)).toBe(true);
      expect(taken).toHaveLength(Math.ceil(sizeBytes / BATCH_BYTES));
    } finally {
      server.close();
    }
  },
);
