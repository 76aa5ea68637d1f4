import { mkdir, readdir, readFile, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import { at, codeOf, type LocalStorage, makeFolders, openLocal, put, settledNames } from './open-local.ts';

const SECRET = 'the secret outside '.repeat(100);
const ROUNDS = 400;

/** Exchanges `d` in `root` for a link to `outside` and back, as fast as it can. */
const SWAPPER = `
const fs = require('node:fs');
const { root, outside, stop } = require('node:worker_threads').workerData;
const flag = new Int32Array(stop);
const link = root + '/the-link', real = root + '/the-real', name = root + '/d';
// A write makes the folder anew in the moment it is missing: that one has to go.
const insist = (act) => {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
      try {
        fs.rmSync(name, { recursive: true, force: true });
      } catch {}
    }
  }
};
while (Atomics.load(flag, 0) === 0) {
  fs.renameSync(name, real);
  insist(() => fs.symlinkSync(outside, name));
  fs.renameSync(name, link);
  insist(() => fs.renameSync(real, name));
  fs.unlinkSync(link);
  Atomics.add(flag, 1, 1);
}
`;

async function whileSwapping(root: string, outside: string, act: () => Promise<void>): Promise<number> {
  const stop = new SharedArrayBuffer(8);
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { root, outside, stop } });
  const ended = new Promise<void>((resolve, reject) => swapper.once('exit', () => resolve()).once('error', reject));
  await new Promise((resolve) => swapper.once('online', resolve));
  try {
    await act();
  } finally {
    Atomics.store(new Int32Array(stop), 0, 1);
    await ended;
  }
  return Atomics.load(new Int32Array(stop), 1);
}

async function prepare(): Promise<{ root: string; outside: string; driver: LocalStorage }> {
  const { root, outside } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const names = Array.from({ length: 12 }, (_, index) => `file-${index}`);
  for (const name of names) {
    await writeFile(path.join(root, 'd', name), 'inside');
    await writeFile(path.join(outside, name), SECRET);
  }
  return { root, outside, driver: await openLocal(root) };
}

it('C5: while a folder is exchanged for a link, nothing outside is seen', async () => {
  const { root, outside, driver } = await prepare();
  let seen = 0;
  const swaps = await whileSwapping(root, outside, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const names = (await driver.listNames(at('/d'), undefined).catch(() => undefined))?.names ?? [];
      const outcomes = await Promise.allSettled([
        Array.fromAsync(driver.list(at('/d'))).then((entries) => entries.map((entry) => entry.sizeBytes)),
        driver.statMany(at('/d'), names).then((entries) => entries.map((entry) => entry.sizeBytes)),
        driver.stat(at('/d/file-0')).then((entry) => [entry.sizeBytes]),
        driver.read(at('/d/file-0')).then(async (content) => [Buffer.concat(await Array.fromAsync(content)).byteLength]),
      ]);
      for (const outcome of outcomes) {
        if (outcome.status !== 'fulfilled') continue;
        seen += outcome.value.length;
        for (const sizeBytes of outcome.value) expect(sizeBytes).toBe('inside'.length);
      }
    }
  });
  expect(swaps).toBeGreaterThan(0);
  expect(seen).toBeGreaterThan(0);
});

it('C5: an exchange in the middle of a look at many entries shows nothing outside', async () => {
  const { root, outside } = await makeFolders();
  const names = Array.from({ length: 1000 }, (_, index) => `file-${index}`) as EntryName[];
  await mkdir(path.join(root, 'd'));
  for (const name of names) {
    await writeFile(path.join(root, 'd', name), 'inside');
    await writeFile(path.join(outside, name), SECRET);
  }
  const driver = await openLocal(root);
  let looks = 0;
  for (let round = 0; round < 15 && looks < 3; round++) {
    // Only then are entries looked at by path.
    await waitFor('the folder to rest', async () => Date.now() - (await stat(root)).ctimeMs > 1100);
    // A look that begins in the moment without a folder finds none.
    const looking = driver.statMany(at('/d'), names).catch((error: unknown) => (AppError.is(error, 'ENTRY_NOT_FOUND') ? undefined : error));
    await new Promise((resolve) => setTimeout(resolve, round));
    await rename(path.join(root, 'd'), path.join(root, 'real'));
    await symlink(outside, path.join(root, 'd'));
    await unlink(path.join(root, 'd'));
    await rename(path.join(root, 'real'), path.join(root, 'd'));
    const entries = await looking;
    if (entries === undefined) continue;
    if (!Array.isArray(entries)) throw entries;
    looks += 1;
    expect(new Set(entries.map((entry) => entry.sizeBytes))).toEqual(new Set(['inside'.length]));
  }
  expect(looks).toBeGreaterThan(0);
});

it('C5: while a folder is exchanged for a link, nothing outside is changed', async () => {
  const { root, outside, driver } = await prepare();
  const before = (await readdir(outside)).sort();
  let done = 0;
  const swaps = await whileSwapping(root, outside, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const outcomes = await Promise.all([
        codeOf(put(driver, '/d/file-1', 'replaced')),
        codeOf(put(driver, `/d/new-${round}`, 'new', false)),
        codeOf(driver.makeDirectory(at(`/d/sub-${round}`))),
        codeOf(driver.remove(at('/d/file-2'), { recursive: true })),
        codeOf(driver.rename(at('/d/file-3'), at('/d/file-4'), { overwrite: true })),
        codeOf(driver.copy(at('/d/file-5'), at('/d/copied'), { overwrite: true })),
      ]);
      done += outcomes.filter((outcome) => outcome === 'done').length;
    }
  });
  expect(swaps).toBeGreaterThan(0);
  expect(done).toBeGreaterThan(0);
  expect((await readdir(outside)).sort()).toEqual(before);
  for (const name of before) expect(await readFile(path.join(outside, name), 'utf8')).toBe(SECRET);
});

it('C5: while folders in a tree are exchanged for links, its removal stays in the tree', async () => {
  const { root, outside } = await makeFolders();
  await writeFile(path.join(outside, 'kept'), SECRET);
  const driver = await openLocal(root);
  for (let round = 0; round < 10; round++) {
    const tree = path.join(root, 'tree');
    for (let index = 0; index < 20; index++) {
      await mkdir(path.join(tree, `d${index}`), { recursive: true });
      await writeFile(path.join(tree, `d${index}`, 'kept'), 'x');
    }
    const removing = codeOf(driver.remove(at('/tree'), { recursive: true }));
    for (let index = 19; index >= 0; index--) {
      const place = path.join(tree, `d${index}`);
      await rename(place, `${place}-moved`)
        .then(() => symlink(outside, place))
        .catch(() => undefined);
    }
    await removing;
    await codeOf(driver.remove(at('/tree'), { recursive: true }));
  }
  expect(await readFile(path.join(outside, 'kept'), 'utf8')).toBe(SECRET);
});

it('C5: a link that takes the place of the folder for temporary files is not used', async () => {
  const { root, outside, driver } = await prepare();
  await symlink(outside, path.join(root, '.wharf-tmp'));
  const before = (await readdir(outside)).sort();
  expect(await put(driver, '/file', 'x')).toMatchObject({ sizeBytes: 1 });
  expect((await readdir(outside)).sort()).toEqual(before);
  await unlink(path.join(root, '.wharf-tmp'));
  expect(await settledNames(root)).toEqual(['d', 'file']);
});
