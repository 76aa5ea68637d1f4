import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { Draft } from '../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { denied } from '../access/permissions.ts';
import { openLimited } from '../testing/limited-storage.ts';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { DENIED } from '../testing/three-storages.ts';
import { commit, published } from './publish-session.ts';
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

it.each([
  ['gets no name where its user is disabled', 'user', DENIED],
  ['gets its name also where the store is away for a moment', 'store', 'it has its name'],
] as const)('a draft %s while it waits for its turn', async (_what, lost, outcome) => {
  const store = new MemoryDriver({});
  let isWaiting = false;
  const draft: Partial<Draft> = {
    sizeBytes: async () => 0,
    close: async () => {},
    publish: async ({ beforePublish }) => {
      isWaiting = true;
      await beforePublish?.();
      throw new Error('it has its name');
    },
  };
  const memory = await openLimited(decorated({ ...operationsOf(store), openDraft: async () => draft as Draft }));
  const session = { id: '0'.repeat(32), userId: 7, path: vpath('/f'), storageId: 1, hasDraft: true, isPublished: false, sizeBytes: 0 };
  let asked = 0;
  const operationOf = async () => {
    if (isWaiting && lost === 'user') throw denied();
    asked += isWaiting ? 1 : 0;
    if (asked === 1) throw new AppError('STORAGE_UNAVAILABLE', 'the store does not answer');
    return memory.operation();
  };
  const parts = {
    options: { operationOf, clock: Date.now },
    store: { find: async () => session, beginPublishing: async () => {} },
    drafts: {
      use: (_id: string, run: (...given: unknown[]) => Promise<unknown>) =>
        run({ session, draft, operation: memory.operation(), uploadIdleMs: 1 }, { claiming: undefined }),
      release: async () => {},
    },
  } as unknown as SessionParts;
  const done = commit(parts, session.id, { sizeBytes: 0, digests: {} }, new AbortController().signal);
  if (lost === 'store') await expect(done).rejects.toThrow(outcome);
  else expect(await refusalOf(done)).toEqual(outcome);
});
