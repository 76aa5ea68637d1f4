import { expect, it } from 'vitest';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { published } from './publish-session.ts';
import type { SessionParts } from './session-parts.ts';
import type { WriteSession } from './write-session.ts';

it('a file that has its name is told also where the store is away, or the process ends, when that is noted: another try only finds it noted', async () => {
  const memory = await openTree({});
  const store: Partial<SessionParts['store']> = { markPublished: () => Promise.reject(new Error('the store does not answer')) };
  const parts = { store, options: { clock: Date.now } } as unknown as SessionParts;
  const session = { id: 'id', userId: 1 } as WriteSession;
  await memory.put('/f');
  const done = published(parts, session, memory.operation(), { path: vpath('/f'), sizeBytes: 2 });
  await expect(done).rejects.toThrow('the store does not answer');
  expect(memory.published).toEqual(['/f']);
});
