import { type Channel, Client, credentials, Metadata } from '@grpc/grpc-js';
import { CallServiceDefinition, CarryCallsRequest } from '@wharf/proto/call';
import { IDENTITY, type StatedCall } from './call.ts';
import { decodeAnswers } from './decode-answers.ts';
import type { MessageWriter } from './message-writer.ts';
import { type CallsStream, SharedStream } from './shared-stream.ts';

/** Streams to one service: a channel spreads them over the replicas that it knows, and so the calls. */
const STREAMS = 4;
/** So many calls more than elsewhere go over one stream, to be in one message: a message costs more than the calls in it. */
const TOGETHER = 8;
/** How long a channel has for connecting to the other replicas once it has reached one, in milliseconds. */
const SPREAD_MS = 100;
/** After a stream that did not come to be, or that broke, there is no other try for so long, in milliseconds. */
const RETRY_MS = 1_000;
/** The same for a server that knows no shared streams. */
const RETRY_UNKNOWN_MS = 60_000;
const UNIMPLEMENTED = 12;

const PATH = `/${CallServiceDefinition.fullName}/${CallServiceDefinition.methods.carryCalls.name}`;

/** Told of streams that broke while `calls` of them had no answer. */
export type OnBroken = (status: unknown, calls: number) => void;

/** The streams to one service on which calls go together. Calls find none until one is open, and when none can be: then they go alone. */
export interface SharedStreams {
  /** A stream for this call; undefined: it has to go alone. */
  find(stated: StatedCall): SharedStream | undefined;
  /** Lets calls on their way end, and begins no more. */
  close(): void;
}

/**
 * Streams that retire are followed by others, over connections of their own (replaced-channel.ts says why).
 *
 * @param createChannel makes a channel that shares its connections with no other one. @param encode writes what is sent
 */
export function createSharedStreams(createChannel: () => Channel, encode: MessageWriter, onBroken: OnBroken): SharedStreams {
  const usable = new Set<SharedStream>();
  const sets = new Set<StreamSet>();
  let current: StreamSet | undefined;
  /** That of the call before. */
  let latest: SharedStream | undefined;
  let notBefore = 0;
  let isClosed = false;
  const wait = (ms: number) => {
    notBefore = Math.max(notBefore, performance.now() + ms);
  };
  const watch = {
    onOpen: (stream: SharedStream) => void usable.add(stream),
    onRetired(stream: SharedStream, wasOpen: boolean) {
      usable.delete(stream);
      // A server that retires at once is about to stop.
      if (!wasOpen) wait(RETRY_MS);
    },
    onClosed(stream: SharedStream, status: unknown, lost: number) {
      usable.delete(stream);
      const code = codeOf(status);
      if (code !== 0) wait(code === UNIMPLEMENTED ? RETRY_UNKNOWN_MS : RETRY_MS);
      if (lost > 0) onBroken(status, lost);
    },
  };
  return {
    find(stated) {
      if (isClosed) return undefined;
      if ((!current || current.isEnding) && performance.now() >= notBefore) {
        const begun = new StreamSet(createChannel(), encode, watch, () => sets.delete(begun));
        current = begun;
        sets.add(begun);
      }
      current?.fill(stated);
      let found: SharedStream | undefined;
      for (const stream of usable) if (stream.isUsable && (!found || stream.calls < found.calls)) found = stream;
      if (!found) return undefined;
      if (latest?.isAboutToSend && latest.isUsable && latest.calls < found.calls + TOGETHER) return latest;
      // Among equals, the next turn takes another one.
      if (usable.delete(found)) usable.add(found);
      latest = found;
      return found;
    },
    close() {
      isClosed = true;
      for (const set of sets) set.finish();
    },
  };
}

interface Watch {
  onOpen(stream: SharedStream): void;
  onRetired(stream: SharedStream, wasOpen: boolean): void;
  onClosed(stream: SharedStream, status: unknown, lost: number): void;
}

/** Streams over the connections of one channel, which closes with the last of them. */
class StreamSet {
  readonly #channel: Channel;
  readonly #client: Client;
  readonly #encode: MessageWriter;
  readonly #watch: Watch;
  readonly #onEmpty: () => void;
  readonly #streams = new Set<SharedStream>();
  #made = 0;
  /** When the others may follow the first; undefined: it is not open. */
  #fillAt: number | undefined;
  /** Whether one of its streams is not to be used any more: others are needed. */
  isEnding = false;

  constructor(channel: Channel, encode: MessageWriter, watch: Watch, onEmpty: () => void) {
    this.#channel = channel;
    this.#client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    this.#encode = encode;
    this.#watch = watch;
    this.#onEmpty = onEmpty;
  }

  /** Opens what is missing. The call proves that it is one of our own processes that asks. */
  fill(stated: StatedCall): void {
    if (this.#made === STREAMS || this.isEnding) return;
    if (this.#made === 0) this.#open(stated);
    else if (this.#fillAt !== undefined && performance.now() >= this.#fillAt) while (this.#made < STREAMS) this.#open(stated);
  }

  finish(): void {
    this.isEnding = true;
    for (const stream of this.#streams) stream.finish();
  }

  #open({ tokens, call }: StatedCall): void {
    if (!call.identity) return;
    this.#made += 1;
    const metadata = new Metadata();
    metadata.set(IDENTITY, tokens.mint(call.identity));
    const stream = this.#client.makeBidiStreamRequest(
      PATH,
      (request: CarryCallsRequest) => this.#encode(CarryCallsRequest, request as never),
      decodeAnswers,
      metadata,
    ) as CallsStream;
    let wasOpen = false;
    const shared: SharedStream = new SharedStream(stream, {
      onOpen: () => {
        wasOpen = true;
        this.#fillAt ??= performance.now() + SPREAD_MS;
        this.#watch.onOpen(shared);
      },
      onRetired: () => {
        this.isEnding = true;
        this.#watch.onRetired(shared, wasOpen);
      },
      onClosed: (status, lost) => {
        this.isEnding = true;
        this.#streams.delete(shared);
        this.#watch.onClosed(shared, status, lost);
        if (this.#streams.size > 0) return;
        this.#channel.close();
        this.#onEmpty();
      },
    });
    this.#streams.add(shared);
  }
}

const codeOf = (status: unknown) =>
  typeof status === 'object' && status !== null && 'code' in status && typeof status.code === 'number' ? status.code : undefined;
