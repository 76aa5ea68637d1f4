import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createUploadClaims, type HeldPart } from './upload-claims.ts';
import type { UploadSession, UploadStore } from './upload-session.ts';

const SESSION = { id: '0'.repeat(32) } as UploadSession;

/** A store of one claim. */
function oneClaim(): UploadStore {
  let holder: string | undefined;
  const store: Pick<UploadStore, 'claim' | 'free' | 'renew'> = {
    async claim({ writer }) {
      if (holder !== undefined) return { heldUntil: new Date() };
      holder = writer;
      return { session: SESSION, former: undefined };
    },
    async free({ writer }) {
      if (holder === writer) holder = undefined;
    },
    renew: async ({ writer }) => holder === writer,
  };
  return store as UploadStore;
}

it('of writers that press at once the newest goes on, and the others are told', async () => {
  const claims = createUploadClaims({ store: oneClaim(), clock: Date.now });
  const isWriting = Promise.withResolvers<void>();
  const untilTaken = ({ signal }: HeldPart) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      isWriting.resolve();
    });
  const write = (run: (part: HeldPart) => Promise<string>) =>
    claims.hold(SESSION, 'stream', true, run).catch((error) => (AppError.is(error, 'CANCELLED') ? 'ended' : Promise.reject(error)));
  const first = write(untilTaken);
  await isWriting.promise;
  const others = Array.from({ length: 5 }, (_, index) => write(async () => `${index}`));
  expect(await Promise.all([first, ...others])).toEqual(['ended', 'ended', 'ended', 'ended', 'ended', '4']);
  expect(await write(async () => 'later')).toBe('later');
});

it.each([
  ['has gone', undefined, { code: 'RECORD_NOT_FOUND' }],
  ['is complete', { ...SESSION, isPublished: true }, { code: 'FAILED_PRECONDITION', message: 'the upload is complete' }],
  ['is somebody else’s to go on with', { ...SESSION, isPublished: false }, { code: 'FAILED_PRECONDITION', details: { retryAfterMs: 0 } }],
])('what %s since is told as that: only what has gone is nothing', async (_, now, told) => {
  const store = { claim: async () => 'gone', find: async () => now, free: async () => undefined } as unknown as UploadStore;
  const claims = createUploadClaims({ store, clock: Date.now });
  await expect(claims.hold(SESSION, 'stream', true, async () => 'written')).rejects.toMatchObject(told);
});
