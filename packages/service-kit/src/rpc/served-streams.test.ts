import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import type { CallStep, CarryCallsRequest } from '@wharf/proto/call';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { expect, it } from 'vitest';
import { createInternalTokens, type InternalTokens } from '../identity/identity.ts';
import { NONE_ENDS, type OpenCalls } from '../ops/open-calls.ts';
import { NO_TRACING } from '../telemetry/tracing.ts';
import type { Call } from './call.ts';
import { createMessageWriter } from './message-writer.ts';
import { createServedStreams } from './served-streams.ts';
import { forServices, forUsers, type RpcService } from './service.ts';
import { EMPTY_STEP } from './shared-stream.ts';

it('calls whose ids are not higher than those before are not begun, and all that are begun end with their stream', async () => {
  const tokens = createInternalTokens(randomBytes(32), () => Date.now());
  let begun = 0;
  let ended = 0;
  const listEntries = forServices(async function* () {
    begun += 1;
    try {
      for (;;) yield { entries_utf8: Buffer.alloc(100_000) };
    } finally {
      ended += 1;
    }
  });
  const streams = streamsOf(tokens, NONE_ENDS, { listEntries });
  const identity = tokens.mint({ kind: 'service', name: 'test' });
  const call = (call_id: number): CallStep => ({ ...EMPTY_STEP, call_id, method: 'wharf.fs.v1.FsService/ListEntries', identity });
  const gone = new AbortController();
  async function* requests(): AsyncGenerator<CarryCallsRequest, void> {
    yield {
      steps: [
        { ...EMPTY_STEP, call_id: 7, taken_bytes: 5 },
        call(2),
        call(2),
        call(1),
        call(0),
        { ...EMPTY_STEP, call_id: 1, cancels: true },
        call(3),
      ],
    };
    await new Promise((resolve) => gone.signal.addEventListener('abort', resolve));
  }
  const answers = streams.serve(requests(), { signal: gone.signal })[Symbol.asyncIterator]();
  await answers.next();
  await waitFor('calls to begin', () => begun >= 2);
  await answers.next();
  expect(begun).toBe(2);
  gone.abort();
  await waitFor('all to end', () => ended === begun);
  while (!(await answers.next()).done);
});

it('a call that ends early says why to its caller, and is under way no longer', async () => {
  const tokens = createInternalTokens(randomBytes(32), () => Date.now());
  const under = new Map<string, (error: AppError) => void>();
  const openCalls: OpenCalls = {
    isShort: () => false,
    begin(owner, end) {
      under.set(owner, end);
      return () => under.delete(owner);
    },
  };
  const getEntry = forUsers(async (_request: never, { signal }: Call) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new AppError('CANCELLED', 'the caller has gone');
  });
  const streams = streamsOf(tokens, openCalls, { getEntry });
  const identity = tokens.mint({ kind: 'user', id: 7, username: 'u', role: 0, permission: 0, basePath: '/', sessionId: '' });
  const gone = new AbortController();
  async function* requests(): AsyncGenerator<CarryCallsRequest, void> {
    yield { steps: [{ ...EMPTY_STEP, call_id: 1, method: 'wharf.fs.v1.FsService/GetEntry', identity }] };
    await new Promise((resolve) => gone.signal.addEventListener('abort', resolve));
  }
  const answers = streams.serve(requests(), { signal: gone.signal })[Symbol.asyncIterator]();
  expect((await answers.next()).value?.steps, 'the stream is open').toEqual([]);
  const answer = answers.next();
  await waitFor('the call to begin', () => under.has('user 7'));
  under.get('user 7')?.(new AppError('OVERLOADED', 'too much'));
  expect((await answer).value?.steps).toMatchObject([{ call_id: 1, ends: true, failure: { message: 'too much' } }]);
  expect(under.size).toBe(0);
  gone.abort();
  while (!(await answers.next()).done);
});

function streamsOf(tokens: InternalTokens, openCalls: OpenCalls, methods: RpcService['methods']) {
  return createServedStreams({
    services: [{ definition: FsServiceDefinition, methods }],
    tokens,
    tracing: NO_TRACING,
    encode: createMessageWriter(),
    openCalls,
    onUnforeseen: () => undefined,
    lifetimeMs: 60_000,
  });
}
