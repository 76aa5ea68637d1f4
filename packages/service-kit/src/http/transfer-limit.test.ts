import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listenHttp } from '../ops/http-listener.ts';
import { createTransferLimit, transfersOf } from './transfer-limit.ts';

const user = (id: number, role: number = ROLE.general) => ({
  identity: { kind: 'user', id, username: '', role, permission: 0, basePath: '/', sessionId: '' } as const,
  address: '192.0.2.1',
});
const GATEWAY = { kind: 'service', name: 'api-gateway' } as const;

it('nobody has more than a third of the transfers: a user wherever from, guests and links by their address', () => {
  const limit = createTransferLimit(9);
  const begin = (who: Parameters<typeof limit.begin>[1]) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    limit.begin(response, who);
    return response;
  };
  const isRefused = (who: Parameters<typeof limit.begin>[1]) => {
    expect(() => begin(who)).toThrow(expect.toSatisfy((error) => AppError.is(error, 'OVERLOADED')));
  };
  const [own] = [...Array(3)].map((_, index) => begin({ ...user(5), address: `192.0.2.${index}` }));
  isRefused(user(5));
  own?.emit('close');
  begin(user(5));
  // Whoever downloads beside that leaves some to others, too.
  const first = begin({ identity: GATEWAY, address: '198.51.100.7' });
  begin({ identity: undefined, address: '198.51.100.7' });
  begin({ ...user(2, ROLE.guest), address: '198.51.100.7' });
  isRefused({ identity: GATEWAY, address: '198.51.100.7' });
  first.emit('close');
  begin({ ...user(2, ROLE.guest), address: '198.51.100.7' });
  begin({ ...user(2, ROLE.guest), address: '198.51.100.8' });
  begin(user(6));
  begin(user(6));
  isRefused(user(7));
});

it('none begins while memory is short', () => {
  let isShort = true;
  const limit = createTransferLimit(6, () => isShort);
  const begin = (response = new ServerResponse(new IncomingMessage(new Socket()))) => {
    limit.begin(response, user(5));
    return response;
  };
  const refused = new ServerResponse(new IncomingMessage(new Socket()));
  expect(() => begin(refused)).toThrow(expect.toSatisfy((error) => AppError.is(error, 'OVERLOADED')));
  expect(refused.getHeader('retry-after')).toBeDefined();
  isShort = false;
  begin();
});

it('a client has one network of IPv6 addresses, and one share', () => {
  const limit = createTransferLimit(6);
  const begin = (address: string) => limit.begin(new ServerResponse(new IncomingMessage(new Socket())), { identity: undefined, address });
  begin('2001:db8:1:2::1');
  begin('2001:db8:1:2::2');
  expect(() => begin('2001:db8:1:2::3')).toThrow(expect.toSatisfy((error) => AppError.is(error, 'OVERLOADED')));
  begin('2001:db8:1:3::1');
});

it('a client that has gone before its transfer begins has no place in it, and keeps none', () => {
  const limit = createTransferLimit(2);
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  // As Node does it where the connection ends: nobody hears of it twice.
  response.destroy();
  response.emit('close');
  for (let times = 0; times < 10; times += 1) limit.begin(response, user(5));
  limit.begin(new ServerResponse(new IncomingMessage(new Socket())), user(5));
});

it('transfers are half of the connections of a port at most, so that others find one', () => {
  expect([1_365, 512, 10_000].map(transfersOf)).toEqual([682, 256, 2_000]);
});

it('of a full port the upload of a user does not end whose body has not come, that of a stranger does', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const limit = createTransferLimit(4);
  const begun: IncomingMessage[] = [];
  const listener = await listenHttp(
    (request, response) => {
      begun.push(request);
      limit.begin(response, request.url === '/user' ? user(5) : { identity: undefined, address: '192.0.2.1' });
      request.resume().once('end', () => response.end('stored'));
    },
    '127.0.0.1',
    0,
    { maxConnections: 3 },
  );
  const open = async () => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const send = async (path: string) => {
    const [socket, before] = [await open(), begun.length];
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx`);
    while (begun.length === before) await setImmediate();
    return socket;
  };
  const [ofUser, ofStranger] = [await send('/user'), await send('/stranger')];
  vi.advanceTimersByTime(2_000);
  const other = await open();
  await once(ofStranger.resume(), 'close');
  ofUser.write('y');
  expect(String(await once(ofUser, 'data'))).toContain('stored');
  for (const socket of [ofUser, other]) socket.destroy();
  await listener.stop(0);
});
