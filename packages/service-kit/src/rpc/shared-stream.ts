import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js';
import type { AnswerStep, CallStep, CarryCallsRequest, CarryCallsResponse } from '@wharf/proto/call';

/** Calls of one stream that have not ended; more go over streams of their own. */
const MAX_CALLS = 1_000;
/** With so many bytes of steps they go out in a message of their own. */
const MESSAGE_BYTES = 256 * 1024;

/**
 * With so much that the transport has not taken, in bytes, further calls go over streams of their own: those take back what they have not sent when they end,
 * which this one cannot, and a server that stands still takes nothing.
 */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/** What a call takes here beside its request, in bytes. */
const CALL_COST_BYTES = 1024;
/** The largest message, in bytes. Listings are streamed in chunks far below it; lists of users or rules come whole. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** Parts of one message at most; a service of ours sends them of 256 KiB. */
const MAX_PARTS = 4_096;

/** A message that is longer is taken from the server before it is whole, in bytes: less than what the server lets be on its way. */
const MAX_UNTAKEN_BYTES = 256 * 1024;

/** What becomes of a call on a shared stream: exactly one of the last three comes, and nothing after it. */
export interface CallEnd {
  /** @param untakenBytes what the server has not been told to be taken */
  onMessage(message: Uint8Array, untakenBytes: number): void;
  onAnswered(failure: AnswerStep['failure']): void;
  /** The server did not begin it, and will not. */
  onNotBegun(): void;
  /** Nobody knows how far it came. */
  onLost(cause: unknown): void;
}

interface PendingCall {
  readonly end: CallEnd;
  /** Parts of a message that is not whole. */
  parts: Uint8Array[];
  partBytes: number;
  /** Bytes of these parts that the server has not been told to be taken. */
  untakenBytes: number;
}

export type CallsStream = ClientDuplexStream<CarryCallsRequest, CarryCallsResponse>;

/** Told of a stream, before its calls are. */
export interface StreamWatch {
  /** Calls may begin. */
  onOpen(): void;
  /** No call may begin any more; maybe none ever could. */
  onRetired(): void;
  /** @param lost calls that have no answer */
  onClosed(status: unknown, lost: number): void;
}

/** The client's side of one stream of calls. */
export class SharedStream {
  readonly #stream: CallsStream;
  readonly #watch: StreamWatch;
  readonly #pending = new Map<number, PendingCall>();
  #state: 'opening' | 'open' | 'retired' | 'closed' = 'opening';
  #steps: CallStep[] = [];
  #stepBytes = 0;
  /** What was handed to the transport, which has not taken it. */
  #unsentBytes = 0;
  #isFlushDue = false;
  #lastId = 0;
  /** Calls from here on were not handed to the transport. */
  #firstUnsent = 1;
  #failure: unknown;

