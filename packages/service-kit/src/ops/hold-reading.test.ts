import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listenHttp } from './http-listener.ts';

const FLOODS = 60;
/** As much as Node reads of a connection at a time, in bytes. */
const PIECE_BYTES = 64 * 1024;
const HEAD = 'POST /flood HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const CHUNKS = Math.floor((PIECE_BYTES - HEAD.length) / '1\r\na\r\n'.length);

// Elsewhere there is one address of loopback.
it.runIf(process.platform === 'linux')(
  'who sends thousands of tiny chunks on many connections waits behind these, not the others',
  async () => {
    const begun: string[] = [];
    const counted: number[] = [];
    const listener = await listenHttp(
      async (request, response) => {
        begun.push(request.url ?? '');
        // At the end of the test connections may end in the middle of a body.
        const pieces = await Array.fromAsync(request).catch(() => []);
        if (request.url === '/flood') counted.push(Buffer.concat(pieces).length);
        response.end('done');
      },
      '127.0.0.1',
      0,
    );
    const sockets: Socket[] = [];
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      await listener.stop(0);
    });
    const connected = async (localAddress: string) => {
      const socket = createConnection({ port: listener.port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      await once(socket, 'connect');
      socket.setEncoding('utf8');
      return socket;
    };
    /** Asks once, so that the server knows the connection. */
    const asked = async (socket: Socket, path: string) => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await once(socket, 'data');
    };
    const floods: Socket[] = [];
    for (let index = 0; index < FLOODS; index += 1) floods.push(await connected('127.0.0.1'));
    for (const socket of floods) await asked(socket, '/before');
    const other = await connected('127.0.0.2');
    await asked(other, '/before');

    begun.length = 0;
    // All of it is there before the server reads any.
    for (const socket of floods) socket.write(HEAD + '1\r\na\r\n'.repeat(CHUNKS));
    await asked(other, '/other');
    expect(begun.indexOf('/other')).toBeLessThan(FLOODS / 2);

    // Nothing of the rest is lost.
    const answers = floods.map((socket) => once(socket, 'data'));
    for (const socket of floods) socket.write('0\r\n\r\n');
    await Promise.all(answers);
    expect(counted).toEqual(Array.from({ length: FLOODS }, () => CHUNKS));
  },
);
