import type { IncomingHttpHeaders } from 'node:http';

/** What a span tells: names and numbers of ours, never what somebody sent. What is undefined is left out. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** Default `internal`. */
  readonly kind?: 'internal' | 'server' | 'client' | 'consumer';
  readonly facts?: SpanFacts;
  /**
   * The W3C traceparent of the span that this one belongs to; empty: it begins a trace. Left out: it belongs to the current span, and none is
   * made where there is none.
   */
  readonly parent?: string;
}

/** A piece of work that is recorded until it is ended. */
export interface OpenSpan {
  /** Runs `work` with this span as the current one, also in what it awaits. */
  run<Result>(work: () => Result): Result;
  rename(name: string): void;
  tell(facts: SpanFacts): void;
  /** The work failed. Only the error's code is told: its text may hold what somebody sent. */
  fail(error: unknown): void;
  /** Safe twice. */
  end(): void;
}

/** The only way to traces. Where they are off, nothing of OpenTelemetry is loaded and nothing is recorded. */
export interface Tracing {
  /** Undefined: nothing is to be recorded of this. Whoever gets a span ends it. */
  open(name: string, options?: SpanOptions): OpenSpan | undefined;
  /** What other processes, and tasks, go on with: the traceparent of the current span; undefined outside of all. */
  traceparent(): string | undefined;
  /** For log lines: the ids of the current span. */
  logIds(): Readonly<Record<string, string>>;
  /** Sends what was recorded, for a second at most. */
  close(): Promise<void>;
}

const NOTHING = {};

export const NO_TRACING: Tracing = {
  open: () => undefined,
  traceparent: () => undefined,
  logIds: () => NOTHING,
  close: async () => {},
};

/** The name of the header, and of the metadata, that carries a traceparent to our other processes. */
export const TRACEPARENT = 'traceparent';

/** The headers that carry the current span on to another process of ours. */
export function traceHeaders(tracing: Tracing): Record<string, string> {
  const traceparent = tracing.traceparent();
  return traceparent === undefined ? {} : { [TRACEPARENT]: traceparent };
}

/** What such headers say; empty where they say nothing. To be asked of our own processes' requests only. */
export function traceparentOf(headers: IncomingHttpHeaders): string {
  const told = headers[TRACEPARENT];
  return typeof told === 'string' ? told : '';
}

/** Runs `work` within a span that ends with it. */
export async function inSpan<Result>(
  tracing: Tracing,
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan | undefined) => Promise<Result>,
): Promise<Result> {
  const span = tracing.open(name, options);
  if (!span) return work(undefined);
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/** The same for a stream, which is to be read: its span ends with the last step or with the reader. */
export function streamInSpan<Item>(
  tracing: Tracing,
  name: string,
  options: SpanOptions,
  start: () => AsyncIterable<Item>,
): AsyncIterable<Item> {
  const span = tracing.open(name, options);
  return span ? stepsInSpan(span, start) : start();
}

async function* stepsInSpan<Item>(span: OpenSpan, start: () => AsyncIterable<Item>): AsyncGenerator<Item, void> {
  const steps = span.run(() => start()[Symbol.asyncIterator]());
  let isOver = false;
  try {
    for (;;) {
      const step = await span.run(() => steps.next());
      isOver = step.done === true;
      if (step.done === true) return;
      yield step.value;
    }
  } catch (error) {
    isOver = true;
    span.fail(error);
    throw error;
  } finally {
    try {
      if (!isOver) await span.run(() => steps.return?.());
    } finally {
      span.end();
    }
  }
}