  constructor(stream: CallsStream, watch: StreamWatch) {
    this.#stream = stream;
    this.#watch = watch;
    stream.on('data', (response: CarryCallsResponse) => this.#take(response));
    stream.on('error', (error) => {
      this.#failure = error;
    });
    stream.on('status', (status: StatusObject) => this.#close(this.#failure ?? status));
  }

  /** Whether a call may begin here. */
  get isUsable(): boolean {
    return this.#state === 'open' && this.#pending.size < MAX_CALLS && this.#unsentBytes + this.#stepBytes < MAX_UNSENT_BYTES;
  }

  get calls(): number {
    return this.#pending.size;
  }

  /** Whether a message goes out at the end of this turn of the event loop, with whatever is said until then. */
  get isAboutToSend(): boolean {
    return this.#isFlushDue;
  }

  /** @returns its id */
  begin(step: CallStep, end: CallEnd): number {
    this.#lastId += 1;
    this.#pending.set(this.#lastId, { end, parts: [], partBytes: 0, untakenBytes: 0 });
    step.call_id = this.#lastId;
    this.#say(step, step.request.byteLength + CALL_COST_BYTES);
    return this.#lastId;
  }

  /** The caller waits no more: nothing comes of this call after that. */
  cancel(id: number): void {
    if (!this.#pending.delete(id)) return;
    if (this.#state !== 'closed') this.#say({ ...EMPTY_STEP, call_id: id, cancels: true }, 0);
    this.#finishIfDone();
  }

  /** The caller has taken so much of the answer. */
  take(id: number, bytes: number): void {
    if (this.#pending.has(id)) this.#say({ ...EMPTY_STEP, call_id: id, taken_bytes: bytes }, 0);
  }

  /** Lets calls that were begun end, and begins no more. */
  finish(): void {
    if (this.#state === 'opening') {
      this.#stream.cancel();
      return;
    }
    if (this.#state === 'open') this.#state = 'retired';
    this.#finishIfDone();
  }

  #say(step: CallStep, bytes: number): void {
    this.#steps.push(step);
    this.#stepBytes += bytes;
    if (this.#stepBytes >= MESSAGE_BYTES) this.#flush();
    else if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      setImmediate(() => {
        this.#isFlushDue = false;
        this.#flush();
        this.#finishIfDone();
      });
    }
  }

  #flush(): void {
    if (this.#steps.length === 0 || this.#state === 'closed') return;
    const [steps, bytes] = [this.#steps, this.#stepBytes];
    this.#steps = [];
    this.#stepBytes = 0;
    this.#firstUnsent = this.#lastId + 1;
    this.#unsentBytes += bytes;
    this.#stream.write({ steps }, () => {
      this.#unsentBytes -= bytes;
    });
  }

  #take({ steps, retires, last_call_id }: CarryCallsResponse): void {
    if (this.#state === 'opening') {
      this.#state = 'open';
      if (!retires) this.#watch.onOpen();
    }
    for (const step of steps) this.#answer(step);
    if (retires) this.#retire(last_call_id);
  }

  #answer({ call_id, message, is_part, ends, failure }: AnswerStep): void {
    const call = this.#pending.get(call_id);
    if (!call) return;
    if (message) this.#collect(call_id, call, message, is_part);
    if (!ends || !this.#pending.delete(call_id)) return;
    call.end.onAnswered(failure);
    this.#finishIfDone();
  }

  #collect(id: number, call: PendingCall, message: Uint8Array, isPart: boolean): void {
    call.untakenBytes += message.byteLength;
    if (isPart) {
      call.parts.push(message);
      call.partBytes += message.byteLength;
      // No service of ours sends one: what comes of it is not gathered.
      if (call.partBytes > MAX_MESSAGE_BYTES || call.parts.length > MAX_PARTS) {
        this.cancel(id);
        call.end.onAnswered({ message: 'internal error', error: new Uint8Array(0) });
        return;
      }
      if (call.untakenBytes < MAX_UNTAKEN_BYTES) return;
      // The rest has to come before anybody can take any of it.
      this.take(id, call.untakenBytes);
      call.untakenBytes = 0;
      return;
    }
    call.partBytes = 0;
    call.end.onMessage(call.parts.length === 0 ? message : Buffer.concat([...call.parts.splice(0), message]), call.untakenBytes);
    call.untakenBytes = 0;
  }

  #retire(lastCallId: number): void {
    if (this.#state === 'open') this.#state = 'retired';
    // Told first: what was not begun may begin on the next stream.
    this.#watch.onRetired();
    for (const [id, call] of this.#pending) {
      if (id <= lastCallId) continue;
      this.#pending.delete(id);
      call.end.onNotBegun();
    }
    this.#finishIfDone();
  }

  /** A server that has retired waits for us to close our side: then nothing of ours is on its way. */
  #finishIfDone(): void {
    if (this.#state !== 'retired' || this.#pending.size > 0) return;
    this.#flush();
    if (!this.#stream.writableEnded) this.#stream.end();
  }

  #close(cause: unknown): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const calls = [...this.#pending];
    this.#pending.clear();
    this.#watch.onClosed(cause, calls.length);
    for (const [id, { end }] of calls) {
      if (id >= this.#firstUnsent) end.onNotBegun();
      else end.onLost(cause);
    }
  }
}

/** A step with nothing in it. */
export const EMPTY_STEP: CallStep = {
  call_id: 0,
  method: '',
  request: new Uint8Array(0),
  identity: '',
  request_id: '',
  auth_revision: 0,
  admin_revision: 0,
  client_address: '',
  client_agent: '',
  hops: [],
  once_key: '',
  traceparent: '',
  cancels: false,
  taken_bytes: 0,
};
