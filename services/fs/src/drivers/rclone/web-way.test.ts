import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { openWebWay } from './web-way.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A proxy by which there is a server that answers `head` whatever it is asked. */
async function openWayTo(head: string) {
  const server = net.createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.write(head)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const way = await openWebWay(async () => net.connect(port, '127.0.0.1'));
  closing.push(
    () => way.close(),
    () => server.close(),
  );
  return way;
}

/** Asks a server that answers `head`, by the proxy. */
async function answered(head: string): Promise<{ status: number | undefined; body: string }> {
  const way = await openWayTo(head);
  const request = http.get({ host: '127.0.0.1', port: way.port, path: 'http://server.example.org/x' });
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

describe('the proxy by which rclone reaches servers that speak HTTP', () => {
  it('passes answers on', async () => {
    expect(await answered('HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello')).toEqual({ status: 404, body: 'hello' });
  });

  it.each(['099', '000', '101'])('answers for a server whose status is none that can be passed on: %s', async (status) => {
    expect(await answered(`HTTP/1.1 ${status} x\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 0\r\n\r\n`)).toEqual({
      status: 502,
      body: '',
    });
  });

  it('passes on no answer of a server that says more and more before it', async () => {
    const head = `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(21)}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello`;
    expect(await answered(head)).toEqual({ status: 502, body: '' });
  });

  it('puts pieces of one byte together', async () => {
    const head = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}0\r\n\r\n`;
    const way = await openWayTo(head);
    const client = net.connect(way.port, '127.0.0.1', () => client.write('GET http://server.example.org/x HTTP/1.1\r\nHost: x\r\n\r\n'));
    closing.push(() => client.destroy());
    let said = '';
    for await (const piece of client.setEncoding('latin1')) {
      said += piece;
      if (said.endsWith('0\r\n\r\n')) break;
    }
    expect(said.split('x').length).toBeGreaterThan(10_000);
    expect(said.length).toBeLessThan(20_000);
  });
});
