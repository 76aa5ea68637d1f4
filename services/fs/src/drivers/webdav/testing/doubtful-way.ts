import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { startHttpServer } from '@wharf/harness';

/** What a proxy does with the changes of names that it is asked for. */
export type Doubt =
  | 'none'
  /** Each is carried out twice, and the second answer is told. */
  | 'twice'
  /** That of the number is answered with 504, and waits for `carryOut`. */
  | { readonly lateMove: number }
  /** Each takes its time, and was given to another server as well, which waits for `carryOut`. */
  | 'again';

/** Longer than a way to one server that answers at once. */
const SLOW_MS = 2_200;

/** A way to a WebDAV server that carries a MOVE out late, or twice. */
export interface DoubtfulWay {
  readonly url: string;
  doubt: Doubt;
  /** How many MOVEs came since `doubt` was set last by `begin`. */
  moves: number;
  /** Does what was to come late. @returns how much that was */
  carryOut(): Promise<number>;
  stop(): Promise<void>;
}

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export async function startDoubtfulWay({ host, port }: { host: string; port: number }): Promise<DoubtfulWay> {
  let late: Sent[] = [];

  async function pass({ method, url, headers, body }: Sent, response?: ServerResponse): Promise<void> {
    const got = await new Promise<IncomingMessage>((resolve, reject) => {
      const { 'transfer-encoding': _, ...rest } = headers;
      const sent = { host, port, path: url, method, headers: { ...rest, 'content-length': String(body.byteLength) } };
      request(sent).once('response', resolve).once('error', reject).end(body);
    });
    const said = await buffer(got);
    const { 'transfer-encoding': _, ...rest } = got.headers;
    response?.writeHead(got.statusCode ?? 502, rest).end(said);
  }

  const http = await startHttpServer(async (asked, response) => {
    const { method = '', url = '', headers } = asked;
    const sent = { method, url, headers, body: await buffer(asked) };
    const { doubt } = way;
    if (method === 'MOVE') way.moves += 1;
    const isChange = method === 'MOVE' || method === 'MKCOL';
    if (typeof doubt === 'object' && method === 'MOVE' && way.moves === doubt.lateMove) {
      late.push(sent);
      return void response.writeHead(504).end();
    }
    if (isChange && doubt === 'twice') await pass(sent);
    if (isChange && doubt === 'again') {
      late.push(sent);
      await wait(SLOW_MS);
    }
    await pass(sent, response);
  });
  const way: DoubtfulWay = {
    url: http.url,
    doubt: 'none',
    moves: 0,
    async carryOut() {
      const held = late;
      late = [];
      for (const sent of held) await pass(sent);
      return held.length;
    },
    stop: () => http.stop(),
  };
  return way;
}
