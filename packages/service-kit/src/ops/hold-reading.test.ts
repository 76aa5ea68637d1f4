import { once } from 'node:events';
import { IncomingMessage, Server } from 'node:http';
import { createConnection, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { holdReading } from './hold-reading.ts';
import { listenHttp } from './http-listener.ts';

const FLOODS = 60;
/** Addresses in the place of one that has them all. */
const ADDRESSES = 30;
/** As much as Node reads of a connection at a time, in bytes. */
const PIECE_BYTES = 64 * 1024;
const HEAD = 'POST /flood HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
/** Pieces of that size, one after the other, that each connection sends. */
const ROUNDS = 3;
const CHUNKS = Math.floor((PIECE_BYTES - HEAD.length) / '1\r\na\r\n'.length);

// Elsewhere there is one address of loopback.
describe.runIf(process.platform === 'linux')('many connections that send thousands of tiny chunks', () => {
  it('from one address wait behind these, not the others', async () => {
    const { begun, counted, connected } = await listen();
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
  });

  it('from many addresses, and go on sending, keep those waiting that send none no longer than until they are known', async () => {
    const { read, counted, connected } = await listen();
    const known = await connected('127.0.0.2');
    await asked(known, '/before');
    const floods: Socket[] = [];
    for (let index = 0; index < ADDRESSES; index += 1) {
      const socket = await connected(`127.0.1.${index + 1}`);
      await asked(socket, '/before');
      floods.push(socket);
    }
    for (const socket of floods) socket.write(HEAD + '1\r\na\r\n'.repeat(ROUNDS * CHUNKS));
    await Promise.all([asked(known, '/known'), connected('127.0.0.3').then((fresh) => asked(fresh, '/fresh'))]);
    for (let index = 0; index < 5; index += 1) await asked(known, '/again');
    expect(read()).toBeLessThan(ADDRESSES * CHUNKS);

    const answers = floods.map((socket) => once(socket, 'data'));
    for (const socket of floods) socket.write('0\r\n\r\n');
    await Promise.all(answers);
    expect(counted).toEqual(Array.from({ length: ADDRESSES }, () => ROUNDS * CHUNKS));
  });
});

// Elsewhere there is one address of loopback.
it.runIf(process.platform === 'linux').each([
  ['one behind the other', Math.floor(PIECE_BYTES / 1_400), `${'a:b\r\n'.repeat(190)}`],
  ['short ones', 1, ''],
  ['large ones', 1, `a: ${'b'.repeat(28_000)}\r\n`],
])('many connections that send heads at once, %s, are read in turns with others', async (_how, count, headers) => {
  const { begun, connected } = await listen();
  const floods: Socket[] = [];
  for (let index = 0; index < 3 * FLOODS; index += 1) floods.push((await connected('127.0.0.1')).on('error', () => undefined));
  const other = await connected('127.0.0.2');
  await asked(other, '/before');
  // All of it is there before the server reads any.
  for (const [index, socket] of floods.entries()) socket.write(`GET /${index} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`.repeat(count));
  await asked(other, '/other');
  expect(new Set(begun.slice(0, begun.indexOf('/other'))).size).toBeLessThan(2.5 * FLOODS);
});

it('one whose turn has come keeps it, and the next one has its own, also where others flood in each turn', async () => {
  const server = new Server();
  const { ofAll } = holdReading(server)(new IncomingMessage(new Socket()));
  const handles = ['first', 'second'].map(() => {
    const handle = { reading: true, bytesRead: 0, readStop: () => undefined, readStart: () => undefined };
    server.emit('connection', Object.assign(new Socket(), { _handle: handle }));
    return handle;
  });
  const seen: boolean[][] = [];
  for (let turn = 0; turn < 30; turn += 1) {
    ofAll();
    seen.push(handles.map(({ reading }) => reading));
    await setImmediate();
  }
  expect(seen[0]).toEqual([false, false]);
  expect(seen).toContainEqual([true, false]);
  expect(seen).toContainEqual([false, true]);
});

async function listen() {
  const begun: string[] = [];
  const counted: number[] = [];
  let readBytes = 0;
  const listener = await listenHttp(
    async (request, response) => {
      begun.push(request.url ?? '');
      let bytes = 0;
      // At the end of the test connections may end in the middle of a body.
      request
        .on('error', () => undefined)
        .on('data', (piece: Buffer) => {
          bytes += piece.length;
          readBytes += piece.length;
        });
      await once(request, 'end').catch(() => undefined);
      if (request.url === '/flood') counted.push(bytes);
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
  /** @returns the bytes of bodies that were read so far */
  const read = () => readBytes;
  return { begun, counted, read, connected };
}

async function asked(socket: Socket, path: string): Promise<void> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await once(socket, 'data');
}
