import { createInbox, headers, type Msg } from '@nats-io/transport-node';
import { waitFor } from '@wharf/harness';
import { afterAll, describe, expect, it } from 'vitest';
import { describeConnections } from './connections.suite.ts';
import { type BusUnderTest, texts, useBus } from './use-bus.ts';

export interface BusSuiteOptions {
  name: string;
  start: () => Promise<BusUnderTest>;
  /** Titles of the rules this server does not keep, with the reason. A rule here that holds is an error. */
  knownDifferences?: Readonly<Record<string, string>>;
}

const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** What Wharf needs of its bus, said with the real client and, where that is too polite, byte by byte. */
export function describeBus({ name, start, knownDifferences = {} }: BusSuiteOptions): void {
  const unseen = new Set(Object.keys(knownDifferences));
  const rule = (title: string, run: () => Promise<void>) => (unseen.delete(title) ? it.fails(title, run) : it(title, run));

  describe(name, () => {
    const clients = useBus(start);
    const { bus, join, joinRaw, listen, settle } = clients;
    const subjects = (messages: readonly Msg[]) => messages.map((message) => message.subject);
    afterAll(() => expect([...unseen], 'differences that are no rule').toEqual([]));

    describe('subjects', () => {
      rule('a message reaches every subscriber of its subject and nobody else', async () => {
        const [publisher, one, two] = [await join(), await join(), await join()];
        const heard = [
          await listen(one, 'wharf.a'),
          await listen(one, 'wharf.a'),
          await listen(two, 'wharf.a'),
          await listen(two, 'wharf.b'),
        ];
        publisher.publish('wharf.a', 'hello');
        await settle(publisher, one, two);
        expect(heard.map(texts)).toEqual([['hello'], ['hello'], ['hello'], []]);
      });

      rule('* stands for exactly one token and > for one or more at the end', async () => {
        const client = await join();
        const star = await listen(client, 'w.*.changed');
        const rest = await listen(client, 'w.>');
        const all = await listen(client, '>');
        for (const subject of ['w', 'w.x', 'w.x.changed', 'w.x.y.changed', 'v.x.changed']) client.publish(subject);
        await client.flush();
        expect(subjects(star)).toEqual(['w.x.changed']);
        expect(subjects(rest)).toEqual(['w.x', 'w.x.changed', 'w.x.y.changed']);
        expect(subjects(all)).toEqual(['w', 'w.x', 'w.x.changed', 'w.x.y.changed', 'v.x.changed']);
      });

      rule('subjects tell upper and lower case apart and may hold any letters', async () => {
        const client = await join();
        const heard = await listen(client, 'Größe.数据.*');
        client.publish('Größe.数据.a');
        client.publish('größe.数据.a');
        await client.flush();
        expect(subjects(heard)).toEqual(['Größe.数据.a']);
      });

      rule('1,000 subjects are kept apart', async () => {
        const [publisher, subscriber] = [await join(), await join()];
        const heard: Msg[][] = [];
        for (let i = 0; i < 1000; i++) {
          const messages: Msg[] = [];
          heard.push(messages);
          subscriber.subscribe(`many.${i}`, { callback: (_, message) => void messages.push(message) });
        }
        await subscriber.flush();
        for (let i = 0; i < 1000; i++) publisher.publish(`many.${i}`, String(i));
        await settle(publisher, subscriber);
        expect(heard.map(texts)).toEqual(Array.from({ length: 1000 }, (_, i) => [String(i)]));
      });

      rule('a subscription to a malformed subject is refused and the connection stays', async () => {
        for (const subject of ['a..b', 'a.>.b', '.a', 'a.']) {
          const client = await joinRaw({});
          client.send(`SUB ${subject} 1\r\nPING\r\n`);
          await client.receives("-ERR 'Invalid Subject'\r\nPONG\r\n");
        }
      });

      rule('a pedantic client may not publish to a wildcard', async () => {
        const client = await joinRaw({ pedantic: true });
        client.send('PUB a.* 0\r\n\r\nPING\r\n');
        await client.receives("-ERR 'Invalid Publish Subject'\r\n");
      });

      rule('nobody may publish to a wildcard or a malformed subject', async () => {
        for (const subject of ['a.*', 'a.>', 'a..b', '.a']) {
          const client = await joinRaw({});
          client.send(`SUB > 1\r\nPUB ${subject} 0\r\n\r\nPING\r\n`);
          await waitFor('the second PONG', () => client.received().split('PONG').length === 3);
          expect(client.received()).toContain("-ERR 'Invalid Publish Subject'\r\n");
          expect(client.received()).not.toContain('MSG');
        }
      });
    });

    describe('subscriptions', () => {
      rule('after unsubscribing nothing comes any more', async () => {
        const client = await join();
        const heard: string[] = [];
        const subscription = client.subscribe('a', { callback: (_, message) => void heard.push(message.string()) });
        client.publish('a', '1');
        await client.flush();
        subscription.unsubscribe();
        client.publish('a', '2');
        await client.flush();
        expect(heard).toEqual(['1']);
      });

      rule('a subscription with a maximum ends by itself', async () => {
        const client = await join();
        const heard = await listen(client, 'a', { max: 3 });
        for (let i = 1; i <= 5; i++) client.publish('a', String(i));
        await client.flush();
        expect(texts(heard)).toEqual(['1', '2', '3']);
      });

      rule('the server counts what it delivered before a maximum was set', async () => {
        const client = await joinRaw({});
        client.send('SUB a 1\r\nPUB a 1\r\n1\r\nPUB a 1\r\n2\r\nUNSUB 1 3\r\nPUB a 1\r\n3\r\nPUB a 1\r\n4\r\n');
        client.send('SUB b 2\r\nPUB b 1\r\n5\r\nUNSUB 2 1\r\nPUB b 1\r\n6\r\nPUB c 0\r\n\r\nSUB c 3\r\nPUB c 3\r\nend\r\n');
        await client.receives('end');
        const contents = [...client.received().matchAll(/MSG \w \d 1\r\n(\d)\r\n/g)].map((match) => match[1]);
        expect(contents).toEqual(['1', '2', '3', '5']);
      });

      rule('unsubscribing what does not exist is no error', async () => {
        const client = await joinRaw({});
        client.send('UNSUB 99\r\nUNSUB 98 5\r\nSUB a 1\r\nPUB a 2\r\nok\r\n');
        await client.receives('MSG a 1 2\r\nok\r\n');
        expect(client.received()).not.toContain('-ERR');
      });

      rule('a number that has a subscription keeps it until it is given up', async () => {
        const client = await joinRaw({});
        client.send('SUB a 1\r\nSUB b 1\r\nPUB b 1\r\nb\r\nPUB a 1\r\na\r\nUNSUB 1\r\nSUB b 1\r\nPUB a 1\r\na\r\nPUB b 3\r\nend\r\n');
        await client.receives('end');
        expect(client.received().split('PONG\r\n')[1]).toBe('MSG a 1 1\r\na\r\nMSG b 1 3\r\nend\r\n');
      });

      rule('a client that wants no echo does not get its own messages', async () => {
        const [quiet, other] = [await join({ noEcho: true }), await join()];
        const [own, others] = [await listen(quiet, 'a'), await listen(other, 'a')];
        quiet.publish('a', 'mine');
        other.publish('a', 'yours');
        await settle(quiet, other);
        await settle(other, quiet);
        expect([texts(own), texts(others).sort()]).toEqual([['yours'], ['mine', 'yours']]);
      });

      rule('the subscriptions of a connection end with it', async () => {
        const [publisher, leaving] = [await join(), await join()];
        await listen(leaving, 'gone.service');
        await leaving.close();
        await waitFor('nobody to be there', () =>
          publisher.request('gone.service', '', { timeout: 200 }).then(
            () => false,
            (error: unknown) => String(error).includes('no responders'),
          ),
        );
      });

      rule('draining delivers what was under way and takes nothing new', async () => {
        const [publisher, subscriber] = [await join(), await join()];
        const heard: string[] = [];
        subscriber.subscribe('a', { callback: (_, message) => void heard.push(message.string()) });
        await subscriber.flush();
        for (let i = 0; i < 500; i++) publisher.publish('a', String(i));
        await publisher.flush();
        await subscriber.drain();
        publisher.publish('a', 'late');
        await publisher.flush();
        expect(heard).toEqual(Array.from({ length: 500 }, (_, i) => String(i)));
        expect(subscriber.isClosed()).toBe(true);
      });
    });

    describe('queue groups', () => {
      rule('of each group one member gets a message, and plain subscribers get it too', async () => {
        const [publisher, ...workers] = [await join(), await join(), await join(), await join()];
        const red = await Promise.all(workers.map((worker) => listen(worker, 'work', { queue: 'red' })));
        const blue = await Promise.all(workers.map((worker) => listen(worker, 'work', { queue: 'blue' })));
        const plain = await Promise.all(workers.map((worker) => listen(worker, 'work')));
        for (let i = 0; i < 300; i++) publisher.publish('work', String(i));
        await settle(publisher, ...workers);
        const all = Array.from({ length: 300 }, (_, i) => i);
        for (const group of [red, blue])
          expect(
            group
              .flatMap(texts)
              .map(Number)
              .sort((a, b) => a - b),
          ).toEqual(all);
        for (const messages of plain) expect(messages).toHaveLength(300);
      });

      rule('a group shares its messages: each of three members gets a fair part', async () => {
        const [publisher, ...workers] = [await join(), await join(), await join(), await join()];
        const heard = await Promise.all(workers.map((worker) => listen(worker, 'work', { queue: 'all' })));
        for (let i = 0; i < 600; i++) publisher.publish('work');
        await settle(publisher, ...workers);
        // With 600 throws of a fair die of three sides, fewer than 130 for one of them happens once in 10^9 runs.
        for (const messages of heard) expect(messages.length).toBeGreaterThan(130);
      });

      rule('members with different patterns are one group when its name is the same', async () => {
        const [publisher, one, two] = [await join(), await join(), await join()];
        const heard = [await listen(one, 'jobs.*', { queue: 'g' }), await listen(two, 'jobs.>', { queue: 'g' })];
        for (let i = 0; i < 100; i++) publisher.publish('jobs.x');
        await settle(publisher, one, two);
        expect(heard.flat()).toHaveLength(100);
      });

      rule('what a member leaves goes to the others', async () => {
        const [publisher, leaving, staying] = [await join(), await join(), await join()];
        await listen(leaving, 'work', { queue: 'g' });
        const heard = await listen(staying, 'work', { queue: 'g' });
        await leaving.close();
        await waitFor('all of ten messages at the one who stays', async () => {
          heard.length = 0;
          for (let i = 0; i < 10; i++) publisher.publish('work');
          await settle(publisher, staying);
          return heard.length === 10;
        });
      });
    });

    describe('messages', () => {
      rule('the messages of one publisher come in their order', async () => {
        const [one, two, subscriber] = [await join(), await join(), await join()];
        const heard = await listen(subscriber, 'order.*');
        for (let i = 0; i < 5000; i++)
          for (const publisher of [one, two]) publisher.publish(publisher === one ? 'order.1' : 'order.2', String(i));
        await Promise.all([one.flush(), two.flush()]);
        await subscriber.flush();
        const expected = Array.from({ length: 5000 }, (_, i) => String(i));
        for (const subject of ['order.1', 'order.2'])
          expect(texts(heard.filter((message) => message.subject === subject))).toEqual(expected);
      });

      rule('headers arrive with the payload', async () => {
        const client = await join();
        const heard = await listen(client, 'a');
        const sent = headers();
        sent.set('Request-Id', 'abc');
        sent.append('Many', '1');
        sent.append('Many', '2');
        client.publish('a', 'payload', { headers: sent });
        client.publish('a', '', { headers: sent, reply: 'back' });
        await client.flush();
        expect(texts(heard)).toEqual(['payload', '']);
        expect(heard.map((message) => message.reply)).toEqual(['', 'back']);
        for (const message of heard)
          expect([message.headers?.get('Request-Id'), message.headers?.values('Many')]).toEqual(['abc', ['1', '2']]);
      });

      rule('a client without headers gets the payload alone, and may send none', async () => {
        const plain = await joinRaw({ headers: false });
        plain.send('SUB a 1\r\nPING\r\n');
        const client = await join();
        const sent = headers();
        sent.set('x', 'y');
        await waitFor('the subscription', () => plain.received().split('PONG').length === 3);
        client.publish('a', 'payload', { headers: sent, reply: 'back' });
        await plain.receives('\r\nMSG a 1 back 7\r\npayload\r\n');
        plain.send('HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n');
        expect(await plain.closed()).not.toContain('HMSG');
      });

      rule('payloads of any bytes and up to 1 MiB arrive whole', async () => {
        const [publisher, subscriber] = [await join(), await join()];
        const heard = await listen(subscriber, 'big');
        const payloads = [0, 1, 4096, 65_535, 65_536, 500_000, MAX_PAYLOAD_BYTES].map((size) =>
          Buffer.alloc(size, Buffer.from([0, 13, 10, 255, 80])),
        );
        for (const payload of payloads) publisher.publish('big', payload);
        await settle(publisher, subscriber);
        expect(heard.map((message) => payloads.findIndex((payload) => payload.equals(message.data)))).toEqual([...payloads.keys()]);
      });

      rule('the limit of a payload is told, and the client keeps it', async () => {
        const client = await join();
        expect(client.info?.max_payload).toBe(MAX_PAYLOAD_BYTES);
        expect(() => client.publish('big', Buffer.alloc(MAX_PAYLOAD_BYTES + 1))).toThrow(/payload/);
      });

      rule('a payload above the limit ends the connection', async () => {
        const client = await joinRaw({});
        client.send(`PUB a ${MAX_PAYLOAD_BYTES + 1}\r\n`);
        expect(await client.closed()).toContain("-ERR 'Maximum Payload Violation'\r\n");
      });

      rule('a message cut into pieces anywhere arrives whole', async () => {
        const subscriber = await join();
        const heard = await listen(subscriber, 'cut');
        const client = await joinRaw({});
        for (const byte of Buffer.from('PUB cut back 8\r\nab\r\ncd\r\n\r\nPUB cut 0\r\n\r\nPING\r\n')) {
          client.send(Buffer.from([byte]));
          await new Promise((resolve) => setImmediate(resolve));
        }
        await waitFor('the second PONG', () => client.received().split('PONG').length === 3);
        await subscriber.flush();
        expect(texts(heard)).toEqual(['ab\r\ncd\r\n', '']);
      });
    });

    describe('requests', () => {
      rule('a request gets its answer', async () => {
        const [caller, service] = [await join(), await join()];
        service.subscribe('double', { callback: (_, message) => void message.respond(String(Number(message.string()) * 2)) });
        await service.flush();
        const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => caller.request('double', String(i), { timeout: 5000 })));
        expect(texts(answers)).toEqual(Array.from({ length: 200 }, (_, i) => String(i * 2)));
      });

      rule('a request to nobody fails at once', async () => {
        const caller = await join();
        await expect(caller.request('nobody.there', '', { timeout: 30_000 })).rejects.toThrow('no responders');
        await expect(caller.request('nobody.there', '', { timeout: 30_000, noMux: true })).rejects.toThrow('no responders');
      });

      rule('a request to a group without a free member fails at once: its sender, who wants no echo', async () => {
        const caller = await join({ noEcho: true });
        await listen(caller, 'self', { queue: 'g' });
        await expect(caller.request('self', '', { timeout: 30_000 })).rejects.toThrow('no responders');
      });

      rule('a client that did not ask for it is not told that nobody is there', async () => {
        const client = await joinRaw({ headers: true });
        client.send('SUB back 1\r\nPUB nobody back 0\r\n\r\nPUB back 3\r\nend\r\n');
        await client.receives('end');
        expect(client.received()).not.toContain('NATS/1.0 503');
      });

      rule('that nobody is there is told to the sender alone', async () => {
        const [asking, other] = [await joinRaw({ headers: true, no_responders: true }), await join()];
        const heard = await listen(other, 'back');
        asking.send('PUB nobody back 0\r\n\r\nPUB nobody back 0\r\n\r\nSUB back 1\r\nPUB nobody back 0\r\n\r\nPING\r\n');
        await waitFor('the second PONG', () => asking.received().split('PONG').length === 3);
        await other.flush();
        expect(asking.received().split('PONG\r\n')[1]).toBe('HMSG back 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n');
        expect(heard).toEqual([]);
      });

      rule('who asks to be told needs headers', async () => {
        const client = await joinRaw();
        client.send(`CONNECT ${JSON.stringify({ auth_token: bus().token, no_responders: true })}\r\nPING\r\n`);
        expect(await client.closed()).not.toContain('PONG');
      });

      rule('many answers to one request all come', async () => {
        const [caller, ...services] = [await join(), await join(), await join()];
        for (const [i, service] of services.entries()) {
          service.subscribe('who', { callback: (_, message) => void message.respond(`service ${i}`) });
          await service.flush();
        }
        const inbox = createInbox();
        const heard = await listen(caller, inbox);
        caller.publish('who', '', { reply: inbox });
        await waitFor('both answers', () => heard.length === 2);
        expect(texts(heard).sort()).toEqual(['service 0', 'service 1']);
      });
    });

    describeConnections(rule, clients);
  });
}
