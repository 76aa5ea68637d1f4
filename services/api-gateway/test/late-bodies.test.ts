import { once } from 'node:events';
import { connect } from 'node:net';
import { waitFor } from '@wharf/harness';
import { accountsChanged } from '@wharf/models';
import { PERMISSION } from '@wharf/rights';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Gateway, openGateway } from './gateway.ts';

let gateway: Gateway;
/** How often a session was looked up in the store. */
let lookups = 0;

beforeAll(async () => {
  gateway = await openGateway();
  gateway.kit.store.set('debug', (collection: string) => {
    if (collection === 'sessions') lookups += 1;
  });
}, 60_000);
afterAll(() => gateway?.close());

/** A request whose body is here but for its last byte, and whose caller has been established. */
async function beginSlowly(token: string) {
  const { hostname, port } = new URL(gateway.base);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const body = JSON.stringify({ path: '/made' });
  const head = `POST /api/fs/mkdir HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${token}\r\nContent-Type: application/json\r\n`;
  const before = lookups;
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
  await waitFor('its caller to be looked up', () => lookups > before);
  // Joins that look, or comes after it.
  await gateway.request({ path: '/api/me', headers: { Authorization: token } });
  return {
    async finish(): Promise<unknown> {
      socket.write(body.slice(-1));
      await closed;
      return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
    },
  };
}

/** As whom folders were made. */
const madeBy = (id: number) =>
  gateway.stubs.asked.flatMap(({ rpc, call: { identity } }) =>
    rpc === 'fs.makeDirectory' && identity?.kind === 'user' && identity.id === id ? [identity] : [],
  );

it.each([
  ['login has ended', (id: number) => gateway.models.sessions.deleteMany({ user_id: id }), 401],
  ['account was disabled', (id: number) => gateway.models.users.updateOne({ _id: id }, { $set: { disabled: true } }), 401],
  ['right was taken away', (id: number) => gateway.models.users.updateOne({ _id: id }, { $set: { permission: 0 } }), 200],
])('a request whose %s before its body had come is not carried out with what was true before', async (_what, end, code) => {
  const token = await gateway.login(PERMISSION.write);
  const [user] = await gateway.models.users.find().sort({ _id: -1 }).limit(1);
  const id = Number(user?._id);
  const slow = await beginSlowly(token);
  await end(id);
  gateway.kit.bus.publish(accountsChanged, { revision: 0 });
  expect(await slow.finish()).toMatchObject({ code });
  expect(madeBy(id)).toMatchObject(code === 401 ? [] : [{ permission: 0 }]);
});

it.each([
  ['its login has ended', (id: number) => gateway.models.sessions.deleteMany({ user_id: id }), 401],
  ['its user has another root', (id: number) => gateway.models.users.updateOne({ _id: id }, { $set: { base_path: '/other' } }), 503],
  ['all is as it was', undefined, 200],
])('a list is answered late when %s', async (_what, change, code) => {
  const token = await gateway.login(PERMISSION.write);
  const [user] = await gateway.models.users.find().sort({ _id: -1 }).limit(1);
  const hold = Promise.withResolvers<object>();
  const asked = Promise.withResolvers<void>();
  gateway.stubs.answers.set('fs.listEntries', () => {
    asked.resolve();
    return hold.promise;
  });
  const answer = gateway.request({ path: '/api/fs/list?path=/', headers: { Authorization: token } });
  await asked.promise;
  gateway.stubs.answers.delete('fs.listEntries');
  await change?.(Number(user?._id));
  gateway.kit.bus.publish(accountsChanged, { revision: 0 });
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_000);
  hold.resolve({});
  expect((await answer.finally(() => clock.mockRestore())).json()).toMatchObject({ code });
});

const FIELDS = 3_000;
const fields = 'a&'.repeat(FIELDS);

it.each([
  ['queries', `GET /api/public/settings?${fields} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['forms', `POST /api/public/settings HTTP/1.1\r\nHost: x\r\nContent-Length: ${fields.length}\r\n\r\n${fields}`],
])('of long %s that come at once no two are read in one turn of the event loop', async (_what, request) => {
  const { hostname, port } = new URL(gateway.base);
  const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const ask = (text: string) => {
    for (const socket of sockets) socket.write(text);
    return Promise.all(sockets.map((socket) => once(socket, 'data')));
  };
  // Each connection has been taken by then.
  await ask('GET /ping HTTP/1.1\r\nHost: x\r\n\r\n');
  let ofTurn = 0;
  let most = 0;
  vi.stubGlobal(
    'URLSearchParams',
    class extends URLSearchParams {
      constructor(text: string) {
        if (ofTurn === 0)
          setImmediate(() => {
            ofTurn = 0;
          });
        ofTurn += 1;
        most = Math.max(most, ofTurn);
        super(text);
      }
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  await ask(request);
  expect(most).toBeGreaterThan(FIELDS / 2);
  expect(most).toBeLessThan(2 * FIELDS);
});
