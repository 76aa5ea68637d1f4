import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { lendPieces } from '@wharf/harness';
import { createInternalTokens, NO_TRACING } from '@wharf/service-kit';
import { afterEach, expect, it } from 'vitest';
import { type ByteWriter, createHttpByteWriter } from '../src/clients/byte-writer.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A writer in front of a data plane that answers as told. */
async function open(answer: http.RequestListener): Promise<ByteWriter> {
  const server = http.createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tokens = createInternalTokens(Buffer.alloc(32, 1), Date.now);
  const writer = createHttpByteWriter(
    { name: 'downloader', tokens, tracing: NO_TRACING },
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  closing.push(() => {
    writer.close();
    server.closeAllConnections();
    server.close();
  });
  return writer;
}

const SESSION = { id: 'a'.repeat(32), dataUrl: '' };
const never = new AbortController().signal;

it('pieces that are lent arrive as they were, at a receiver that takes its time', async () => {
  const content = randomBytes(8_000_000);
  const received = Promise.withResolvers<Buffer>();
  const writer = await open(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk);
      for (let pause = 0; pause < 20; pause++) await turn();
    }
    received.resolve(Buffer.concat(chunks));
    response.writeHead(204).end();
  });
  await writer.writeRange(SESSION, 5, lendPieces(content, [10, 262_144, 65_536]), never);
  expect((await received.promise).equals(content)).toBe(true);
});

it('writes that take their time hold up no other', async () => {
  const slow = { id: 'b'.repeat(32), dataUrl: '' };
  let begun = 0;
  const writer = await open((request, response) => {
    if (request.url?.includes(slow.id)) begun += 1;
    else request.resume().once('end', () => response.writeHead(204).end());
  });
  const holding = new AbortController();
  const trickle = async function* () {
    yield Buffer.alloc(1_000);
    await new Promise((resolve) => holding.signal.addEventListener('abort', resolve));
  };
  // As many as 19 downloads with 16 connections each.
  const held = Array.from({ length: 304 }, () => writer.writeRange(slow, 0, trickle(), holding.signal).catch(() => 'ended'));
  await expect.poll(() => begun, { timeout: 30_000 }).toBe(304);
  await writer.writeRange(SESSION, 0, lendPieces(randomBytes(1_000), [100]), never);
  holding.abort(new AppError('CANCELLED', 'cancelled'));
  expect(new Set(await Promise.all(held))).toEqual(new Set(['ended']));
});

it('a refusal before all has been sent ends the sending, and is told', async () => {
  let asked = 0;
  const endless = async function* () {
    for (;;) {
      asked += 1;
      yield Buffer.alloc(100_000);
      await turn();
    }
  };
  const writer = await open((request, response) => {
    request.resume();
    response.writeHead(507).end('{"code":"QUOTA_EXCEEDED","message":"no room"}');
  });
  await expect(writer.writeRange(SESSION, 0, endless(), never)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', message: 'no room' });
  expect(asked).toBeGreaterThan(0);
  const silent = await open(async (request) => void (await buffer(request).catch(() => undefined)));
  const gone = new AbortController();
  const sending = silent.writeRange(SESSION, 0, endless(), gone.signal);
  gone.abort();
  await expect(sending).rejects.toThrowError();
});

it('a success before all has been sent is none', async () => {
  const writer = await open((request, response) => void request.resume().once('data', () => response.writeHead(204).end()));
  const ended = Promise.withResolvers<void>();
  const content = async function* () {
    try {
      for (let piece = 0; piece < 1_000; piece++) {
        yield Buffer.alloc(100_000);
        await turn();
      }
    } finally {
      ended.resolve();
    }
  };
  await expect(writer.writeRange(SESSION, 0, content(), never)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await ended.promise;
});

it('an answer that breaks off says that the file service is away: what is there is gone on with', async () => {
  const writer = await open((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(500, { 'Content-Length': '1000' }).write('{', () => response.destroy());
    });
  });
  const content = async function* () {
    yield Buffer.alloc(10);
  };
  await expect(writer.writeRange(SESSION, 0, content(), never)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});
