import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Settings } from '@wharf/models';
import { type Caller, clientOf, type Identity, onceClosed, outgoingCall, type Peers, siteUrlOf } from '@wharf/service-kit';
import type { AnyContext } from '../api/route.ts';
import type { GatewayParts } from './gateway-parts.ts';
import type { Hold } from './held-bytes.ts';

/** A request as its route sees it. Costly parts are made when they are first asked for. */
export class RequestContext implements AnyContext {
  readonly caller: Caller | undefined;
  readonly hold: Hold;
  readonly #parts: GatewayParts;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #abort: AbortController | undefined;

  constructor(parts: GatewayParts, request: IncomingMessage, response: ServerResponse, caller: Caller | undefined, hold: Hold) {
    this.#parts = parts;
    this.#request = request;
    this.#response = response;
    this.caller = caller;
    this.hold = hold;
  }

  get peers(): Peers {
    return this.#parts.peers;
  }

  get options(): AnyContext['options'] {
    return this.#callAs(this.caller?.identity);
  }

  get ownCall(): AnyContext['ownCall'] {
    return () => this.#callAs({ kind: 'service', name: this.#parts.kit.name });
  }

  #callAs(identity: Identity | undefined): AnyContext['options'] {
    return outgoingCall(this.#parts.kit.tokens, {
      identity,
      requestId: this.#parts.scopes.of(this.#request).id,
      revisions: this.#parts.revisions.current(),
      ...clientOf(this.#parts.proxies, this.#request),
      signal: this.#signal(),
    });
  }

  get address(): string {
    return this.#parts.proxies.clientAddress(this.#request);
  }

  get userAgent(): string {
    return this.#request.headers['user-agent'] ?? '';
  }

  get siteUrl(): string {
    return siteUrlOf(this.#request, this.#parts.siteUrl, this.#parts.proxies);
  }

  get settings(): () => Promise<Settings> {
    return this.#parts.settings;
  }

  /** Ends what is being done for it. */
  end(): void {
    this.#signal();
    this.#abort?.abort();
  }

  /** Aborted when the client goes away before its answer. */
  #signal(): AbortSignal {
    if (this.#abort) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    onceClosed(this.#response, () => {
      if (!this.#response.writableFinished) abort.abort();
    });
    return abort.signal;
  }
}
