import { AppError } from '@wharf/errors';
import { runCommand, startHttpServer, startTraceReceiver, type TraceReceiver } from '@wharf/harness';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTracing } from '../src/telemetry/open-tracing.ts';
import { inSpan, NO_TRACING, streamInSpan, type Tracing, traceHeaders } from '../src/telemetry/tracing.ts';

const logger = pino({ enabled: false });

/** How many modules of OpenTelemetry a process loads that opens its tracing, beside the one that prom-client loads. */
async function loadedModules(endpoint: string | undefined): Promise<number> {
  const kit = import.meta.resolve('@wharf/service-kit');
  const opening = new URL('../src/telemetry/open-tracing.ts', import.meta.url).href;
  const program = `
    import { registerHooks } from 'node:module';
    let loaded = 0;
    registerHooks({ resolve(name, context, next) { if (name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api') loaded += 1; return next(name, context); } });
    await import(${JSON.stringify(kit)});
    const { openTracing } = await import(${JSON.stringify(opening)});
    await openTracing('test', ${JSON.stringify(endpoint)}, { warn() {} });
    console.log(loaded);
    process.exit(0);`;
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', program]);
  if (code !== 0) throw new Error(stderr);
  return Number(stdout);
}

describe('without a collector', () => {
  it('nothing of OpenTelemetry is loaded', async () => {
    expect(await loadedModules(undefined)).toBe(0);
    expect(await loadedModules('http://127.0.0.1:9')).toBeGreaterThan(0);
  });

  it('work runs as it is', async () => {
    expect(await openTracing('test', undefined, logger)).toBe(NO_TRACING);
    expect(await inSpan(NO_TRACING, 'work', { parent: '' }, async (span) => span)).toBeUndefined();
    expect(traceHeaders(NO_TRACING)).toEqual({});
  });
});

describe('with a collector', () => {
  let receiver: TraceReceiver;
  let tracing: Tracing;
  beforeAll(async () => {
    receiver = await startTraceReceiver();
    for (const [name, value] of Object.entries(receiver.env)) vi.stubEnv(name, value);
    tracing = await openTracing('test', receiver.env['OTEL_EXPORTER_OTLP_ENDPOINT'], logger);
  });
  afterAll(async () => {
    await tracing?.close();
    await receiver?.stop();
    vi.unstubAllEnvs();
  });
  const trace = (root: string, names: readonly string[]) =>
    receiver.trace(root, ({ name, parentSpanId }) => name === root && parentSpanId === '', names);

  it('work outside of any trace begins none', async () => {
    expect(tracing.open('lonely')).toBeUndefined();
    expect(tracing.traceparent()).toBeUndefined();
    expect(tracing.logIds()).toEqual({});
  });

  it('a traceparent carries a trace on', async () => {
    const carried = await inSpan(tracing, 'near', { parent: '' }, async () => tracing.traceparent() ?? '');
    await inSpan(tracing, 'far', { parent: carried }, async () => undefined);
    const spans = await trace('near', ['far']);
    expect(spans.find(({ name }) => name === 'far')?.parentSpanId).toBe(spans.find(({ name }) => name === 'near')?.spanId);
  });

  it.each(['', 'x', '00-00000000000000000000000000000000-0000000000000000-01', `00-${'f'.repeat(5_000)}-01`])(
    'a traceparent like %.60s begins a trace',
    async (parent) => {
      const ids = await inSpan(tracing, 'begun', { parent }, async () => tracing.logIds());
      expect(ids['trace_id']).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(parent).not.toContain(ids['trace_id']);
    },
  );

  it('a stream is one span, and its steps see it', async () => {
    const seen: unknown[] = [];
    const steps = async function* () {
      try {
        for (let step = 0; ; step += 1) {
          seen.push(tracing.logIds()['span_id']);
          yield step;
        }
      } finally {
        seen.push(tracing.logIds()['span_id']);
      }
    };
    await inSpan(tracing, 'reader', { parent: '' }, async () => {
      for await (const step of streamInSpan(tracing, 'stream', {}, steps)) if (step === 2) break;
    });
    const spans = await trace('reader', ['stream']);
    const stream = spans.find(({ name }) => name === 'stream');
    expect(seen).toEqual(Array(4).fill(stream?.spanId));
    expect(stream?.error).toBe('');
  });

  it('a failure is told by its code, not by its text', async () => {
    const failing = inSpan(tracing, 'failing', { parent: '' }, async () => {
      throw new AppError('ENTRY_NOT_FOUND', 'no such entry: a-private-name');
    });
    await expect(failing).rejects.toThrow();
    const stream = streamInSpan(tracing, 'failing stream', { parent: '' }, async function* () {
      yield 1;
      throw new Error('a-private-text');
    });
    await expect(Array.fromAsync(stream)).rejects.toThrow();
    expect((await trace('failing', []))[0]).toMatchObject({ error: 'ENTRY_NOT_FOUND' });
    expect((await trace('failing stream', []))[0]).toMatchObject({ error: 'INTERNAL' });
    expect(receiver.text()).not.toContain('a-private');
  });

  it('what a request leaves running is no part of it once it has ended', async () => {
    const later = Promise.withResolvers<void>();
    const left = await inSpan(tracing, 'request', { parent: '' }, async () => ({
      running: later.promise.then(() => [tracing.open('late'), tracing.traceparent(), tracing.logIds()]),
    }));
    later.resolve();
    expect(await left.running).toEqual([undefined, undefined, {}]);
  });

  it('nothing but the name of the service and what the operator says is told of the process', () => {
    const resources = new Set(
      [...receiver.text().matchAll(/"key":"((?:service|process|host|os|telemetry)\.[^"]+)"/g)].map(([, key]) => key),
    );
    expect([...resources].filter((key) => !key?.startsWith('telemetry.')).sort()).toEqual(['service.instance.id', 'service.name']);
  });
});

describe('a collector', () => {
  afterEach(() => vi.unstubAllEnvs());
  const program = (endpoint: string) => `
    const { openTracing } = await import(${JSON.stringify(new URL('../src/telemetry/open-tracing.ts', import.meta.url).href)});
    const { inSpan } = await import(${JSON.stringify(new URL('../src/telemetry/tracing.ts', import.meta.url).href)});
    const tracing = await openTracing('test', ${JSON.stringify(endpoint)}, { warn: (facts, text) => console.log(text) });
    await inSpan(tracing, 'work', { parent: '' }, async () => undefined);
    await tracing.close();
    console.log('closed');
    process.exit(0);`;
  const run = (endpoint: string) =>
    runCommand(process.execPath, ['--input-type=module', '-e', program(endpoint)], {
      env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
    });

  it('that never answers holds up no stop', async () => {
    const server = await startHttpServer(() => new Promise(() => {}));
    expect((await run(server.url)).stdout).toBe('traces are lost\nclosed\n');
    await server.stop();
  });

  it('that refuses is told of in the log', async () => {
    const server = await startHttpServer((_request, response) => void response.writeHead(400).end());
    expect((await run(server.url)).stdout).toBe('traces are lost\nclosed\n');
    await server.stop();
  });
});
