import type { IncomingHttpHeaders } from 'node:http';

/** The body of a request. A piece is asked for only when the server can take it, and is no longer used when the next one is asked for. */
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** A request that is on its way. */
export interface AskedRequest {
  readonly url: URL;
  /** The path and query as they are to arrive; left out: those of the address. */
  readonly target?: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | undefined;
  /** Aborts the request, until the head of the answer has come. */
  readonly signal: AbortSignal;
  /** It has a connection of its own, which may not stand yet: before, it waited for one of those that others have. */
  readonly onConnecting?: () => void;
  /** The connection stands. */
  readonly onConnected: () => void;
  /** The connection stands and the body has left. From now on the server is waited for. */
  readonly onSent: () => void;
}

/**
 * An answer whose body waits to be read. A reader that stops before the end destroys the answer. A piece of a bulk answer is lent until the
 * next one is asked for. Node's messages are answers, too.
 */
export interface Answer extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether the last byte of the body has come. */
  readonly complete: boolean;
  /** It came before all of the request's body had left: a server that calls that a success cannot have all of it. */
  readonly isEarly?: boolean;
  destroy(error?: Error): unknown;
  /** When its reader is done with it, or has left it. */
  once(event: 'close', run: () => void): unknown;
}
