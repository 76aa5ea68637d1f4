import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openFtpRelay, safeReplies } from './ftp-relay.ts';

/** A server of which each word is a reply of passive mode, and the connection that asks it. */
async function openControl() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const data: unknown[] = [];
  const relay = await openFtpRelay(async (_signal, place) => {
    if (place) data.push(place);
    return connect(port, '127.0.0.1');
  });
  onTestFinished(() => relay.close());
  const client = connect(relay.port, '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => void client.destroy());
  const [server1] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void server1.destroy());
  return { client, server: server1, data };
}

const PASSIVE = '227 Entering Passive Mode (127,0,0,1,200,1).\r\n';

async function nextPort(client: Socket): Promise<number> {
  const [line] = (await once(client, 'data')) as [string];
  const [, high, low] = /127,0,0,1,(\d+),(\d+)/.exec(line) ?? [];
  return Number(high) * 256 + Number(low);
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    onTestFinished(() => void socket.destroy());
  });

it('a port for a transfer is closed once the server names the next one', async () => {
  const { client, server } = await openControl();
  server.write(PASSIVE);
  const first = await nextPort(client);
  server.write(PASSIVE);
  const second = await nextPort(client);
  expect([await isOpen(first), await isOpen(second)]).toEqual([false, true]);
});

it('data come from the address that the commands go to', async () => {
  const { client, server, data } = await openControl();
  server.write('227 Entering Passive Mode (10,0,0,5,200,1).\r\n');
  await isOpen(await nextPort(client));
  await expect.poll(() => data).toEqual([{ host: '127.0.0.1', port: 51_201 }]);
});

/** The lines that come in place of these, up to the answer of the next command. */
async function passedOn(said: string): Promise<string[]> {
  const { client, server } = await openControl();
  server.write(`${said}200 OK\r\n`);
  let all = '';
  for await (const text of client) {
    all += text;
    if (all.endsWith('200 OK\r\n')) break;
  }
  return all.split('\r\n').slice(0, -2);
}

it.each([
  ['a port of a service', '227 Entering Passive Mode (127,0,0,1,0,80).\r\n'],
  ['the same, extended', '229 Entering Extended Passive Mode (|||80|)\r\n'],
  ['no brackets', '229 |||6379|\r\n'],
  ['six digits', '229 Entering (|||006379|)\r\n'],
  ['no port', '227 OK\r\n'],
  ['several lines of which the first has half of it', '229-x (||\r\n229 |6379|)\r\n'],
  ['several lines that name a port of a service', '227-x\r\n (127,0,0,1,0,80)\r\n227 end\r\n'],
])('of a port for data that is not understood rclone is told nothing: %s', async (_, said) => {
  expect(await passedOn(said)).toEqual(["425 Can't open data connection."]);
});

it.each([
  ['229-x (|||51201|)\r\n229 end\r\n', /^229 .*\(\|\|\|(?!51201\|)\d+\|\)$/],
  ['227-x\r\nthis (127,0,0,1,200,1)\r\n227 end\r\n', /^227 .*\(127,0,0,1,(?!200,1\))\d+,\d+\)\.$/],
])('a port that is named in several lines is one of ours too: %j', async (said, line) => {
  expect(await passedOn(said)).toEqual([expect.stringMatching(line)]);
});

it('a reply within another one is none, also to an rclone that no longer waits for that', async () => {
  expect(await passedOn('220-Hello\r\n229 x (|||6379|)\r\n227-x (127,0,0,1,200,1)\r\n220 end\r\n')).toEqual([
    '220-Hello',
    ' 229 x (|||6379|)',
    ' 227-x (127,0,0,1,200,1)',
    '220 end',
  ]);
});

it('a reply of passive mode without an end is not kept', async () => {
  const { client, server } = await openControl();
  server.on('error', () => undefined).write(`229-x\r\n${'y\r\n'.repeat(30_000)}`);
  client.resume();
  await once(client, 'end');
});

it('a server that says more than rclone takes is not read on', async () => {
  const { client, server } = await openControl();
  client.pause();
  const line = `200 ${'x'.repeat(1000)}\r\n`;
  let sentBytes = 0;
  const isTaken = () =>
    new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), 1_000);
      server.write(line.repeat(1000), () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  while (sentBytes < 200_000_000 && (await isTaken())) sentBytes += 1_000_000;
  expect(sentBytes).toBeLessThan(100_000_000);
});

it('lines that come together go on together, but for replies of passive mode', async () => {
  async function* said() {
    yield Buffer.from(`${'\n'.repeat(60_000)}227 a (1,2,3,4,5,6)\r\n220 b\r\n`);
    yield Buffer.from('220 half of');
    yield Buffer.from(' a line\r\n');
  }
  const pieces = await Array.fromAsync(safeReplies(said(), async () => '227 ours\r\n'));
  expect(pieces.map(String)).toEqual([`${'\n'.repeat(60_000)}227 ours\r\n`, '220 b\r\n', '220 half of a line\r\n']);
});
