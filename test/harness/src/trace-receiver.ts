import { at } from './api.ts';
import { startHttpServer } from './http-server.ts';
import { waitFor } from './wait-for.ts';

/** A span as OTLP's JSON has it. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the trace begins with it. */
  readonly parentSpanId: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** What failed; empty: nothing did. */
  readonly error: string;
}

/** A collector of traces that understands OTLP over HTTP in JSON. */
export interface TraceReceiver {
  /** The environment that has a process send its spans here soon. */
  readonly env: Readonly<Record<string, string>>;
  spans(): readonly ReceivedSpan[];
  /** All that came, as text. */
  text(): string;
  /** Waits for a span, and then for its whole trace: every span but one has its parent in it, and these names are there. */
  trace(description: string, find: (span: ReceivedSpan) => boolean, names: readonly string[]): Promise<readonly ReceivedSpan[]>;
  stop(): Promise<void>;
}

const ERROR_STATUS = 2;

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  let text = '';
  const server = await startHttpServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (request.url !== '/v1/traces') return void response.writeHead(404).end();
    text += body;
    spans.push(...readSpans(JSON.parse(body)));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  return {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: server.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_BSP_SCHEDULE_DELAY: '100' },
    spans: () => spans,
    text: () => text,
    trace: (description, find, names) =>
      waitFor(
        description,
        async () => {
          const traceId = spans.find(find)?.traceId;
          const trace = spans.filter((span) => span.traceId === traceId);
          const ids = new Set(trace.map(({ spanId }) => spanId));
          const open = trace.filter(({ parentSpanId }) => parentSpanId !== '' && !ids.has(parentSpanId));
          const isWhole = open.length === 0 && names.every((name) => trace.some((span) => span.name === name));
          return traceId !== undefined && isWhole ? trace : undefined;
        },
        { withinMs: 30_000 },
      ),
    stop: () => server.stop(),
  };
}

function readSpans(body: unknown): ReceivedSpan[] {
  return list(body, 'resourceSpans').flatMap((resource) => {
    const service = String(factsOf(at(resource, 'resource'))['service.name']);
    return list(resource, 'scopeSpans').flatMap((scope) =>
      list(scope, 'spans').map((span) => ({
        service,
        name: String(at(span, 'name')),
        traceId: String(at(span, 'traceId')),
        spanId: String(at(span, 'spanId')),
        parentSpanId: String(at(span, 'parentSpanId') ?? ''),
        facts: factsOf(span),
        error: at(span, 'status', 'code') === ERROR_STATUS ? String(at(span, 'status', 'message')) : '',
      })),
    );
  });
}

function list(value: unknown, name: string): unknown[] {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
}

function factsOf(value: unknown): Record<string, unknown> {
  return Object.fromEntries(
    list(value, 'attributes').map((attribute) => [String(at(attribute, 'key')), Object.values(at(attribute, 'value') ?? {})[0]]),
  );
}
