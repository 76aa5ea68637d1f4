import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type HttpServer, startHttpServer } from '@wharf/harness';
import { atEnd } from './rule-end.suite.ts';

/** What is in the way of a driver to its server: it passes everything on, or answers in the server's place. */
export interface WebRelay extends Pick<HttpServer, 'url' | 'requests'> {
  /** From now on it answers so; undefined: it passes on again. */
  answer(handler: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void;
}

/** Starts one until the test ends. @param to address of the server, by plain HTTP. @param tls a key and its certificate: it speaks HTTPS */
export async function startWebRelay(to: string, tls?: { key: string; cert: string }): Promise<WebRelay> {
  let answering: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  const server = await startHttpServer(async (asked, answered) => {
    if (answering) return answering(asked, answered);
    const { url: path = '/', method } = asked;
    const headers = { ...asked.headers };
    // A server of WebDAV takes addresses of its own alone.
    if (typeof headers['destination'] === 'string') headers['destination'] = headers['destination'].replace(server.url, to);
    // No connection is kept, nor one whose client has gone: they would count as the driver's.
    const passed = request(to, { path, method, headers, agent: false });
    answered.once('close', () => passed.destroy());
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      asked.pipe(passed.once('response', resolve).once('error', reject));
    });
    await pipeline(answer, answered.writeHead(answer.statusCode ?? 500, answer.headers));
  }, tls);
  atEnd(() => server.stop());
  return {
    url: server.url,
    requests: () => server.requests(),
    answer(handler) {
      answering = handler;
    },
  };
}

/** Notes what comes to it, until the test ends: every line of each request, and its body. */
export async function startListener(): Promise<{ readonly url: string; heard(): string }> {
  let heard = '';
  const server = await startHttpServer(async (asked, answered) => {
    heard += `${asked.method} ${asked.url}\n${asked.rawHeaders.join('\n')}\n`;
    for await (const piece of asked) heard += String(piece);
    answered.end('elsewhere');
  });
  atEnd(() => server.stop());
  return { url: server.url, heard: () => heard };
}
