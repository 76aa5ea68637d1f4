import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { memoryDriver } from '../drivers/memory/index.ts';
import { at, collect, pattern, put } from './conformance/driver-calls.ts';
import type { ByteRange, Entry, StorageDriver } from './storage-driver.ts';
import { withResumedReads } from './with-resumed-reads.ts';

const NO_PAUSES = [0, 0];
const content = pattern(500_000);
const broken = () => new AppError('STORAGE_UNAVAILABLE', 'the connection broke');

/** A file whose every read breaks after one piece, by what `fail` throws. @param more of its entry. @param said in place of a piece of a read, the first one is 1 */
async function breaking(
  fail: () => unknown,
  whileOpen: (driver: Required<StorageDriver>, reads: number) => Promise<void> = async () => {},
  more: Partial<Entry> = {},
  said: (piece: Uint8Array, read: number) => Uint8Array = (piece) => piece,
) {
  const driver = (await memoryDriver.open('')) as Required<StorageDriver>;
  await put(driver, '/file', content);
  const ranges: (ByteRange | undefined)[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const resumed = withResumedReads(
    Object.assign(Object.create(driver) as StorageDriver, {
      async read(...[file, range, options]: Parameters<StorageDriver['read']>) {
        const opened = await driver.read(file, range, options);
        const read = ranges.push(range);
        signals.push(options?.signal);
        return {
          entry: { ...opened.entry, ...more },
          async *[Symbol.asyncIterator]() {
            for await (const piece of opened) {
              yield said(piece, read);
              await whileOpen(driver, ranges.length);
              throw fail();
            }
          },
        };
      },
    }),
    NO_PAUSES,
  );
  return { resumed, ranges, signals };
}

describe('a read that breaks', () => {
  it('goes on where it was, as often as it gets on', async () => {
    const { resumed, ranges } = await breaking(broken);
    expect((await collect(await resumed.read(at('/file')))).equals(content)).toBe(true);
    expect(ranges.length).toBeGreaterThan(NO_PAUSES.length + 1);
    expect(ranges[1]).toEqual({ offsetBytes: 65_536 - 4_096, lengthBytes: 500_000 - 65_536 + 4_096 });
  });

  it('goes on right where it was, where a version says that it is the same file', async () => {
    const { resumed, ranges } = await breaking(broken, undefined, { version: '1' });
    expect((await collect(await resumed.read(at('/file')))).equals(content)).toBe(true);
    expect(ranges[1]).toEqual({ offsetBytes: 65_536, lengthBytes: 500_000 - 65_536 });
  });

  it('ends where less comes again than had come', async () => {
    const store = (await memoryDriver.open('')) as Required<StorageDriver>;
    await put(store, '/file', content);
    let reads = 0;
    const shorter = Object.assign(Object.create(store) as StorageDriver, {
      async read(...[file, , options]: Parameters<StorageDriver['read']>) {
        const { entry } = await store.read(file, undefined, options);
        reads += 1;
        const isFirst = reads === 1;
        const { sizeBytes: _size, ...unsized } = entry;
        return {
          entry: unsized as Entry,
          async *[Symbol.asyncIterator]() {
            yield content.subarray(0, isFirst ? 65_536 : 1_000);
            if (isFirst) throw broken();
          },
        };
      },
    });
    await expect(collect(await withResumedReads(shorter, NO_PAUSES).read(at('/file')))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
  });

  it('ends where what had come is not what comes again', async () => {
    const { resumed, ranges } = await breaking(broken, undefined, {}, (piece, read) =>
      read > 1 ? piece : Buffer.from('<error>no such bucket</error>'),
    );
    await expect(collect(await resumed.read(at('/file')))).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect(ranges[1]).toEqual({ offsetBytes: 0, lengthBytes: 500_000 });
  });

  it('goes on within its range', async () => {
    const { resumed } = await breaking(broken);
    const part = await collect(await resumed.read(at('/file'), { offsetBytes: 1_000, lengthBytes: 200_000 }));
    expect(part.equals(content.subarray(1_000, 201_000))).toBe(true);
  });

  it.each([
    ['a shorter one, which has no such range', 'another', [undefined]],
    ['a longer one, which it has opened and lets go of', pattern(600_000), [undefined, true]],
  ])('ends when the file was replaced meanwhile by %s', async (_what, another, aborted) => {
    const { resumed, signals } = await breaking(broken, async (driver) => void (await put(driver, '/file', another)));
    await expect(collect(await resumed.read(at('/file')))).rejects.toThrow('the connection broke');
    expect(signals.map((signal) => signal?.aborted)).toEqual(aborted);
  });

  it('ends by any other failure', async () => {
    const { resumed, ranges } = await breaking(() => new AppError('CONTENT_CORRUPT', 'not what was stored'));
    await expect(collect(await resumed.read(at('/file')))).rejects.toThrow('not what was stored');
    expect(ranges).toHaveLength(1);
  });

  it('ends when it does not get on any more', async () => {
    const { resumed, ranges } = await breaking(broken, async (driver, reads) => {
      if (reads === 1) driver.read = async () => Promise.reject(broken());
    });
    await expect(collect(await resumed.read(at('/file')))).rejects.toThrow('the connection broke');
    expect(ranges).toHaveLength(1);
  });
});
