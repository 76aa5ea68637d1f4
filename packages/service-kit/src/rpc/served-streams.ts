import { AppError } from '@wharf/errors';
import { forOwner } from '@wharf/pace';
import type { AnswerStep, CallStep, CarryCallsRequest, CarryCallsResponse } from '@wharf/proto/call';
import type { CallContext } from 'nice-grpc-common';
import { shareKeyOf } from '../http/transfer-limit.ts';
import type { InternalTokens } from '../identity/identity.ts';
import type { OpenCalls } from '../ops/open-calls.ts';
import { foreseen } from '../store-outage.ts';
import { inSpan, type SpanOptions, streamInSpan, type Tracing } from '../telemetry/tracing.ts';
import { type Call, callFromStep } from './call.ts';
import { errorBytes } from './errors.ts';
import type { MessageWriter } from './message-writer.ts';
import { invoke, type MethodDefinition, type RpcService } from './service.ts';
import { spanNameOf } from './traced-client.ts';

/** A longer message goes out in parts of this size, in bytes: others get their turn in between. */
const PART_BYTES = 256 * 1024;
/** Of one call's answer no more is on its way before the caller has taken some, in bytes. */
const WINDOW_BYTES = 512 * 1024;
/** Of all answers of a stream no more waits for the connection, in bytes; who has more to say waits. */
const MAX_WAITING_BYTES = 256 * 1024;

/** The server's side of all shared streams. */
export interface ServedStreams {
  /** Serves the calls of one stream. */
  serve(requests: AsyncIterable<CarryCallsRequest>, context: Pick<CallContext, 'signal'>): AsyncIterable<CarryCallsResponse>;
  /** Takes no more calls. Resolves when those that were begun have been answered. */
  retireAll(): Promise<void>;
}

interface ServedMethod {
  readonly service: RpcService;
  readonly name: string;
  readonly spanName: string;
  readonly definition: MethodDefinition;
}

interface Serving {
  readonly tokens: InternalTokens;
  readonly tracing: Tracing;
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** Writes the answers. */
  readonly encode: MessageWriter;
  readonly openCalls: OpenCalls;
  readonly onUnforeseen: (error: unknown, method: string) => void;
}

/** @param lifetimeMs after that a stream retires, in milliseconds; its client opens another one, maybe to another replica */
export function createServedStreams(
  parts: Omit<Serving, 'methods'> & { readonly services: readonly RpcService[]; readonly lifetimeMs: number },
): ServedStreams {
  const methods = new Map<string, ServedMethod>();
  for (const service of parts.services)
    for (const [name, definition] of Object.entries(service.definition.methods)) {
      const spanName = spanNameOf(service.definition, name);
      if (!definition.requestStream) methods.set(spanName, { service, name, spanName, definition });
    }
  const open = new Set<ServedStream>();
  let onNoneOpen: (() => void) | undefined;
  return {
    async *serve(requests, { signal }) {
      const stream = new ServedStream({ ...parts, methods });
      const stop = () => stream.abort();
      const timer = setTimeout(() => stream.retire(), parts.lifetimeMs);
      open.add(stream);
      signal.addEventListener('abort', stop);
      if (onNoneOpen) stream.retire();
      try {
        yield* stream.serve(requests);
      } finally {
        clearTimeout(timer);
        open.delete(stream);
        if (open.size === 0) onNoneOpen?.();
        signal.removeEventListener('abort', stop);
        stop();
      }
    },
    retireAll() {
      for (const stream of open) stream.retire();
      return new Promise((resolve) => {
        onNoneOpen = resolve;
        if (open.size === 0) resolve();
      });
    },
  };
}

/** A call that was begun and is not over. */
interface RunningCall {
  readonly abort: AbortController;
  /** What its caller has not taken, in bytes. */
  onItsWay: number;
  wake: (() => void) | undefined;
  /** What its caller is told, where it was cancelled by us. */
  endedWith?: AppError;
}

class ServedStream {
  readonly #serving: Serving;
  readonly #running = new Map<number, RunningCall>();
  #steps: AnswerStep[] = [];
  #waitingBytes = 0;
  /** Wakes the writer, which waits for something to say. */
  #wake: (() => void) | undefined;
  /** Wakes calls that wait for room. */
  #waiters: (() => void)[] = [];
  #lastCallId = 0;
  #isRetired = false;
  #saysRetired = false;
  #isInputOver = false;

  constructor(serving: Serving) {
    this.#serving = serving;
  }

