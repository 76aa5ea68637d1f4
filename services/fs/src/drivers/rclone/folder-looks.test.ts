import type { MountPath } from '@wharf/paths';
import { expect, it, vi } from 'vitest';
import type { RemoteEntry } from './client.ts';
import { createFolderLooks } from './folder-looks.ts';

const entry = (name: string): RemoteEntry => ({ name, isFolder: false, sizeBytes: 1, modifiedAt: new Date(0) });
const at = (path: string) => path as MountPath;

/** A folder whose listings end when they are told to. */
function folder(names: string[], foldsCase = true) {
  const begun: { signal: AbortSignal; end: (error?: Error) => void }[] = [];
  const lookFor = createFolderLooks(
    async (_folder, tell, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      begun.push({ signal, end: (error) => (error ? reject(error) : resolve()) });
      signal.addEventListener('abort', () => reject(signal.reason));
      await promise;
      for (const name of names) tell(entry(name));
    },
    () => foldsCase,
  );
  return { begun, lookFor, names };
}

it('is listed once more for all who ask while it is listed, and they see what was there when they asked', async () => {
  const { begun, lookFor, names } = folder(['a']);
  const first = lookFor(at('/f/a'), undefined);
  const others = [...'abAc'].map((name) => lookFor(at(`/f/${name}`), undefined));
  names.push('b');
  begun[0]?.end();
  expect(await first).toEqual({ itself: entry('a'), others: 0 });
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  expect(await Promise.all(others)).toEqual([
    { itself: entry('a'), others: 0 },
    { itself: entry('b'), others: 0 },
    { itself: undefined, others: 1 },
    { itself: undefined, others: 0 },
  ]);
  expect(begun).toHaveLength(2);
});

it('is taken by its own spelling alone where cases are told apart', async () => {
  const { begun, lookFor } = folder(['a'], false);
  const looks = [lookFor(at('/f/A'), undefined), lookFor(at('/f/A'), undefined)];
  begun[0]?.end();
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  for (const look of looks) expect(await look).toEqual({ itself: undefined, others: 0 });
});

it('is left alone when nobody waits for it any more, and asked again by the next', async () => {
  const { begun, lookFor } = folder(['a']);
  const [first, second] = [new AbortController(), new AbortController()];
  const gone = [lookFor(at('/f/a'), first.signal), lookFor(at('/f/a'), second.signal)];
  first.abort();
  second.abort();
  for (const look of gone) await expect(look).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(begun.map(({ signal }) => signal.aborted)).toEqual([true]);
  const again = lookFor(at('/f/a'), undefined);
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  expect(await again).toEqual({ itself: entry('a'), others: 0 });
});

it('fails for those who asked for the listing that failed, and for no other', async () => {
  const { begun, lookFor } = folder(['a']);
  const [first, second] = [lookFor(at('/f/a'), undefined), lookFor(at('/f/a'), undefined)];
  begun[0]?.end(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  expect(await second).toMatchObject({ itself: entry('a') });
});
