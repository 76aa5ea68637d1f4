import { AppError } from '@wharf/errors';
import type { AnswerStep, CallStep } from '@wharf/proto/call';
import type { CallOptions } from 'nice-grpc-common';
import type { Tracing } from '../telemetry/tracing.ts';
import { callToStep, statedCall } from './call.ts';
import { callCancelled, deadlineExceeded, errorOf, serviceUnreachable } from './errors.ts';
import type { MessageWriter } from './message-writer.ts';
import type { MethodDefinition, RpcDefinition } from './service.ts';
import { type CallEnd, EMPTY_STEP, MAX_MESSAGE_BYTES, type SharedStream } from './shared-stream.ts';
import type { SharedStreams } from './shared-streams.ts';
import { spanNameOf } from './traced-client.ts';

/** A larger request goes over a stream of its own, in bytes. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** The server hears of what was taken of a streamed answer in steps of this size, in bytes. */
const TAKEN_STEP_BYTES = 128 * 1024;

/** Of a streamed answer no more waits for its caller, in bytes: two of the largest messages. */
const MAX_WAITING_BYTES = 2 * MAX_MESSAGE_BYTES;
/** What a message counts here beside its bytes, of which it may have none: to take the first of half a million takes 0.6 ms, of 32,000 nothing. */
const MESSAGE_COST_BYTES = 4 * 1024;

type Unary = (request: never, options?: CallOptions) => Promise<unknown>;
type Streaming = (request: never, options?: CallOptions) => AsyncIterable<unknown>;

/**
 * The same client; its calls go over shared streams where there are any.
 *
 * @param client sends each call over a stream of its own
 * @param encode writes the requests. @param deadlineOf how long a call of this method may take, in milliseconds
 */
export function sharingClient<Calls>(
  client: Calls,
  definition: RpcDefinition,
  streams: SharedStreams,
  tracing: Tracing,
  encode: MessageWriter,
  deadlineOf: (method: MethodDefinition) => number,
): Calls {
  const sharing: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(definition.methods)) {
    const alone = (client as Record<string, unknown>)[name];
    const path = spanNameOf(definition, name);
    const deadlineMs = deadlineOf(method);
    const find = (request: never, options: CallOptions | undefined): SharedCall | undefined => {
      const stated = options && statedCall(options);
      if (!options || !stated?.call.identity || options.signal?.aborted) return undefined;
      const stream = streams.find(stated);
      if (!stream) return undefined;
      const body = encode(method.requestType, method.requestType.fromPartial(request) as never);
      if (body.byteLength > MAX_REQUEST_BYTES) return undefined;
      const step = { ...EMPTY_STEP, ...callToStep(stated), method: path, request: body, traceparent: tracing.traceparent() ?? '' };
      return new SharedCall(stream, method, step, options.signal, deadlineMs);
    };
    if (method.requestStream) sharing[name] = alone;
    else if (method.responseStream)
      sharing[name] = (request: never, options?: CallOptions) => {
        const goAlone = () => (alone as Streaming)(request, options);
        return find(request, options)?.stream(goAlone) ?? goAlone();
      };
    else
      sharing[name] = (request: never, options?: CallOptions) => {
        const goAlone = () => (alone as Unary)(request, options);
        return find(request, options)?.whole(goAlone) ?? goAlone();
      };
  }
  return sharing as Calls;
}

/** What became of a call. */
type Outcome = { readonly kind: 'over'; readonly error: AppError | undefined } | { readonly kind: 'alone' };

