import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { appendFile, readdir, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { collect } from '../../src/driver-contract/conformance/driver-calls.ts';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import { type Disk, DiskPool } from '../../src/drivers/local/disk-pool.ts';
import { LocalDriver } from '../../src/drivers/local/driver.ts';
import { at, codeOf, makeFolders, openLocal, put, textOf } from './open-local.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const usedBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

const MANY = 40;
const SMALL = 'a few bytes';

/** How often this process has a file open. */
async function countHandles(place: string): Promise<number> {
  const handles = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(handles)).filter((target) => target === place).length;
}

describe('callers who ask for the same at once', () => {
  it('for a long folder do not hold all of its names each', { timeout: 120_000 }, async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const names = Array.from({ length: 20_000 }, (_, index) => `a name of a file ${index}`);
    for (let from = 0; from < names.length; from += 1_000)
      await Promise.all(names.slice(from, from + 1_000).map((name) => writeFile(path.join(root, name), '')));
    expect(new Set((await Array.fromAsync(driver.list(at('/')))).map(({ name }) => name))).toEqual(new Set(names));
    const before = usedBytes();
    const lists = Array.from({ length: MANY }, () => driver.list(at('/'))[Symbol.asyncIterator]());
    await Promise.all(lists.map((list) => list.next()));
    const grownBytes = usedBytes() - before;
    await Promise.all(lists.map((list) => list.return?.()));
    // The first thousand entries of each: 5 MB. With all of their names it would be 36.
    expect(grownBytes).toBeLessThan(15_000_000);
  });

  it('for many long folders take none of the names into memory before they have room for them', { timeout: 120_000 }, async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const name = (index: number) => `${'a long name of a file '.repeat(10)}${index}`;
    for (let index = 0; index < 2_000; index += 1) fs.writeFileSync(path.join(root, name(index)), '');
    expect(await driver.listNames(at('/'), undefined, { onlyShort: true })).toMatchObject({ longLetters: expect.any(Number), names: [] });
    const told: number[] = [];
    const refuse = (bytes: number) => {
      told.push(bytes);
      throw new AppError('OVERLOADED', 'no room');
    };
    expect(await codeOf(Array.fromAsync(driver.list(at('/'), { beforeNames: refuse })))).toBe('OVERLOADED');
    expect(told).toEqual([expect.toSatisfy((bytes: number) => bytes > 800_000 && bytes < 1_000_000)]);
    expect(await Array.fromAsync(driver.list(at('/'), { beforeNames: () => undefined }))).toHaveLength(2_000);
    // What counts them leaves none in the heap of its thread, which is collected for names alone that are answered.
    const readAll = vi.spyOn(fs, 'readdirSync');
    const { list } = createDiskOperations({
      ...{ rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined },
      ...{ names: { caseSensitive: true, folds: false } },
    });
    const counted = list(new AbortController().signal, at('/'), 1_000, false, 'by its names');
    const readings = readAll.mock.calls.length;
    readAll.mockRestore();
    expect([counted, readings]).toEqual([expect.objectContaining({ names: '', tooLong: (told[0] ?? 0) / 2 }), 0]);
    fs.rmSync(path.join(root, name(0)));
    for (let index = 1; index < 1_900; index += 1) fs.rmSync(path.join(root, name(index)));
    expect(await Array.fromAsync(driver.list(at('/'), { beforeNames: refuse }))).toHaveLength(100);
    expect((await driver.listNames(at('/'), undefined, { onlyShort: true }))?.names).toHaveLength(100);
  });

  it('for one entry of each of many long folders keep no other names', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const folders = Array.from({ length: 10 }, (_, index) => at(`/${index}`));
    for (const folder of folders) {
      fs.mkdirSync(path.join(root, folder));
      for (let index = 0; index < 1_500; index += 1)
        fs.writeFileSync(path.join(root, folder, `${'a long name of a file '.repeat(10)}${index}`), '');
    }
    const before = usedBytes();
    const kept: unknown[] = [];
    for (const folder of folders) {
      const [name] = (await driver.listNames(folder, undefined))?.names ?? [];
      if (name !== undefined) kept.push(await driver.statMany(folder, [name]));
    }
    expect(kept).toHaveLength(10);
    // With all of their names it would be 3.3 MB.
    expect(usedBytes() - before).toBeLessThan(1_500_000);
  });

  it('to go through long folders have some of them read at a time, of which one caller has one', async () => {
    const { root } = await makeFolders();
    const settings = { rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
    const name = (index: number) => `${'a long name of a file '.repeat(11)}${index}`;
    for (const folder of ['0', '1', '2', '3']) {
      fs.mkdirSync(path.join(root, folder));
      for (let index = 0; index < 1_100; index += 1) fs.writeFileSync(path.join(root, folder, name(index)), '');
    }
    const disk = new DiskPool(settings);
    const gate = Promise.withResolvers<void>();
    const begun: unknown[] = [];
    const call: Disk['call'] = (operation, values, ...rest) => {
      if (operation !== 'list' || values[3] === 'by its size') return disk.call(operation, values, ...rest);
      begun.push(values[0]);
      return gate.promise.then(() => disk.call(operation, values, ...rest));
    };
    const { slots } = disk;
    const driver = await LocalDriver.open(settings, {}, { slots, call, start: (signal) => disk.start(signal), close: () => disk.close() });
    onTestFinished(() => driver.close());
    const list = (folder: string, caller: string) => Array.fromAsync(driver.list(at(folder), { caller }));
    const listings = [list('/0', 'one'), list('/1', 'one'), list('/2', 'other'), list('/3', 'third')];
    await waitFor('two listings to begin', async () => begun.length >= 2);
    expect(begun).toEqual(['/0', '/2']);
    gate.resolve();
    for (const entries of await Promise.all(listings)) expect(entries).toHaveLength(1_100);
    expect(begun).toHaveLength(4);
  });

  it('to copy folders have some copied at a time, of which one caller has half', async () => {
    const { root } = await makeFolders();
    const settings = { rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
    for (let index = 0; index < 6; index += 1) fs.mkdirSync(path.join(root, `${index}`));
    const disk = new DiskPool(settings);
    const gate = Promise.withResolvers<void>();
    const begun: unknown[] = [];
    const call: Disk['call'] = (operation, values, ...rest) => {
      if (operation !== 'copy') return disk.call(operation, values, ...rest);
      begun.push(values[0]);
      return gate.promise.then(() => disk.call(operation, values, ...rest));
    };
    const { slots } = disk;
    const driver = await LocalDriver.open(settings, {}, { slots, call, start: (signal) => disk.start(signal), close: () => disk.close() });
    onTestFinished(() => driver.close());
    const copy = (index: number, caller: string) =>
      driver.copy(at(`/${index}`), at(`/copy ${index}`), { overwrite: false, isTree: true, caller });
    const copies = [copy(0, 'one'), copy(1, 'one'), copy(2, 'one'), copy(3, 'other'), copy(4, 'other'), copy(5, 'third')];
    await waitFor('four copies to begin', async () => begun.length >= 4);
    expect(begun).toEqual(['/0', '/1', '/3', '/4']);
    gate.resolve();
    await Promise.all(copies);
    expect(fs.readdirSync(root).filter((each) => each.startsWith('copy'))).toHaveLength(6);
  });

  it('each get the whole of a big file, and its handles are closed', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const content = randomBytes(3_000_000);
    await put(driver, '/big', content);
    const readers = Array.from({ length: MANY }, async () => collect(await driver.read(at('/big'))));
    for (const bytes of await Promise.all(readers)) expect(bytes.equals(content)).toBe(true);
    if (process.platform === 'linux') await waitFor('handles to be closed', async () => (await countHandles(path.join(root, 'big'))) === 0);
  });

  it('each get the whole of a small file', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    await put(driver, '/small', SMALL);
    const readers = Array.from({ length: MANY }, () => textOf(driver, '/small'));
    expect(new Set(await Promise.all(readers))).toEqual(new Set([SMALL]));
  });

  it('to copy a long folder do not hold all of its names each', { timeout: 120_000 }, async () => {
    const { root } = await makeFolders();
    fs.mkdirSync(path.join(root, 'long'));
    for (let index = 0; index < 20_000; index += 1) fs.writeFileSync(path.join(root, 'long', `a name of a file ${index}`), '');
    const disk = createDiskOperations({
      ...{ rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined },
      ...{ names: { caseSensitive: true, folds: false } },
    });
    const gone = new AbortController();
    const before = usedBytes();
    const copies = Array.from({ length: MANY }, (_, index) => disk.copy(gone.signal, at('/long'), at(`/copy ${index}`), false));
    const ends = Promise.allSettled(copies);
    await new Promise((resolve) => setImmediate(resolve));
    const grownBytes = usedBytes() - before;
    gone.abort();
    expect((await ends).map(({ status }) => status)).toEqual(copies.map(() => 'rejected'));
    // With all of their names it would be 160 MB.
    expect(grownBytes).toBeLessThan(20_000_000);
  });

  it('lose nothing when some of them go away', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    await put(driver, '/big', randomBytes(1_000_000));
    const gone = new AbortController();
    const leaving = Array.from({ length: MANY }, () => codeOf(driver.read(at('/big'), undefined, { signal: gone.signal })));
    const staying = Array.from({ length: MANY }, () => driver.stat(at('/big')));
    gone.abort();
    expect(new Set(await Promise.all(leaving))).toEqual(new Set(['CANCELLED']));
    expect((await Promise.all(staying)).every((entry) => entry.sizeBytes === 1_000_000)).toBe(true);
    if (process.platform === 'linux') await waitFor('handles to be closed', async () => (await countHandles(path.join(root, 'big'))) === 0);
  });

  it('see what was there when they asked, however many asked before', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const place = path.join(root, 'growing');
    await writeFile(place, '');
    const earlier: Promise<unknown>[] = [];
    for (let size = 1; size <= 200; size += 1) {
      await appendFile(place, 'x');
      const look = driver.stat(at('/growing'));
      earlier.push(look, driver.stat(at('/growing')), textOf(driver, '/growing'));
      if (size % 10 === 0) expect((await look).sizeBytes).toBe(size);
    }
    await Promise.all(earlier);
  });

  it('see what was there when they asked, where they look at a whole page again and again', async () => {
    const { root } = await makeFolders();
    const names = Array.from({ length: 100 }, (_, index) => `file ${index}` as EntryName);
    for (const name of names) await writeFile(path.join(root, name), '');
    const settings = { rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
    const disk = new DiskPool(settings);
    const { slots } = disk;
    let looks = 0;
    const call: Disk['call'] = (operation, ...rest) => {
      if (operation === 'statMany') looks += 1;
      return disk.call(operation, ...rest);
    };
    const driver = await LocalDriver.open(settings, {}, { slots, call, start: (signal) => disk.start(signal), close: () => disk.close() });
    onTestFinished(() => driver.close());
    const first = driver.statMany(at('/'), names);
    await new Promise((resolve) => setImmediate(resolve));
    const second = driver.statMany(at('/'), names);
    // It looks once the first has its answer, together with others who come meanwhile.
    expect(looks).toBe(1);
    expect(await second).toEqual(await first);
    expect(looks).toBe(2);

    let written = 0;
    const client = async () => {
      for (let asked = 0; asked < 50; asked += 1) {
        await appendFile(path.join(root, 'file 99'), 'x');
        written += 1;
        const least = written;
        const seen = await driver.statMany(at('/'), names);
        expect(seen.at(-1)?.sizeBytes).toBeGreaterThanOrEqual(least);
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
  });

  it('fail for the same reason, each by itself', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const codes = await Promise.all(
      Array.from({ length: MANY }, (_, index) => codeOf(driver.stat(at(index % 2 === 0 ? '/none' : '/no/ne')))),
    );
    expect(new Set(codes)).toEqual(new Set(['ENTRY_NOT_FOUND']));
  });
});