  async *serve(requests: AsyncIterable<CarryCallsRequest>): AsyncGenerator<CarryCallsResponse, void> {
    void this.#read(requests);
    // The client sends nothing before it hears us.
    if (!this.#saysRetired) yield { steps: [], retires: false, last_call_id: 0 };
    for (;;) {
      if (this.#steps.length > 0 || this.#saysRetired) yield this.#next();
      else if (this.#isInputOver && this.#running.size === 0) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#saysRetired = true;
    this.#stir();
  }

  /** Nobody waits for answers any more. */
  abort(): void {
    this.#isInputOver = true;
    for (const call of this.#running.values()) this.#cancel(call);
    this.#running.clear();
    this.#steps = [];
    this.#stir();
  }

  #cancel(call: RunningCall): void {
    call.abort.abort();
    call.wake?.();
  }

  /** The writer goes on once whoever has something to say in this turn of the event loop has said it. */
  #stir(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake) setImmediate(wake);
  }

  #next(): CarryCallsResponse {
    const response = { steps: this.#steps, retires: this.#saysRetired, last_call_id: this.#saysRetired ? this.#lastCallId : 0 };
    this.#saysRetired = false;
    this.#steps = [];
    this.#waitingBytes = 0;
    for (const go of this.#waiters.splice(0)) go();
    return response;
  }

  async #read(requests: AsyncIterable<CarryCallsRequest>): Promise<void> {
    try {
      for await (const { steps } of requests) for (const step of steps) this.#take(step);
    } catch {
      // The stream broke: whoever called hears of that on the client's side.
      return this.abort();
    }
    this.#isInputOver = true;
    this.#stir();
  }

  #take(step: CallStep): void {
    const call = this.#running.get(step.call_id);
    if (step.method !== '') {
      // What came after we said so is begun elsewhere. An id that was there before is no call: one that it took the place of would never be told of its end.
      if (this.#isRetired || step.call_id <= this.#lastCallId) return;
      this.#lastCallId = step.call_id;
      void this.#run(step);
    } else if (call && step.cancels) {
      this.#running.delete(step.call_id);
      this.#cancel(call);
      this.#stir();
    } else if (call) {
      call.onItsWay -= step.taken_bytes;
      call.wake?.();
    }
  }

  async #run(step: CallStep): Promise<void> {
    const { call_id } = step;
    const call: RunningCall = { abort: new AbortController(), onItsWay: 0, wake: undefined };
    this.#running.set(call_id, call);
    let end: AnswerStep;
    try {
      end = await this.#answer(step, call);
    } catch (thrown) {
      const error = call.endedWith ?? foreseen(thrown, call.abort.signal);
      if (!AppError.is(error)) this.#serving.onUnforeseen(error, step.method);
      const told = AppError.from(error);
      end = { call_id, is_part: false, ends: true, failure: { message: told.message, error: errorBytes(told) } };
    }
    if (!this.#running.delete(call_id)) return;
    this.#say(end);
  }

  /** Answers a call but for its last step, for a user as one of the calls that may end early. */
  async #answer(step: CallStep, call: RunningCall): Promise<AnswerStep> {
    const { tokens, openCalls } = this.#serving;
    const made = callFromStep(tokens, step, call.abort.signal);
    if (made.identity?.kind !== 'user') return this.#answerCall(step, call, made);
    const owner = shareKeyOf(made);
    const leave = openCalls.begin(owner, (error) => {
      call.endedWith = error;
      this.#cancel(call);
    });
    try {
      return await forOwner(owner, () => this.#answerCall(step, call, made));
    } finally {
      leave();
    }
  }

  async #answerCall(step: CallStep, call: RunningCall, made: Call): Promise<AnswerStep> {
    const { tracing, methods, encode } = this.#serving;
    const { call_id, traceparent } = step;
    const method = methods.get(step.method);
    if (!method) throw new AppError('UNSUPPORTED_OPERATION', 'not implement');
    const { service, name, spanName, definition } = method;
    const start = () => invoke(service, name, definition.requestType.decode(step.request), made);
    // Of a call that belongs to no trace, none begins.
    const span: SpanOptions = { kind: 'server', ...(traceparent === '' ? {} : { parent: traceparent }) };
    const written = (answer: unknown) => encode(definition.responseType, definition.responseType.fromPartial(answer as never) as never);
    if (!definition.responseStream) {
      const message = written(await inSpan(tracing, spanName, span, async () => start()));
      const last = await this.#sayAllButLast(call_id, call, message);
      return { call_id, message: last, is_part: false, ends: true };
    }
    for await (const answer of streamInSpan(tracing, spanName, span, () => start() as AsyncIterable<unknown>)) {
      const last = await this.#sayAllButLast(call_id, call, written(answer));
      this.#say({ call_id, message: last, is_part: false, ends: false });
    }
    return { call_id, is_part: false, ends: true };
  }

  /** @returns the last part, for which there is room */
  async #sayAllButLast(call_id: number, call: RunningCall, bytes: Buffer): Promise<Buffer> {
    for (let start = 0; ; start += PART_BYTES) {
      const part = bytes.subarray(start, start + PART_BYTES);
      const needsRoom = start > 0 || call.onItsWay > 0 || this.#waitingBytes > MAX_WAITING_BYTES;
      if (needsRoom) await this.#room(call);
      call.onItsWay += part.byteLength;
      this.#waitingBytes += part.byteLength;
      if (start + PART_BYTES >= bytes.byteLength) return part;
      this.#say({ call_id, message: part, is_part: true, ends: false });
    }
  }

  /** Resolves when the call may say more. @throws AppError CANCELLED */
  async #room(call: RunningCall): Promise<void> {
    for (;;) {
      if (call.abort.signal.aborted) throw new AppError('CANCELLED', 'the call was cancelled');
      const isWindowFull = call.onItsWay >= WINDOW_BYTES;
      if (!isWindowFull && this.#waitingBytes <= MAX_WAITING_BYTES) return;
      await new Promise<void>((resolve) => {
        call.wake = resolve;
        if (!isWindowFull) this.#waiters.push(resolve);
      });
      call.wake = undefined;
    }
  }

  #say(step: AnswerStep): void {
    this.#steps.push(step);
    this.#stir();
  }
}
