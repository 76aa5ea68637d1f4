import {
  ensureCommand,
  type FaultProxy,
  isAvailable,
  isMissing,
  type NatsServer,
  startFaultProxy,
  startNatsServer,
  waitFor,
} from '@wharf/harness';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, createNatsBus } from '../src/index.ts';

const SUBJECT = { name: 'wharf.test.happened.v1', schema: z.object({ what: z.string() }) };
const FAR_MS = 20;

let nats: NatsServer;
let way: FaultProxy;
let publisher: Bus;
let subscriber: Bus;
const heard: string[] = [];

const connected = async (address: string) => {
  const bus = createNatsBus(address.replace('//', `//${nats.token}@`), 'test', (error) => expect.fail(String(error)));
  await waitFor('the bus', () => bus.isConnected());
  return bus;
};

describe.runIf(isAvailable('nats-server', await ensureCommand('nats-server', 'nats-server')))('the bus over NATS', () => {
  beforeAll(async () => {
    const started = await startNatsServer();
    if (isMissing(started)) throw new Error(started.missing);
    nats = started;
    way = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(nats.url).port) } });
    publisher = await connected(`nats://${way.host}:${way.port}`);
    subscriber = await connected(nats.url);
    subscriber.subscribe(SUBJECT, ({ what }) => heard.push(what));
    await subscriber.sent();
  });
  afterAll(async () => {
    await publisher?.close();
    await subscriber?.close();
    await way?.stop();
    await nats?.stop();
  });
  beforeEach(() => {
    heard.length = 0;
  });

  it('what was sent has come to others when the bus says so', async () => {
    way.latencyMs = FAR_MS;
    publisher.publish(SUBJECT, { what: 'first' });
    expect(heard).toEqual([]);
    await publisher.sent();
    expect(heard).toEqual(['first']);
    way.latencyMs = 0;
  });

  it('a bus that stands still holds nobody up, and goes on with what was sent', async () => {
    way.stall();
    publisher.publish(SUBJECT, { what: 'second' });
    await publisher.sent();
    expect(heard).toEqual([]);
    await way.resume();
    await waitFor('the event', () => heard.length > 0);
    expect(heard).toEqual(['second']);
  });
});
