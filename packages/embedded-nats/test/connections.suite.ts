import { connect } from '@nats-io/transport-node';
import { waitFor } from '@wharf/harness';
import { describe, expect } from 'vitest';
import type { BusClients } from './use-bus.ts';

const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Login, liveness and the end of connections. */
export function describeConnections(
  rule: (title: string, run: () => Promise<void>) => void,
  { bus, join, joinRaw, listen, settle }: BusClients,
): void {
  describe('connections', () => {
    rule('a wrong token, an empty one and none are refused', async () => {
      await expect(join({ token: 'wrong', reconnect: false })).rejects.toThrow(/Authorization Violation/i);
      await expect(join({ token: '', reconnect: false })).rejects.toThrow(/Authorization Violation/i);
      await expect(connect({ servers: bus().url, reconnect: false })).rejects.toThrow(/Authorization Violation/i);
    });

    rule('nothing is done for a client before it logged in', async () => {
      const spy = await join();
      const heard = await listen(spy, '>');
      for (const words of ['SUB > 1\r\n', 'PUB a 2\r\nhi\r\n', `PUB a ${MAX_PAYLOAD_BYTES}\r\n`, 'PING\r\n']) {
        const client = await joinRaw();
        client.send(words);
        const said = await client.closed();
        expect(said).toContain("-ERR 'Authorization Violation'\r\n");
        expect(said).not.toMatch(/MSG|PONG/);
      }
      await spy.flush();
      expect(heard).toEqual([]);
    });

    rule('a client that does not log in is closed after two seconds, one that did stays', async () => {
      const [silent, client] = [await joinRaw({}), await joinRaw()];
      expect(await client.closed()).toContain("-ERR 'Authentication Timeout'\r\n");
      silent.send('SUB a 1\r\nPUB a 2\r\nhi\r\n');
      await silent.receives('MSG a 1 2\r\nhi\r\n');
    });

    rule('nothing is done for a client behind words that ended its connection', async () => {
      const spy = await join();
      const heard = await listen(spy, '>');
      const message = 'PUB a 2\r\nhi\r\n';
      for (const words of ['HELLO\r\n', 'HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n', `PUB a ${MAX_PAYLOAD_BYTES + 1}\r\n`]) {
        const client = await joinRaw({ headers: false });
        client.send(words + message + message);
        await client.closed();
      }
      const stranger = await joinRaw();
      stranger.send(`CONNECT {"auth_token":"wrong"}\r\nCONNECT ${JSON.stringify({ auth_token: bus().token })}\r\n${message}`);
      expect(await stranger.closed()).toContain("-ERR 'Authorization Violation'\r\n");
      await spy.flush();
      expect(heard).toEqual([]);
    });

    rule('a PING is answered', async () => {
      const client = await join();
      expect(await client.rtt()).toBeLessThan(5000);
    });

    rule('a verbose client gets +OK for what it says', async () => {
      const client = await joinRaw({ verbose: true, headers: true });
      client.send('SUB a 1\r\nUNSUB 1\r\nPUB a 2\r\nhi\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\nPING\r\n');
      await client.receives('+OK\r\nPONG\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\nPONG\r\n');
    });

    rule('words that are no protocol end the connection', async () => {
      const client = await joinRaw({});
      client.send('HELLO there\r\nPING\r\n');
      const said = await client.closed();
      expect(said).toContain("-ERR 'Unknown Protocol Operation'\r\n");
      expect(said.split('PONG')).toHaveLength(2);
    });

    rule('a line without an end is not kept for ever', async () => {
      const client = await joinRaw({});
      client.send(`SUB ${'x'.repeat(10_000)}`);
      expect(await client.closed()).toContain("-ERR 'maximum control line exceeded'\r\n");
    });

    rule('a client comes back after the server did, with its subscriptions', async () => {
      const [publisher, subscriber] = [await join({ maxReconnectAttempts: -1 }), await join({ maxReconnectAttempts: -1 })];
      const heard = await listen(subscriber, 'again');
      await bus().restart();
      await waitFor('a message after the restart', async () => {
        publisher.publish('again', 'hello');
        await settle(publisher, subscriber);
        return heard.length > 0;
      });
      expect(heard[0]?.string()).toBe('hello');
    });
  });
}