/** One call on a shared stream. */
class SharedCall {
  readonly #stream: SharedStream;
  readonly #method: MethodDefinition;
  readonly #step: CallStep;
  readonly #signal: AbortSignal | undefined;
  readonly #deadlineMs: number;
  #id = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: SharedStream, method: MethodDefinition, step: CallStep, signal: AbortSignal | undefined, deadlineMs: number) {
    this.#stream = stream;
    this.#method = method;
    this.#step = step;
    this.#signal = signal;
    this.#deadlineMs = deadlineMs;
  }

  /** The answer to a call that has one message. @param goAlone sends the call over a stream of its own */
  whole(goAlone: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let message: Uint8Array | undefined;
      let isOne = true;
      this.#begin(
        (received) => {
          isOne = message === undefined;
          message ??= received;
        },
        (outcome) => {
          if (outcome.kind === 'alone') resolve(goAlone());
          else if (outcome.error) reject(outcome.error);
          else if (message && isOne) this.#settleWith(message, resolve, reject);
          // A service of another version may send several where one was agreed on: a part is not the whole.
          else reject(new AppError('INTERNAL', 'internal error'));
        },
      );
    });
  }

  /** Runs in a listener of the stream, where nobody would catch what is thrown for a number that is too large. */
  #settleWith(message: Uint8Array, resolve: (answer: unknown) => void, reject: (error: unknown) => void): void {
    try {
      resolve(this.#method.responseType.decode(message));
    } catch (cause) {
      reject(new AppError('INTERNAL', 'internal error', { cause }));
    }
  }

  /** The messages of a streamed answer. Begins with the first that is asked for. */
  async *stream(goAlone: () => AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
    const messages: { readonly message: Uint8Array; readonly untakenBytes: number }[] = [];
    let outcome: Outcome | undefined;
    let wake: (() => void) | undefined;
    let takenBytes = 0;
    let waitingBytes = 0;
    let hasMessages = false;
    this.#begin(
      (message, untakenBytes) => {
        messages.push({ message, untakenBytes });
        hasMessages = true;
        waitingBytes += message.byteLength + MESSAGE_COST_BYTES;
        // A server of ours waits until some of it is taken.
        if (waitingBytes > MAX_WAITING_BYTES && !outcome) {
          this.#leave();
          outcome = { kind: 'over', error: new AppError('INTERNAL', 'internal error') };
          messages.length = 0;
        }
        wake?.();
      },
      (came) => {
        outcome = came;
        wake?.();
      },
      () => hasMessages,
    );
    try {
      for (;;) {
        const next = messages.shift();
        if (next) {
          waitingBytes -= next.message.byteLength + MESSAGE_COST_BYTES;
          yield this.#method.responseType.decode(next.message);
          takenBytes += next.untakenBytes;
          if (takenBytes < TAKEN_STEP_BYTES) continue;
          this.#stream.take(this.#id, takenBytes);
          takenBytes = 0;
        } else if (outcome?.kind === 'alone') return yield* goAlone();
        else if (outcome?.error) throw outcome.error;
        else if (outcome) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      if (!outcome) this.#leave();
    }
  }

  /** @param hasBegun whether somebody has seen a part of the answer */
  #begin(onMessage: CallEnd['onMessage'], onOutcome: (outcome: Outcome) => void, hasBegun = () => false): void {
    const settle = (outcome: Outcome) => {
      this.#settle();
      onOutcome(outcome);
    };
    const fail = (error: AppError) => {
      this.#leave();
      onOutcome({ kind: 'over', error });
    };
    this.#onAbort = () => fail(callCancelled(this.#signal?.reason));
    if (this.#signal?.aborted) {
      this.#onAbort();
      return;
    }
    if (!this.#stream.isUsable) {
      onOutcome({ kind: 'alone' });
      return;
    }
    this.#id = this.#stream.begin(this.#step, {
      onMessage,
      onAnswered: (failure) => settle({ kind: 'over', error: failure ? errorOfFailure(failure) : undefined }),
      onNotBegun: () => settle({ kind: 'alone' }),
      onLost: (cause) => {
        const mayRepeat = this.#method.options.idempotencyLevel === 'NO_SIDE_EFFECTS' && !hasBegun();
        settle(mayRepeat ? { kind: 'alone' } : { kind: 'over', error: serviceUnreachable(cause) });
      },
    });
    this.#signal?.addEventListener('abort', this.#onAbort);
    this.#timer = setTimeout(() => fail(deadlineExceeded()), this.#deadlineMs);
  }

  #onAbort = () => {};

  /** Nobody waits any more. */
  #leave(): void {
    this.#settle();
    this.#stream.cancel(this.#id);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

function errorOfFailure({ message, error }: NonNullable<AnswerStep['failure']>): AppError {
  return errorOf(error, message) ?? new AppError('INTERNAL', 'internal error');
}
