import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** As names and values, or as a list of both. */
type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

const ID_HEADER = 'X-Request-Id';

/**
 * An answer that tells the id of its request, and does not look whole where it is cut off. The id goes in with the other headers at the end: after a single `setHeader`, Node checks and
 * keeps each header of `writeHead` by itself, which costs a small answer several microseconds.
 */
export class IdentifiedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Undefined: none is told. */
  requestId: string | undefined;

  override writeHead(statusCode: number, statusMessage?: string, headers?: Headers): this;
  override writeHead(statusCode: number, headers?: Headers): this;
  override writeHead(statusCode: number, second?: string | Headers, third?: Headers): this {
    if (typeof second === 'string') return super.writeHead(statusCode, second, this.#withId(third));
    return super.writeHead(statusCode, this.#withId(third ?? second));
  }

  /** A client of HTTP/1.0 knows no chunks: the end of the connection would tell it that it has all, and a proxy would end for others what broke off. */
  override destroy(error?: Error): this {
    const { socket } = this;
    if (this.req.httpVersion === '1.0' && this.headersSent && !this.writableFinished && socket && !('encrypted' in socket))
      socket.resetAndDestroy();
    return super.destroy(error);
  }

  #withId(headers: Headers | undefined): Headers | undefined {
    if (this.requestId === undefined) return headers;
    if (!Array.isArray(headers)) return { [ID_HEADER]: this.requestId, ...headers };
    this.setHeader(ID_HEADER, this.requestId);
    return headers;
  }
}

/** Tells the id of a request with its answer, whichever server it came through. */
export function identify(response: ServerResponse, requestId: string): void {
  if (response instanceof IdentifiedResponse) response.requestId = requestId;
  else response.setHeader(ID_HEADER, requestId);
}
