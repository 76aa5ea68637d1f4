import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { InternalTokens } from '../identity/identity.ts';
import { IDENTITY } from './call.ts';

/** Connections on which nobody has proved to be one of our processes; of more the oldest ends. Ours prove it with their first call, and some watch health. */
const MAX_CONNECTIONS = 100;
/** Calls under way on such a connection; with more it ends. Each costs some 10 KB and 0.2 ms before anybody looks at it. @internal exported for its test */
export const MAX_UNPROVEN_CALLS = 16;

/** Node's own channels: of each connection that a server has taken, and of each stream of one, right before the server is told of it. */
const CONNECTED = 'net.server.socket';
const BEGUN = 'http2.server.stream.created';

/**
 * Bounds what callers without a token cost a gRPC port. The library makes all of a call before it asks whose it is, as many as one connection begins, and
 * shows us neither connections nor streams.
 *
 * @param port the port of this process that is meant
 * @returns ends the bounding
 */
export function boundUnproven(port: number, tokens: InternalTokens): () => void {
  const unproven = new Map<string, Socket>();
  const known = new WeakSet<ServerHttp2Session>();

  const connected = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort !== port) return;
    const peer = peerOf(socket);
    unproven.set(peer, socket);
    socket.once('close', () => {
      if (unproven.get(peer) === socket) unproven.delete(peer);
    });
    const [oldest] = unproven.values();
    if (unproven.size > MAX_CONNECTIONS) oldest?.destroy();
  };
  const begun = (message: unknown) => {
    // Every call passes here, of which nearly all are ours.
    const session = (message as { stream: ServerHttp2Stream }).stream.session as ServerHttp2Session | undefined;
    if (!session || known.has(session) || session.destroyed || session.socket.localPort !== port) return;
    known.add(session);
    // A session that has ended meanwhile has no socket.
    const peer = peerOf(session.socket);
    boundCalls(session, tokens, () => unproven.delete(peer));
  };
  subscribe(CONNECTED, connected);
  subscribe(BEGUN, begun);
  return () => {
    unsubscribe(CONNECTED, connected);
    unsubscribe(BEGUN, begun);
  };
}

/** Ends a connection with too many calls, until one of them proves whose it is. */
function boundCalls(session: ServerHttp2Session, tokens: InternalTokens, onProof: () => void): void {
  let underWay = 0;
  // Asked after the library: it would answer a call whose connection has ended meanwhile, and throw.
  session.on('stream', function look(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    if (isProof(tokens, headers[IDENTITY])) {
      session.off('stream', look);
      onProof();
      return;
    }
    underWay += 1;
    stream.once('close', () => {
      underWay -= 1;
    });
    if (underWay > MAX_UNPROVEN_CALLS) session.destroy();
  });
}

const peerOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>) => `${remoteAddress} ${remotePort}`;

function isProof(tokens: InternalTokens, token: string | string[] | undefined): boolean {
  if (typeof token !== 'string') return false;
  try {
    tokens.verify(token);
    return true;
  } catch {
    return false;
  }
}
