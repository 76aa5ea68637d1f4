import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, readlink, rename, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { currentOwner } from '@wharf/owned-names';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { guardDataFolder } from '../../src/domain/mounts/data-folder-guard.ts';
import { newBesideName } from '../../src/driver-contract/temp-names.ts';
import { localDriver } from '../../src/drivers/local/index.ts';
import { at, codeOf, type LocalStorage, makeFolders, namesIn, openLocal, put, settledNames, textOf } from './open-local.ts';
import { mountSmallDisk, mounts } from './small-disk.ts';

async function* piecesOf(content: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield content;
}

async function modeOf(place: string): Promise<string> {
  return ((await stat(place)).mode & 0o777).toString(8);
}

describe('writing', () => {
  it('keeps the mode of the file it replaces, and gives a new one what the umask leaves', async () => {
    const { root } = await makeFolders();
    await writeFile(path.join(root, 'script'), 'old');
    await chmod(path.join(root, 'script'), 0o750);
    const driver = await openLocal(root);
    await put(driver, '/script', 'new');
    await put(driver, '/fresh', 'new');
    expect(await modeOf(path.join(root, 'script'))).toBe('750');
    expect(await modeOf(path.join(root, 'fresh'))).toBe((0o666 & ~process.umask()).toString(8));
  });

  it('leaves no folder for temporary files behind', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    await Promise.all(Array.from({ length: 30 }, (_, index) => put(driver, `/d/file-${index}`, 'x')));
    expect(await settledNames(root)).toEqual(['d']);
    expect(await readdir(path.join(root, 'd'))).toHaveLength(30);
  });

  it.each([10, 2_000_000])('of %d bytes that nobody wants any more at their end leaves no file, and none that is open', async (bytes) => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const refusal = new AppError('PERMISSION_DENIED', 'not any more');
    const refused = driver.write(at('/file'), piecesOf(Buffer.alloc(bytes)), {
      ...{ overwrite: true, sizeBytes: bytes },
      afterWaiting: () => Promise.reject(refusal),
    });
    await expect(refused).rejects.toBe(refusal);
    expect(await settledNames(root)).toEqual([]);
    const open = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    expect(open.filter((place) => place.startsWith(root) && place !== root)).toEqual([]);
  });

  it('of several files in one call asks again where the answer holds no more, and then gives no name against it', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    const over = async () => performance.now() - 1;
    const file = (place: string, mayPublishUntil = over) => ({
      ...{ file: at(place), content: Buffer.from(place), overwrite: false, mayPublishUntil },
    });
    let asked = 0;
    const refusal = new AppError('CANCELLED', 'another has it');
    const refusing = async () => {
      asked += 1;
      if (asked > 1) throw refusal;
      return over();
    };
    const [refused, stored] = await driver.writeMany([file('/d/c', refusing), file('/a')]);
    expect([refused, stored]).toEqual([refusal, expect.objectContaining({ name: 'a' })]);
    expect(await settledNames(root)).toEqual(['a', 'd']);
    expect(await namesIn(driver, '/d')).toEqual([]);
    expect((await driver.writeMany([file('/d/b')])).map((entry) => 'name' in entry && entry.name)).toEqual(['b']);
    expect([await textOf(driver, '/a'), await textOf(driver, '/d/b')]).toEqual(['/a', '/d/b']);
  });

  it('hides its temporary files, and no call reaches them', async () => {
    const { root } = await makeFolders();
    const beside = newBesideName(currentOwner());
    await mkdir(path.join(root, '.wharf-tmp'));
    await writeFile(path.join(root, '.wharf-tmp/file'), 'x');
    await writeFile(path.join(root, beside), 'x');
    await writeFile(path.join(root, '.wharf-tmp-notes'), 'of a user');
    const driver = await openLocal(root);
    expect(await namesIn(driver, '/')).toEqual(['.wharf-tmp-notes']);
    expect((await driver.listNames(at('/'), undefined))?.names).toEqual(['.wharf-tmp-notes']);
    for (const place of ['/.wharf-tmp', '/.wharf-tmp/file', '/.WHARF-TMP/file', `/${beside}`, `/${beside}/x`]) {
      expect(await codeOf(driver.stat(at(place)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(namesIn(driver, place))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.read(at(place)))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.remove(at(place), { recursive: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(driver.rename(at(place), at('/taken'), { overwrite: true }))).toBe('ENTRY_NOT_FOUND');
      expect(await codeOf(put(driver, place, 'x'))).toBe('PERMISSION_DENIED');
      expect(await codeOf(driver.makeDirectory(at(place)))).toBe('PERMISSION_DENIED');
      expect(await codeOf(driver.rename(at('/.wharf-tmp-notes'), at(place), { overwrite: true }))).toBe('PERMISSION_DENIED');
      expect(await codeOf(driver.copy(at('/.wharf-tmp-notes'), at(place), { overwrite: true }))).toBe('PERMISSION_DENIED');
    }
    expect(await readFile(path.join(root, '.wharf-tmp/file'), 'utf8')).toBe('x');
  });

  it('keeps the date it is given, also that of a copy', async () => {
    const { root } = await makeFolders();
    await writeFile(path.join(root, 'old'), 'x');
    await utimes(path.join(root, 'old'), new Date(), new Date('2001-02-03T04:05:06.789Z'));
    const driver = await openLocal(root);
    const copied = await driver.copy(at('/old'), at('/copied'), { overwrite: false });
    expect(copied.modifiedAt).toEqual(new Date('2001-02-03T04:05:06.789Z'));
    expect((await stat(path.join(root, 'copied'))).mtime).toEqual(copied.modifiedAt);
  });

  it('never shows a path of the disk in an error', async () => {
    const { root } = await makeFolders();
    const driver = await openLocal(root);
    for (const call of [driver.stat(at('/none')), driver.read(at('/none')), driver.remove(at('/none'), { recursive: true })]) {
      await expect(call).rejects.toThrow(/^object not found$/);
    }
  });
});

describe.runIf(mounts)('a disk of its own', () => {
  it('that is full refuses with QUOTA_EXCEEDED, and the old file and nothing else is left', async () => {
    const { root } = await makeFolders();
    await mountSmallDisk(root, 2);
    const driver = await openLocal(root);
    await put(driver, '/old', 'old content');
    for (const file of ['/old', '/new']) expect(await codeOf(put(driver, file, Buffer.alloc(4_000_000, 1)))).toBe('QUOTA_EXCEEDED');
    await put(driver, '/big', Buffer.alloc(1_200_000, 1));
    expect(await codeOf(driver.copy(at('/big'), at('/copied'), { overwrite: false }))).toBe('QUOTA_EXCEEDED');
    expect(await namesIn(driver, '/')).toEqual(['big', 'old']);
    expect(await textOf(driver, '/old')).toBe('old content');
    await settledNames(root);
    const { totalBytes, freeBytes } = await driver.space();
    expect(totalBytes).toBe(2 * 1024 * 1024);
    expect(freeBytes).toBeLessThan(1_000_000);
  });

  it('that has our own data on it keeps a twentieth free for that, whichever way it is written to, and others are filled up', async () => {
    const { base, root } = await makeFolders();
    await mountSmallDisk(base, 40);
    await mkdir(path.join(base, 'data'));
    await mkdir(root);
    const guarded = guardDataFolder(localDriver, path.join(base, 'data'), []);
    const driver = (await guarded.open(JSON.stringify({ root_folder_path: root }))) as LocalStorage;
    onTestFinished(() => driver.close());
    const freeMib = async () => (await driver.space()).freeBytes / 1024 ** 2;
    const big = Buffer.alloc(1_500_000, 1);
    let files = 0;
    while ((await codeOf(put(driver, `/file-${files}`, big))) === 'done') files += 1;
    expect(files).toBeGreaterThan(20);
    expect(await freeMib()).toBeGreaterThan(2);
    const draft = await driver.openDraft(at('/draft'), 'f'.repeat(32), { create: true });
    const whole = { file: at('/whole'), content: big, overwrite: false, mayPublishUntil: async () => Number.POSITIVE_INFINITY };
    const outcomes = await Promise.all(
      [
        driver.write(at('/sized'), piecesOf(big), { overwrite: false, sizeBytes: big.byteLength }),
        driver.writeMany([whole]).then(([outcome]) => Promise.reject(outcome)),
        driver.copy(at('/file-0'), at('/copy'), { overwrite: false }),
        draft.write(0, piecesOf(big)),
      ].map(codeOf),
    );
    expect(new Set(outcomes)).toEqual(new Set(['QUOTA_EXCEEDED']));
    await draft.discard();
    expect(await namesIn(driver, '/')).toHaveLength(files);
    // A folder counts with all that is in it, shown or not.
    await driver.makeDirectory(at('/folder'));
    await rename(path.join(root, 'file-2'), path.join(root, 'folder', '.file-2'));
    expect(await codeOf(driver.copy(at('/folder'), at('/copied'), { overwrite: false }))).toBe('QUOTA_EXCEEDED');
    await rename(path.join(root, 'folder', '.file-2'), path.join(root, 'file-2'));
    await driver.remove(at('/folder'), { recursive: true });
    expect(await freeMib()).toBeGreaterThan(2);
    await driver.remove(at('/file-0'), { recursive: false });
    await driver.remove(at('/file-1'), { recursive: false });
    // What was announced counts as it comes, however many announce as much as there is.
    const slow = Array.from({ length: 6 }, (_, index) => {
      const content = (async function* () {
        for (let piece = 0; piece < 15; piece += 1) yield big.subarray(0, 100_000);
      })();
      return codeOf(driver.write(at(`/slow-${index}`), content, { overwrite: false, sizeBytes: big.byteLength }));
    });
    expect(await Promise.all(slow)).toContain('QUOTA_EXCEEDED');
    expect(await freeMib()).toBeGreaterThan(1.5);
    for (let index = 0; index < 6; index += 1) await driver.remove(at(`/slow-${index}`), { recursive: false }).catch(() => undefined);
    await vi.waitFor(async () => expect(await codeOf(put(driver, '/again', big))).toBe('done'), { timeout: 10_000 });
    const elsewhere = await openLocal(root);
    while ((await codeOf(put(elsewhere, `/file-${files}`, big))) === 'done') files += 1;
    expect(await freeMib()).toBeLessThan(2);
  });

  it('that has our own data on it keeps files free for that too: many are made long before their bytes fill it', async () => {
    const { base, root } = await makeFolders();
    await mountSmallDisk(base, 40, 600);
    await mkdir(path.join(base, 'data'));
    await mkdir(root);
    const guarded = guardDataFolder(localDriver, path.join(base, 'data'), []);
    const driver = (await guarded.open(JSON.stringify({ root_folder_path: root }))) as LocalStorage;
    onTestFinished(() => driver.close());
    const freeEntries = async () => (await statfs(base)).ffree;
    await driver.makeDirectory(at('/folder'));
    for (let index = 0; index < 100; index += 1) await put(driver, `/folder/${index}`, '');
    const folders = await Promise.all(Array.from({ length: 600 }, (_, index) => codeOf(driver.makeDirectory(at(`/made-${index}`)))));
    expect(new Set(folders)).toEqual(new Set(['done', 'QUOTA_EXCEEDED']));
    expect(await freeEntries()).toBeGreaterThanOrEqual(30);
    const empty = { content: Buffer.alloc(0), overwrite: false, mayPublishUntil: async () => Number.POSITIVE_INFINITY };
    const others = [
      put(driver, '/empty', ''),
      driver.writeMany([{ ...empty, file: at('/many') }]).then(([outcome]) => Promise.reject(outcome)),
      driver.openDraft(at('/draft'), 'f'.repeat(32), { create: true }),
    ];
    expect(new Set(await Promise.all(others.map(codeOf)))).toEqual(new Set(['QUOTA_EXCEEDED']));
    for (let index = 0; index < 50; index += 1) await driver.remove(at(`/made-${index}`), { recursive: false });
    // A folder counts with all that is in it.
    expect(await codeOf(driver.copy(at('/folder'), at('/copied'), { overwrite: false }))).toBe('QUOTA_EXCEEDED');
    await vi.waitFor(async () => expect(await codeOf(put(driver, '/empty', ''))).toBe('done'), { timeout: 10_000 });
    expect(await freeEntries()).toBeGreaterThanOrEqual(30);
  });

  it('below the root takes its temporary files beside the target', async () => {
    const { root } = await makeFolders();
    const disk = path.join(root, 'disk');
    await mountSmallDisk(disk, 8);
    await writeFile(path.join(root, 'here'), 'x');
    const driver = await openLocal(root);
    let seen: string[] = [];
    const content = (async function* () {
      yield Buffer.alloc(3_000_000, 1);
      seen = await readdir(disk);
      yield Buffer.from('end');
    })();
    await driver.write(at('/disk/file'), content, { overwrite: false });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatch(/^\.wharf-tmp-/);
    expect(await readdir(disk)).toEqual(['file']);
    expect(await codeOf(driver.rename(at('/here'), at('/disk/there'), { overwrite: false }))).toBe('UNSUPPORTED_OPERATION');
    expect(await codeOf(driver.rename(at('/here'), at('/disk/there'), { overwrite: true }))).toBe('UNSUPPORTED_OPERATION');
    await driver.copy(at('/here'), at('/disk/there'), { overwrite: false });
    await driver.makeDirectory(at('/folder/sub'));
    await driver.copy(at('/folder'), at('/disk/folder'), { overwrite: false });
    expect(await namesIn(driver, '/disk')).toEqual(['file', 'folder', 'there']);
    await settledNames(root);
  });

  it('below the root loses what dead processes left beside targets when it is listed', async () => {
    const { root } = await makeFolders();
    const disk = path.join(root, 'disk');
    await mountSmallDisk(disk, 2);
    await writeFile(path.join(disk, newBesideName({ ...currentOwner(), start: '0123456789ab' })), 'x');
    const living = newBesideName(currentOwner());
    await writeFile(path.join(disk, living), 'x');
    const driver = await openLocal(root);
    expect(await namesIn(driver, '/disk')).toEqual([]);
    await driver.stat(at('/disk'));
    expect(await readdir(disk)).toEqual([living]);
  });
});

it('a copy of a folder whose caller leaves is answered where it is there by then: what should not be in it is looked for', async () => {
  const { root } = await makeFolders();
  const driver = await openLocal(root, { directory_size: true });
  await put(driver, '/from/file', 'x');
  const leaving = new AbortController();
  const copied = driver.copy(at('/from'), at('/to'), { overwrite: false, signal: leaving.signal });
  // No answer is heard while this thread does nothing else.
  for (const place = path.join(root, 'to'); !existsSync(place); await setImmediate())
    for (const until = performance.now() + 100; !existsSync(place) && performance.now() < until; );
  leaving.abort();
  expect(await copied).toMatchObject({ name: 'to', isDirectory: true });
});
