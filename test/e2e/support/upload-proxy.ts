import { type IncomingMessage, request as open, type ServerResponse } from 'node:http';
import { type HttpServer, startHttpServer } from '@wharf/harness';

/** A proxy before Wharf, as people have one, that can hold uploads up or refuse them. */
export interface UploadProxy {
  readonly base: string;
  /** Bodies above it are refused with 413; default: none is. */
  maxBodyBytes: number;
  /** The largest body that came until now. */
  largestBodyBytes(): number;
  /** Lets so many more parts of uploads, or requests by tus that carry bytes, pass; those after them wait. Resolves when these were answered. */
  holdAfter(parts: number): Promise<void>;
  /** Resolves when so many more were answered; none waits. */
  after(parts: number): Promise<void>;
  /** Lets all pass, also those that wait. */
  release(): void;
  stop(): Promise<void>;
}

/** @param targets the addresses of a Wharf: requests go to them in turns */
export async function startUploadProxy(...targets: readonly [string, ...string[]]): Promise<UploadProxy> {
  let requests = 0;
  let left = Number.POSITIVE_INFINITY;
  let largest = 0;
  let waiting: (() => void)[] = [];
  let passed = () => {};
  let answered = 0;
  const proxy = {
    maxBodyBytes: Number.POSITIVE_INFINITY,
    largestBodyBytes: () => largest,
    holdAfter(parts: number) {
      left = parts;
      return proxy.after(parts);
    },
    after(parts: number) {
      answered = parts;
      return new Promise<void>((resolve) => {
        passed = resolve;
      });
    },
    release() {
      left = Number.POSITIVE_INFINITY;
      for (const go of waiting) go();
      waiting = [];
    },
  };
  const server: HttpServer = await startHttpServer(async (request, response) => {
    const bytes = Number(request.headers['content-length'] ?? 0);
    largest = Math.max(largest, bytes);
    if (bytes > proxy.maxBodyBytes) {
      request.resume();
      return void request.on('end', () => response.writeHead(413, { 'Content-Type': 'text/html' }).end('<h1>413</h1>'));
    }
    const isPart = request.url === '/api/fs/multipart/chunk' || request.method === 'PATCH';
    if (isPart && left <= 0) await new Promise<void>((resolve) => waiting.push(resolve));
    if (isPart) left -= 1;
    try {
      await pass(targets[requests++ % targets.length] ?? targets[0], request, response);
    } finally {
      // Also of a client that is gone: nothing else comes of it.
      if (isPart) answered -= 1;
      if (isPart && answered === 0) passed();
    }
  });
  return {
    ...{ base: server.url, largestBodyBytes: proxy.largestBodyBytes, holdAfter: proxy.holdAfter },
    ...{ after: proxy.after, release: proxy.release },
    get maxBodyBytes() {
      return proxy.maxBodyBytes;
    },
    set maxBodyBytes(bytes) {
      proxy.maxBodyBytes = bytes;
    },
    stop: () => server.stop(),
  };
}

/** Sends a request on. Resolves when the answer is out. @throws Error when the target cannot be reached; the connection is broken then */
export function pass(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const { url, method, headers } = request;
    const onward = open(new URL(url ?? '/', target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', reject).pipe(response).on('finish', resolve);
    });
    response.on('close', () => onward.destroy());
    onward.on('error', reject);
    request.on('error', reject).pipe(onward);
  });
}
