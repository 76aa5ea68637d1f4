import { mkdir, readdir, symlink } from 'node:fs/promises';
import { makeTempDir } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { localDriver } from '../../drivers/local/index.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { coarseView } from '../testing/coarse-view.ts';
import { bytesOf, mpath, textOf } from '../testing/memory-tree.ts';
import { type NotedCall, noteCalls } from '../testing/noted-calls.ts';
import { refusalOf } from '../testing/refusal.ts';
import type { Place } from './operations/operation.ts';
import { moveTree } from './transfer.ts';

const call = { signal: new AbortController().signal };
const put = (driver: MemoryDriver, path: string, text = path, modifiedAt = new Date(1_000)) =>
  driver.write(mpath(path), bytesOf(text), { overwrite: true, modifiedAt });
const place = (driver: Place['driver'], path: string): Place => ({ driver, path: mpath(path) });
const names = async (driver: MemoryDriver, path: string) => (await Array.fromAsync(driver.list(mpath(path)))).map(({ name }) => name);

describe('a move', () => {
  it('keeps a source that changed after it was copied, in both places', async () => {
    const [from, to] = [new MemoryDriver(), new MemoryDriver()];
    const source = await put(from, '/f', 'before');
    const changing = new Proxy(to, {
      get(target, key) {
        if (key !== 'write') return Reflect.get(target, key, target).bind?.(target) ?? Reflect.get(target, key, target);
        return async (...given: Parameters<MemoryDriver['write']>) => {
          const written = await target.write(...given);
          // As long as before, so that only its time tells.
          await put(from, '/f', 'after!', new Date(2_000));
          return written;
        };
      },
    });
    expect((await refusalOf(moveTree(place(from, '/f'), source, place(changing, '/f'), 'refuse', call)))[0]).toBe('CONTENT_CORRUPT');
    expect(await textOf(await from.read(mpath('/f')))).toBe('after!');
    expect(await textOf(await to.read(mpath('/f')))).toBe('before');
  });

  it.each(['read and written', 'copied'] as const)('is its caller’s with every call, where files are %s', async (how) => {
    const noted: NotedCall[] = [];
    const store = new MemoryDriver();
    const driver = noteCalls(how === 'copied' ? store : decorated({ ...operationsOf(store), copy: undefined }), noted);
    for (const path of ['/d/e/f', '/d/g', '/to/g']) await put(store, path);
    const source = await store.stat(mpath('/d'));
    await moveTree(place(driver, '/d'), source, place(driver, '/to'), 'replace', { ...call, caller: 'somebody' });
    expect((await names(store, '/to')).toSorted()).toEqual(['e', 'g']);
    const others = noted.filter(({ caller }) => caller !== 'somebody').map(({ operation }) => operation);
    // What is taken away again of a look at folders goes on without whoever wanted it.
    expect(others.filter((operation) => operation !== 'remove')).toEqual([]);
    expect(noted.map(({ operation }) => operation)).toContain(how === 'copied' ? 'copy' : 'write');
  });

  it('leaves a file that somebody stores in the place of a folder', async () => {
    const [from, to] = [new MemoryDriver(), new MemoryDriver()];
    await put(from, '/d/e/f');
    const exchanged = decorated({
      ...operationsOf(from),
      remove: async (path, options) => {
        if (path === '/d/e') {
          await from.remove(path, { recursive: true });
          await put(from, path, 'stored in its place');
        }
        await from.remove(path, options);
      },
    });
    await moveTree(place(exchanged, '/d'), await from.stat(mpath('/d')), place(to, '/d'), 'refuse', call);
    expect(await textOf(await from.read(mpath('/d/e')))).toBe('stored in its place');
    expect(await names(to, '/d/e')).toEqual(['f']);
  });

  it('from a storage that removes nothing copies nothing', async () => {
    const [from, to] = [new MemoryDriver(), new MemoryDriver()];
    const source = await put(from, '/f');
    const { traits } = from;
    const readOnly: Place['driver'] = {
      traits,
      stat: (path) => from.stat(path),
      list: (path) => from.list(path),
      read: (path) => from.read(path),
      close: async () => {},
    };
    expect((await refusalOf(moveTree(place(readOnly, '/f'), source, place(to, '/f'), 'refuse', call)))[0]).toBe('UNSUPPORTED_OPERATION');
    expect(await names(to, '/')).toEqual([]);
  });

  it('leaves folders in which something stayed', async () => {
    const [from, to] = [new MemoryDriver(), new MemoryDriver()];
    await put(from, '/d/a/both', 'new');
    await put(from, '/d/b/only', 'new');
    await put(to, '/d/a/both', 'old');
    await moveTree(place(from, '/d'), await from.stat(mpath('/d')), place(to, '/d'), 'keep', call);
    expect(await names(from, '/d')).toEqual(['a']);
    expect(await textOf(await from.read(mpath('/d/a/both')))).toBe('new');
    expect(await textOf(await to.read(mpath('/d/b/only')))).toBe('new');
  });

  it('takes a link to a folder away, and nothing of what it leads to', async () => {
    const temp = await makeTempDir('move-link');
    onTestFinished(() => temp.remove());
    await mkdir(`${temp.path}/real/empty`, { recursive: true });
    await symlink('real', `${temp.path}/link`);
    const from = await localDriver.open(JSON.stringify({ root_folder_path: temp.path }));
    onTestFinished(() => from.close());
    const to = new MemoryDriver();
    await moveTree(place(from, '/link'), await from.stat(mpath('/link')), place(to, '/moved'), 'refuse', call);
    expect(await names(to, '/moved')).toEqual([]);
    expect((await readdir(temp.path, { recursive: true })).toSorted()).toEqual(['real', 'real/empty']);
  });

  it('within one storage that copies by itself reads and writes nothing, and compares what came of it', async () => {
    const driver = new MemoryDriver();
    const source = await put(driver, '/d/f', 'text');
    const without = (copy: MemoryDriver['copy']): Place['driver'] => {
      const { traits } = driver;
      return {
        traits,
        stat: (path) => driver.stat(path),
        list: (path) => driver.list(path),
        read: () => Promise.reject(new Error('read')),
        write: () => Promise.reject(new Error('written')),
        makeDirectory: (path) => driver.makeDirectory(path),
        remove: (path, options) => driver.remove(path, options),
        copy,
        close: async () => {},
      };
    };
    const truncating = without(async (...given) => ({ ...(await driver.copy(...given)), sizeBytes: 3 }));
    const move = (within: Place['driver'], to: string) => moveTree(place(within, '/d/f'), source, place(within, to), 'refuse', call);
    expect((await refusalOf(move(truncating, '/short')))[0]).toBe('CONTENT_CORRUPT');
    expect(await names(driver, '/d')).toEqual(['f']);
    await move(
      without((...given) => driver.copy(...given)),
      '/e/f',
    );
    expect([await names(driver, '/d'), await names(driver, '/e')]).toEqual([[], ['f']]);
  });

  it.each([
    [1_000, 1],
    [1, 1_000],
    [undefined, 1],
  ] as const)('over the very same file, as two storages show it with times of %s and %s ms, leaves it', async (fromMs, toMs) => {
    const disk = new MemoryDriver();
    await put(disk, '/d/f', 'text', new Date(1_000_123));
    const [from, to] = [coarseView(disk, fromMs), coarseView(disk, toMs)];
    const moving = moveTree(place(from, '/d/f'), await from.stat(mpath('/d/f')), place(to, '/d/f'), 'replace', call);
    expect((await refusalOf(moving))[0]).toBe('FAILED_PRECONDITION');
    expect(await names(disk, '/d')).toEqual(['f']);
    expect(await textOf(await disk.read(mpath('/d/f')))).toBe('text');
  });
});
