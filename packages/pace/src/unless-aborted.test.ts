import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { unlessAborted } from './unless-aborted.ts';

it('work that nobody waits for any more may fail, whenever that was', async () => {
  const failures: unknown[] = [];
  const note = (reason: unknown) => void failures.push(reason);
  process.on('unhandledRejection', note);
  try {
    const gone = new AbortController();
    const [before, meanwhile] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waiting = unlessAborted(gone.signal, meanwhile.promise);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(unlessAborted(gone.signal, before.promise)).rejects.toThrow('gone');
    for (const { reject } of [before, meanwhile]) reject(new Error('failed'));
    await setImmediate();
    expect(failures).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});
