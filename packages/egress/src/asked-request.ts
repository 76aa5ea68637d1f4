import type { IncomingHttpHeaders } from 'node:http';

/** What a request carries. Pieces are asked for only as fast as the server takes them, and are done with when the next one is asked for. */
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** A request that is on its way. */
export interface AskedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | undefined;
  /** Ends it until its head has come. */
  readonly signal: AbortSignal;
  /** The connection stands. */
  readonly onConnected: () => void;
  /** The connection stands and the body has left: from now on it is the server's time. */
  readonly onSent: () => void;
}

/**
 * An answer whose body waits to be read; who stops reading before its end destroys it. A piece of a bulk answer is lent until the next one is asked
 * for. Node's messages are answers.
 */
export interface Answer extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether the last byte of the body has come. */
  readonly complete: boolean;
  destroy(error?: Error): unknown;
}
