import { EventEmitter } from 'node:events';
import { AppError } from '@wharf/errors';
import { type DownloaderServiceClient, DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { expect, it } from 'vitest';
import { createInternalTokens } from '../identity/identity.ts';
import { NO_TRACING } from '../telemetry/tracing.ts';
import { outgoingCall } from './call.ts';
import { errorBytes, errorOf } from './errors.ts';
import { createMessageWriter } from './message-writer.ts';
import { type CallsStream, SharedStream } from './shared-stream.ts';
import { sharingClient } from './sharing-client.ts';

it('an error is known by its bytes; what is none of ours says nothing', () => {
  const known = errorOf(errorBytes(new AppError('QUOTA_EXCEEDED', 'full', { details: { bytes: 3 } })), 'full');
  expect(known).toMatchObject({ code: 'QUOTA_EXCEEDED', message: 'full', details: { bytes: 3 } });
  for (const text of ['', '{', '[]', '{"code":"NO_SUCH","details":{}}', '{"code":"INTERNAL"}'])
    expect(errorOf(Buffer.from(text), 'x')).toBeUndefined();
});

it.each([
  ['deep', `${'['.repeat(65)}${']'.repeat(65)}`],
  ['wide', JSON.stringify(Array.from({ length: 10_001 }, () => 1))],
  ['long', JSON.stringify('x'.repeat(256 * 1024))],
])('details that are too %s are none of ours', (_how, value) => {
  expect(errorOf(Buffer.from(`{"code":"INTERNAL","details":{"a":${value}}}`), 'x')).toBeUndefined();
});

it('a failure that tells nothing we know is an error of its call alone: it comes in a listener, where nobody would catch it', async () => {
  const tokens = createInternalTokens(Buffer.alloc(32), () => 0);
  const stream = Object.assign(new EventEmitter(), { write() {}, end() {}, cancel() {} });
  const shared = new SharedStream(stream as unknown as CallsStream, { onOpen() {}, onRetired() {}, onClosed() {} });
  stream.emit('data', { steps: [], retires: false, last_call_id: 0 });
  const streams = { find: () => shared, close() {} };
  const alone = {} as DownloaderServiceClient;
  const client = sharingClient(alone, DownloaderServiceDefinition, streams, NO_TRACING, createMessageWriter(), () => 30_000);
  const call = { identity: { kind: 'service', name: 'test' }, requestId: 'r', revisions: { auth: 0, admin: 0 } } as const;
  const answer = client.listTools({}, outgoingCall(tokens, call)).catch((error: unknown) => error);
  stream.emit('data', {
    steps: [{ call_id: 1, is_part: false, ends: true, failure: { message: 'x', error: Buffer.alloc(0) } }],
    retires: false,
    last_call_id: 0,
  });
  expect(await answer).toMatchObject({ code: 'INTERNAL' });
});
