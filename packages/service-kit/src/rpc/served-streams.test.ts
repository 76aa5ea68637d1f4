import { randomBytes } from 'node:crypto';
import { waitFor } from '@wharf/harness';
import type { CallStep, CarryCallsRequest } from '@wharf/proto/call';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { expect, it } from 'vitest';
import { createInternalTokens } from '../identity/identity.ts';
import { NO_TRACING } from '../telemetry/tracing.ts';
import { createMessageWriter } from './message-writer.ts';
import { createServedStreams } from './served-streams.ts';
import { forServices } from './service.ts';
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
  const streams = createServedStreams({
    services: [{ definition: FsServiceDefinition, methods: { listEntries } }],
    tokens,
    tracing: NO_TRACING,
    encode: createMessageWriter(),
    onUnforeseen: () => undefined,
    lifetimeMs: 60_000,
  });
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
