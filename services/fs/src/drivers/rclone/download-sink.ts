import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from '@wharf/egress';
import { createPlainServer } from '@wharf/pace';
import { storageError } from '../../driver-contract/storage-error.ts';
import { abortable } from '../../driver-contract/verified-content.ts';

/** How long rclone may take to let go of a content that is taken for whole. */
const LEAVE_MS = 1_000;

/** One content that rclone is asked to bring. */
export interface Delivery {
  /** The file of the remote that it is to be copied to. */
  readonly name: string;
  /** Comes with its first bytes. */
  readonly content: Promise<Delivered>;
  /** It is waited for no more. */
  drop(): void;
}

/**
 * A WebDAV server on loopback to which rclone copies what we read: what it copies it reads ahead in large pieces, and what it serves over HTTP in pieces of
 * 32 KiB. It takes what was asked for, once, from who knows its address, and keeps nothing.
 */
export interface DownloadSink {
  /** As rclone writes a remote that is in no configuration. */
  readonly remote: string;
  expect(): Delivery;
  /** Ends all that comes. Safe twice. */
  close(): void;
}

interface Expected {
  resolve(content: Delivered): void;
  reject(error: unknown): void;
  /** What came of it: rclone looks at it in the end. */
  cameBytes: number | undefined;
}

export async function openDownloadSink(): Promise<DownloadSink> {
  const base = `/${newName()}`;
  const expected = new Map<string, Expected>();
  const server = createPlainServer((request, response) => {
    const { method, url = '' } = request;
    const delivery = url.startsWith(`${base}/`) ? expected.get(url.slice(base.length + 1)) : undefined;
    if (method === 'PUT' && delivery?.cameBytes === undefined && delivery) take(request, response, delivery);
    else if (method === 'PROPFIND' && (url === base || url === `${base}/`))
      describe(response, url, '<D:resourcetype><D:collection/></D:resourcetype>');
    else if (method === 'PROPFIND' && delivery?.cameBytes !== undefined) {
      describe(response, url, `<D:resourcetype/><D:getcontentlength>${delivery.cameBytes}</D:getcontentlength>`);
    } else response.writeHead(404, { 'Content-Length': 0 }).end();
  });
  // Who reads may take its time.
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Such as that no file handle is left for a connection: the next one may have one.
  server.on('error', () => undefined);
  server.unref();
  return {
    remote: `:webdav,url="http://127.0.0.1:${(server.address() as AddressInfo).port}${base}",vendor=other:`,
    expect() {
      const name = newName();
      const { promise, resolve, reject } = Promise.withResolvers<Delivered>();
      promise.catch(() => undefined);
      expected.set(name, { resolve, reject, cameBytes: undefined });
      return { name, content: promise, drop: () => void expected.delete(name) };
    },
    close() {
      for (const { reject } of expected.values()) reject(storageError('STORAGE_UNAVAILABLE'));
      server.close();
      server.closeAllConnections();
    },
  };
}

function take(request: IncomingMessage, response: ServerResponse, delivery: Expected): void {
  const content = new Delivered(request, response);
  delivery.cameBytes = content.sizeBytes;
  delivery.resolve(content);
}

/** What rclone brings. Who leaves it early says that all has come: where it breaks off, rclone keeps the file open for a second. */
export class Delivered implements Answer {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #left = new AbortController();

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    request.on('error', () => undefined).once('end', () => this.#confirm());
  }

  get headers(): Answer['headers'] {
    return this.#request.headers;
  }

  get complete(): boolean {
    return this.#request.complete;
  }

  /** Of the file, when rclone has opened it. */
  get sizeBytes(): number {
    return Number(this.#request.headers['content-length']);
  }

  once(event: 'close', run: () => void): unknown {
    return this.#request.once(event, run);
  }

  destroy(): void {
    if (this.#left.signal.aborted) return;
    this.#left.abort(storageError('CANCELLED'));
    this.#confirm();
    setTimeout(() => this.#request.destroy(), LEAVE_MS).unref();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return abortable(this.#request.iterator({ destroyOnReturn: false }), this.#left.signal);
  }

  #confirm(): void {
    if (!this.#response.headersSent) this.#response.writeHead(201, { 'Content-Length': 0 }).end();
  }
}

function describe(response: ServerResponse, path: string, properties: string): void {
  const text = `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>${path}</D:href><D:propstat><D:prop>${properties}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`;
  response.writeHead(207, { 'Content-Type': 'application/xml', 'Content-Length': Buffer.byteLength(text) }).end(text);
}

function newName(): string {
  return randomBytes(32).toString('hex');
}
