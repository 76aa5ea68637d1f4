import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startProcess, waitFor } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { currentOwner, isAbandoned, newBesideName, newTempName } from '../../src/drivers/local/temp-names.ts';
import { debrisIn, makeFolders, namesIn, openLocal, put } from './open-local.ts';

/** Opens the folder and writes to /old and to /d/new without an end, from a process of its own. */
async function startWriter(root: string) {
  const program = `
    const { localDriver } = await import(${JSON.stringify(new URL('../../src/drivers/local/index.ts', import.meta.url).href)});
    const driver = await localDriver.open(${JSON.stringify(JSON.stringify({ root_folder_path: root }))});
    const endless = async function* () {
      for (;;) {
        yield Buffer.alloc(300_000, 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    const writes = ['/old', '/d/new'].map((file) => driver.write(file, endless(), { overwrite: true }));
    console.log('writing');
    await Promise.all(writes);`;
  const writer = await startProcess({
    name: 'writer',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program],
    ready: { line: (line) => (line === 'writing' ? true : undefined) },
  });
  onTestFinished(async () => {
    await writer.kill();
  });
  await waitFor('two temporary files', async () => (await debrisIn(root)).length === 3);
  return writer;
}

it('what a killed process was writing is removed when the storage is opened again, and the old file is whole', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  await writeFile(path.join(root, 'old'), 'old content');
  const writer = await startWriter(root);
  expect(await readdir(path.join(root, '.wharf-tmp'))).toHaveLength(2);
  await writer.kill('SIGKILL');
  expect(await debrisIn(root)).toHaveLength(3);
  const driver = await openLocal(root);
  expect(await debrisIn(root)).toEqual([]);
  expect(await namesIn(driver, '/')).toEqual(['d', 'old']);
  expect(await namesIn(driver, '/d')).toEqual([]);
  expect(await readFile(path.join(root, 'old'), 'utf8')).toBe('old content');
});

it('what a living process is writing stays, whoever opens the storage or writes beside it', async () => {
  const { root } = await makeFolders();
  await mkdir(path.join(root, 'd'));
  const writer = await startWriter(root);
  const before = await readdir(path.join(root, '.wharf-tmp'));
  const driver = await openLocal(root);
  await put(driver, '/mine', 'x');
  expect((await readdir(path.join(root, '.wharf-tmp'))).sort()).toEqual(before.sort());
  expect(await namesIn(driver, '/')).toEqual(['d', 'mine']);
  await writer.kill();
});

it('a temporary file belongs to a process that has ended, to one that lives, or to another host', () => {
  const self = currentOwner();
  const [now, hour] = [Date.now(), 60 * 60 * 1000];
  const mine = newTempName(self);
  expect(isAbandoned(mine, 0, self, now)).toBe(false);
  expect(isAbandoned(newBesideName(self), 0, self, now)).toBe(false);
  expect(isAbandoned(newTempName({ ...self, start: '0123456789ab' }), now, self, now)).toBe(true);
  expect(isAbandoned(newTempName({ ...self, pid: 2 ** 22 + 1 }), now, self, now)).toBe(true);
  const elsewhere = newTempName({ ...self, host: '0123456789ab', pid: 2 ** 22 + 1 });
  expect(isAbandoned(elsewhere, now - 23 * hour, self, now)).toBe(false);
  expect(isAbandoned(elsewhere, now - 25 * hour, self, now)).toBe(true);
  for (const foreign of ['file', '.wharf-tmp-x', `${mine}x`, 'a-1-b-c']) expect(isAbandoned(foreign, 0, self, now)).toBe(false);
});
