import { type Agent, request as ask, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { freeChunk } from '@wharf/pace';
import { onceClosed } from '@wharf/service-kit';
import { passedHeaders } from './hop-by-hop.ts';

/** With so much of a body waiting for the data plane, the client waits, in bytes. */
const MAX_WAITING_BYTES = 512 * 1024;
/** What a piece counts at least: one of a single byte takes as much memory, in bytes. */
const PIECE_BYTES = 1024;

/**
 * Hands on what a client uploads, and what the data plane answers. The memory of each chunk is used again as soon as the system has it. While the
 * data plane takes nothing, the client waits. An answer that comes before the end of the body is handed on at once.
 *
 * @param onFailed is told when the data plane cannot be reached, or breaks off; the answer may have begun
 */
export type PassUpload = (request: IncomingMessage, response: ServerResponse, onFailed: (cause: Error) => void) => void;

/** @param url of the data plane. @param agent has the connections to it */
export function createPassUpload(url: string, agent: Agent): PassUpload {
  const { hostname, port } = new URL(url);
  return (request, response, onFailed) => {
    const headers = passedHeaders(request.headers);
    const outgoing = ask({ agent, host: hostname, port, method: request.method, path: request.url, headers });
    const stop = passBody(request, outgoing);
    let isOver = false;
    const fail = (cause: Error) => {
      stop();
      if (isOver) return;
      isOver = true;
      onFailed(cause);
    };
    outgoing.once('response', (answer) => {
      if (response.destroyed) return void answer.destroy();
      try {
        response.writeHead(answer.statusCode ?? 0, passedHeaders(answer.headers));
      } catch (cause) {
        // Nobody would catch what is thrown here for a status that is none.
        outgoing.destroy();
        return fail(notHttp(cause));
      }
      isOver = true;
      answer.once('error', onFailed).pipe(response);
    });
    outgoing.on('error', fail);
    // One whose server switches to another protocol tells neither an answer nor an error.
    outgoing.once('close', () => fail(notHttp()));
    onceClosed(response, () => {
      if (!response.writableFinished) outgoing.destroy();
    });
  };
}

/** The data plane, or what has its address, does not answer as it should. */
export function notHttp(cause?: unknown): Error {
  return new Error('the data plane gave no answer', { cause });
}

/** A request whose body has a length. */
export function isPlainUpload({ method, headers }: IncomingMessage): boolean {
  return method === 'PUT' && headers['transfer-encoding'] === undefined && headers['content-length'] !== undefined;
}

/** Has a proxy, which pipes a request, hand on its body in the same way: a pipe counts bytes alone. */
export function passPiped(request: IncomingMessage): void {
  let stop = () => {};
  Object.assign(request, {
    pipe(outgoing: ClientRequest) {
      stop = passBody(request, outgoing);
      return outgoing.once('close', stop);
    },
    unpipe() {
      stop();
      return request;
    },
  });
}

/** @returns what ends it; what still comes then is left to the server */
function passBody(request: IncomingMessage, outgoing: ClientRequest): () => void {
  let waitingBytes = 0;
  let isGathering = false;
  const onData = (chunk: Buffer) => {
    const weight = Math.max(chunk.byteLength, PIECE_BYTES);
    // What comes in one turn of the event loop goes out together.
    const { socket } = outgoing;
    if (!isGathering && socket) {
      isGathering = true;
      socket.cork();
      setImmediate(() => {
        isGathering = false;
        socket.uncork();
      });
    }
    waitingBytes += weight;
    if (waitingBytes >= MAX_WAITING_BYTES) request.pause();
    outgoing.write(chunk, () => {
      waitingBytes -= weight;
      freeChunk(chunk);
      if (waitingBytes < MAX_WAITING_BYTES && !isOver) request.resume();
    });
  };
  let isOver = false;
  const onEnd = () => outgoing.end();
  request.on('data', onData).once('end', onEnd);
  return () => {
    if (isOver) return;
    isOver = true;
    request.off('data', onData).off('end', onEnd).pause();
  };
}
