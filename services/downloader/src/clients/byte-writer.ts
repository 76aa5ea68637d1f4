import http from 'node:http';
import https from 'node:https';
import { AppError, isErrorCode } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { callHeaders, inSpan, type ServiceKit, traceHeaders } from '@wharf/service-kit';
import { z } from 'zod';
import type { Digests } from '../domain/digests.ts';

/** Hands bytes of a write session to the fs that holds it. */
export interface ByteWriter {
  /** @throws AppError as the session says | STORAGE_UNAVAILABLE: fs cannot be reached | what `content` throws */
  writeRange(session: WriteTarget, offsetBytes: number, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  writeWhole(
    session: WriteTarget,
    file: { readonly sizeBytes: number; readonly digests: Digests },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  close(): void;
}

export interface WriteTarget {
  readonly id: string;
  /** Of the replica that holds it; empty: any. */
  readonly dataUrl: string;
}

const refusalShape = z.object({ code: z.string(), message: z.string() });
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Over the data plane of fs, with the internal token. @param dataUrl where sessions go that name no replica */
export function createHttpByteWriter(kit: Pick<ServiceKit, 'name' | 'tokens' | 'tracing'>, dataUrl: string): ByteWriter {
  // As many connections as there are writes: those of a source that trickles would keep others waiting.
  const settings = { keepAlive: true };
  const agents = { http: new http.Agent(settings), https: new https.Agent(settings) };
  const put = (...sent: Parameters<typeof send>) => inSpan(kit.tracing, 'PUT /internal/writes/*', { kind: 'client' }, () => send(...sent));
  const send = async (session: WriteTarget, query: URLSearchParams, content: AsyncIterable<Uint8Array>, signal: AbortSignal) => {
    const url = new URL(`/internal/writes/${session.id}?${query}`, session.dataUrl || dataUrl);
    const isTls = url.protocol === 'https:';
    const identity = { kind: 'service', name: kit.name } as const;
    const call = { identity, requestId: `${kit.name}-own`, revisions: { auth: 0, admin: 0 }, siteUrl: '' };
    const request = (isTls ? https : http).request(url, {
      method: 'PUT',
      headers: { ...callHeaders(kit.tokens, call), ...traceHeaders(kit.tracing) },
      agent: isTls ? agents.https : agents.http,
      signal,
    });
    await sendBody(request, content, signal);
  };
  return {
    writeRange: (session, offsetBytes, content, signal) =>
      put(session, new URLSearchParams({ offset: String(offsetBytes) }), content, signal),
    writeWhole: (session, { sizeBytes, digests }, content, signal) =>
      put(session, new URLSearchParams({ size: String(sizeBytes), ...digests }), content, signal),
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/**
 * Sends a body as fast as it is taken, and stops at once when the other side answers before the end. A piece is only lent: it has gone to
 * the system before the next one is asked for.
 */
async function sendBody(request: http.ClientRequest, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const answer = Promise.withResolvers<http.IncomingMessage>();
  let isOver = false;
  let wake = () => {};
  const end = () => {
    isOver = true;
    wake();
  };
  request.once('response', (response) => {
    end();
    answer.resolve(response);
  });
  request.on('error', (error) => {
    end();
    answer.reject(awayError(error));
  });
  answer.promise.catch(() => undefined);
  // The reason is told as it is, whatever the request says of its end.
  const onAbort = () => {
    end();
    answer.reject(
      AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'the upload was given up', { cause: signal.reason }),
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for await (const chunk of content) {
      if (isOver) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        request.write(chunk, () => resolve());
      });
    }
    // Its end is still to be sent: whatever has come by now came too early.
    const isAllSent = !isOver;
    if (isAllSent) request.end();
    await readAnswer(await answer.promise, isAllSent);
  } catch (error) {
    request.destroy();
    if (signal.aborted && AppError.is(signal.reason)) throw signal.reason;
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** @param isAllSent false: what was sent is not all there is, so it cannot have been taken */
async function readAnswer(response: http.IncomingMessage, isAllSent: boolean): Promise<void> {
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) if (text.length < MAX_REFUSAL_BYTES) text += chunk;
  } catch (cause) {
    throw awayError(cause);
  }
  if (response.statusCode === 204 && isAllSent) return;
  const refusal = refusalShape.safeParse(parseJson(text));
  if (refusal.success && isErrorCode(refusal.data.code)) throw new AppError(refusal.data.code, refusal.data.message);
  throw new AppError('STORAGE_UNAVAILABLE', 'the file service did not take the bytes');
}

function awayError(cause: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'the file service cannot be reached', { cause });
}
