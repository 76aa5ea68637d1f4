import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AnswerStep, CarryCallsResponse } from '@wharf/proto/call';
import { FsServiceDefinition, type ListEntriesResponse } from '@wharf/proto/fs';
import { beforeEach, expect, it } from 'vitest';
import { createInternalTokens } from '../identity/identity.ts';
import { NO_TRACING } from '../telemetry/tracing.ts';
import { outgoingCall } from './call.ts';
import { createMessageWriter } from './message-writer.ts';
import { type CallsStream, SharedStream } from './shared-stream.ts';
import { sharingClient } from './sharing-client.ts';

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(MIB);

const tokens = createInternalTokens(Buffer.alloc(32, 1), () => Date.now());
const options = outgoingCall(tokens, { identity: { kind: 'service', name: 'test' }, requestId: 'r', revisions: { auth: 0, admin: 0 } });

/** A server that says whatever a test has it say. */
let said: (steps: Partial<AnswerStep>[]) => void;
/** To be called for what was sent, once the server has taken it. */
let untaken: (() => void)[];
/** Calls that went alone. */
let alone: number;
let fs: {
  getEntry(request: object, options: unknown): Promise<unknown>;
  listEntries(request: object, options: unknown): AsyncIterable<ListEntriesResponse>;
};
beforeEach(() => {
  const stream = new PassThrough({ objectMode: true });
  [untaken, alone] = [[], 0];
  const write = (_message: unknown, taken: () => void) => untaken.push(taken) > 0;
  const shared = new SharedStream(Object.assign(stream, { write }) as unknown as CallsStream, {
    onOpen() {},
    onRetired() {},
    onClosed() {},
  });
  said = (steps) => void stream.emit('data', CarryCallsResponse.fromPartial({ steps }));
  said([]);
  const streams = { find: () => shared, close() {} };
  const client: object = {
    async getEntry() {
      alone += 1;
    },
  };
  fs = sharingClient(client, FsServiceDefinition, streams, NO_TRACING, createMessageWriter(), () => 60_000) as typeof fs;
});

it('a message that does not end is an error, and no more of it is gathered', async () => {
  const entry = fs.getEntry({ path: '/' }, options);
  entry.catch(() => {});
  for (let mib = 0; mib < 70; mib += 1) said([{ call_id: 1, message: PIECE, is_part: true }]);
  await expect(entry).rejects.toMatchObject({ code: 'INTERNAL' });
  const next = fs.getEntry({ path: '/' }, options);
  said([
    { call_id: 1, message: PIECE, is_part: true },
    { call_id: 2, message: Buffer.alloc(0), ends: true },
  ]);
  expect(await next).toMatchObject({ name: '' });
});

it('messages that come although nobody takes them end their call', async () => {
  const entries = fs.listEntries({ path: '/' }, options)[Symbol.asyncIterator]();
  const first = entries.next();
  const message = Buffer.from([]);
  said([{ call_id: 1, message }]);
  await first;
  for (let mib = 0; mib < 200; mib += 1) said([{ call_id: 1, message: PIECE }]);
  await expect(entries.next()).rejects.toMatchObject({ code: 'INTERNAL' });
});

it('messages without a byte that nobody takes end their call, too', async () => {
  const entries = fs.listEntries({ path: '/' }, options)[Symbol.asyncIterator]();
  const first = entries.next();
  const message = Buffer.alloc(0);
  said([{ call_id: 1, message }]);
  await first;
  const many = Array.from({ length: 10_000 }, () => ({ call_id: 1, message }));
  for (let round = 0; round < 4; round += 1) said(many);
  await expect(entries.next()).rejects.toMatchObject({ code: 'INTERNAL' });
});

it('nor are parts without a byte gathered without end', async () => {
  const entry = fs.getEntry({ path: '/' }, options);
  entry.catch(() => {});
  said(Array.from({ length: 5_000 }, () => ({ call_id: 1, message: Buffer.alloc(0), is_part: true })));
  said([{ call_id: 1, message: Buffer.alloc(0), ends: true }]);
  await expect(entry).rejects.toMatchObject({ code: 'INTERNAL' });
});

it('while a server takes nothing, what is sent to it is bounded, though callers go and others come', async () => {
  const asked = async () => {
    const going = new AbortController();
    const entry = fs.getEntry({ path: 'x'.repeat(60_000) }, { ...options, signal: going.signal }).catch(() => undefined);
    await nextTurn();
    going.abort();
    await entry;
  };
  for (let call = 0; call < 200; call += 1) await asked();
  expect(alone).toBeGreaterThan(100);
  for (const taken of untaken) taken();
  const before = alone;
  await asked();
  expect(alone).toBe(before);
});
