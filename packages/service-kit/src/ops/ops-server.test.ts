import { Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { listenHttp } from './http-listener.ts';
import { opsHandler } from './ops-server.ts';

it('metrics are made once for all who ask meanwhile, and anew for who comes later', async () => {
  const metrics = new Registry();
  const { promise: haveAllCome, resolve: open } = Promise.withResolvers<void>();
  let [made, come] = [0, 0];
  const collect = async () => {
    made += 1;
    await haveAllCome;
  };
  new Gauge({ name: 'looked_at', help: 'counts', registers: [metrics], collect });
  const handler = opsHandler({ require: () => {}, parts: () => new Map(), missing: () => [], drain: () => {} }, metrics);
  const ops = await listenHttp(
    (request, response) => {
      handler(request, response);
      come += 1;
      if (come === 5) open();
    },
    '127.0.0.1',
    0,
  );
  try {
    const ask = async () => (await fetch(`${ops.url}/metrics`)).text();
    const texts = await Promise.all(Array.from({ length: 5 }, ask));
    expect(texts.every((text) => text.includes('looked_at'))).toBe(true);
    expect(made).toBe(1);
    await ask();
    expect(made).toBe(2);
  } finally {
    await ops.stop(0);
  }
});
