import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { envDetector, serviceInstanceIdDetector } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AppError } from '@wharf/errors';
import type { Logger } from '../ops/logger.ts';
import { foreseen } from '../store-outage.ts';
import { within } from '../within.ts';
import type { OpenSpan, SpanFacts, SpanOptions, Tracing } from './tracing.ts';

/** How long a stop waits for the collector, in milliseconds. */
const FLUSH_MS = 1_000;
/** A collector that is away is told of once in so long, in milliseconds. */
const TOLD_EVERY_MS = 60_000;
const MAX_TOLD = 300;

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER } as const;

/** Starts OpenTelemetry's SDK for traces alone: metrics are Prometheus', logs are on standard output, and no library is instrumented. */
export function startTracing(serviceName: string, logger: Logger): Tracing {
  const tell = tellFailures(logger);
  const sdk = new NodeSDK({
    serviceName,
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
    // What the machine and the command line are is nobody's business.
    resourceDetectors: [serviceInstanceIdDetector, envDetector],
    textMapPropagator: null,
  });
  sdk.start();
  const tracer = trace.getTracer('wharf');
  return {
    open(name, { kind = 'internal', facts = {}, parent }: SpanOptions = {}) {
      if (parent === undefined && !liveSpan()) return undefined;
      const origin = parent === undefined ? context.active() : contextOf(parent);
      return openSpan(tracer.startSpan(name, { kind: KINDS[kind], attributes: attributesOf(facts) }, origin), origin);
    },
    traceparent() {
      const span = liveSpan()?.spanContext();
      return span && `00-${span.traceId}-${span.spanId}-0${span.traceFlags & TraceFlags.SAMPLED}`;
    },
    logIds() {
      const span = liveSpan()?.spanContext();
      return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
    },
    async close() {
      // A collector that is away keeps nothing from stopping.
      await within(FLUSH_MS, sdk.shutdown(), 'the collector takes too long').catch((error) => tell(String(error)));
    },
  };
}

/** Has the log say what OpenTelemetry complains of, unless `OTEL_LOG_LEVEL` has it said elsewhere. */
function tellFailures(logger: Logger): (reason: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (reason: string) => {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = performance.now();
    logger.warn({ reason: reason.slice(0, MAX_TOLD) }, 'traces are lost');
  };
  // The first text names who complains, where there is more than one.
  const tellAll = (...texts: readonly unknown[]) => tell(texts.map(String).join(' '));
  const ignore = () => {};
  diag.setLogger({ error: tellAll, warn: tellAll, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  return tell;
}

/**
 * The current span, unless it has ended: timers that a request leaves behind still see the request's span, and are no part of it. A span that
 * is not sampled counts as live, so that what follows from it is not sampled either.
 */
function liveSpan(): Span | undefined {
  const span = trace.getActiveSpan();
  if (!span) return undefined;
  const isSampled = (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
  return span.isRecording() || !isSampled ? span : undefined;
}

/** Without a readable traceparent it is where traces begin. */
function contextOf(traceparent: string) {
  const parent = parseTraceParent(traceparent);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

function openSpan(span: Span, origin: typeof ROOT_CONTEXT): OpenSpan {
  const own = trace.setSpan(origin, span);
  return {
    run: (work) => context.with(own, work),
    rename: (name) => void span.updateName(name),
    tell: (facts) => void span.setAttributes(attributesOf(facts)),
    fail(error) {
      const { code } = AppError.from(foreseen(innermost(error)));
      span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR, message: code });
    },
    end: () => span.end(),
  };
}

/** An error of ours may stand in another one that says more. */
function innermost(error: unknown): unknown {
  return !AppError.is(error) && error instanceof Error && AppError.is(error.cause) ? error.cause : error;
}

function attributesOf(facts: SpanFacts): Attributes {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Attributes;
}
