import type { IncomingHttpHeaders } from 'node:http';

/** A request that is on its way. */
export interface AskedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** Ends it until its head has come. */
  readonly signal: AbortSignal;
  /** The connection stands: from now on it is the server's time. */
  readonly onConnected: () => void;
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
